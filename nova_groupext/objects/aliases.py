# SPDX-License-Identifier: Apache-2.0
"""Type aliases and the JSON values of rows."""

from typing import Any
from typing import TypeAlias
from typing import TypedDict

#: Path of a member, member set or subgroup; '' is the whole group.
Path: TypeAlias = str

#: JSON object whose keys depend on the input.
JsonObject: TypeAlias = dict[str, Any]

#: Amounts by resource class.
Amounts: TypeAlias = dict[str, int]

#: Domain of a host by topology level.
Domains: TypeAlias = dict[str, str]

#: Names of compute nodes by member path.
NodesByPath: TypeAlias = dict[Path, list[str]]


class ProviderAllocation(TypedDict):
    resources: Amounts


#: Placement's allocations by the uuid of the resource provider.
Allocations: TypeAlias = dict[str, ProviderAllocation]

#: Uuids of resource providers by request group.
Mappings: TypeAlias = dict[str, list[str]]


class Flavor(TypedDict):
    id: str
    name: str
    vcpus: int
    memory_mb: int


class Violation(TypedDict):
    """A strict policy that the servers' hosts violate.

    ``at`` is the path of the node with the policy.
    """

    at: Path
    policy: JsonObject


class Destination(TypedDict):
    """The new host of a member's server."""

    host: str
    domains: Domains
