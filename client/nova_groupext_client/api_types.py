# SPDX-License-Identifier: Apache-2.0
"""Types of the API's JSON: what it shows of a group, and a group's definition.

Keys that no client reads are left out.
"""

import typing

#: Any parsed JSON or YAML.
Json: typing.TypeAlias = (
    'bool | int | float | str | list[Json] | dict[str, Json] | None'
)
#: A parsed mapping of which the client reads at most single keys.
Object: typing.TypeAlias = 'dict[str, Json]'


class Fault(typing.TypedDict):
    message: str


class Relationship(typing.TypedDict, total=False):
    name: str
    between: list[Json]
    policies: list[Object]


class MemberDefinition(typing.TypedDict, total=False):
    """A member, or a member set, of a topology."""

    flavor: str
    image: str
    boot_from_volume: bool
    availability_zone: str
    count: int
    min_count: int
    max_count: int
    max_surge: int
    policies: list[Object]


class Topology(typing.TypedDict, total=False):
    """A group or a subgroup by its definition."""

    members: dict[str, MemberDefinition]
    groups: 'dict[str, Topology]'
    policies: list[Object]
    relationships: list[Relationship]


#: Attributes of a group in a request; the API validates them.
Attributes: typing.TypeAlias = 'dict[str, Json | Topology]'


class Change(typing.TypedDict, total=False):
    """Change of a topology.

    The keys are ``together``, or ``min_counts`` ({path: number}), or ``at``
    with ``members`` and ``min_count``, or with ``policy``, ``scope`` and
    ``strict``.
    """

    together: 'list[Change]'
    min_counts: dict[str, int]
    at: str
    members: str
    min_count: int
    policy: str
    scope: str
    strict: bool


class Text(typing.TypedDict):
    text: str


class Relaxation(Text):
    change: Change


class Refusal(typing.TypedDict):
    """Proof that no plan is possible."""

    reason: Text | None
    minimal: bool
    conflict: list[Text]
    relaxations: list[Relaxation]


class Revision(typing.TypedDict):
    """A draft of a group; ``origin`` is request, create or replacement."""

    status: str
    origin: str
    topology: Topology
    fault: Fault | None
    refusal: Refusal | None


class BootFault(typing.TypedDict):
    path: str
    fault: Fault


class Boot(typing.TypedDict):
    """Progress of the creation of a group's servers."""

    status: str
    missing: int
    created: int
    fault: Fault | None
    faults: list[BootFault]


class Event(typing.TypedDict):
    created_at: str
    event: str
    request_id: str | None
    user_id: str | None
    message: str | None


class Move(typing.TypedDict):
    """A proposed move of a server; only admins see its host."""

    path: str
    server_id: str
    domains: dict[str, str]
    host: typing.NotRequired[str]


class Policy(typing.TypedDict):
    type: str
    scope: str


class Violation(typing.TypedDict):
    """A policy that is violated, and the path that has it."""

    at: str
    policy: Policy


class Resize(typing.TypedDict):
    """A resize that a member's server needs: names of flavors."""

    to: str
    held: bool


class Successor(typing.TypedDict):
    """The server that succeeds that of a member."""

    server_id: str
    status: str


class Member(typing.TypedDict):
    """A member of a group; only admins see its host.

    ``domains`` is {level: id or name}, with the host first.
    """

    path: str
    status: str
    server_id: str | None
    domains: dict[str, str]
    fault: Fault | None
    host: typing.NotRequired[str | None]
    grown: typing.NotRequired[bool]
    pending: typing.NotRequired[dict[str, dict[str, str]] | None]
    resize: typing.NotRequired[Resize | None]
    successor: typing.NotRequired[Successor | None]


class Group(typing.Protocol):
    """A group with attributes of the SDK's VrtGroup."""

    id: str
    name: str
    status: str
    members: list[Member]
    topology: Topology
    fault: Fault | None
    refusal: Refusal | None
    revision: Revision | None
    violations: list[Violation]

    @property
    def is_planning(self) -> bool:
        """True while the group or its revision is PLANNING."""
