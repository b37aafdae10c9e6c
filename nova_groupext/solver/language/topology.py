# SPDX-License-Identifier: Apache-2.0
"""Topology language: nested groups, members, relationships, policies.

The HTTP API, the scheduler and ``nova-groupext-plan`` read the same language;
only the description of a member differs (flavor and image, or class).
"""

import dataclasses

from nova_groupext.solver.aliases import JsonObject
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.aliases import Sides
from nova_groupext.solver.language import endpoints
from nova_groupext.solver.policies import base


@dataclasses.dataclass(frozen=True)
class Limits:
    """Size limits of a topology.

    :ivar depth: levels of nested nodes, the top-level group included
    :ivar width: entries in one list or object of a node
    :ivar groups: groups of the whole topology, the top-level one included
    :ivar members: members of the whole topology, counted ones expanded
    :ivar relationships: relationships of the whole topology
    :ivar policies: policies of the whole topology
    :ivar name_length: characters of one name
    :ivar path_length: characters of a member's path name
    """

    depth: int = 16
    width: int = 10_000
    groups: int = 1_000
    members: int = 10_000
    relationships: int = 1_000
    policies: int = 1_000
    name_length: int = 255
    path_length: int = 1_024


@dataclasses.dataclass(frozen=True)
class Member:
    """One server that may not exist yet.

    :ivar path: unique path name, ``workers/worker-3``
    :ivar member_set: path of its member set, ``workers/worker``
    :ivar index: its number within the member set
    :ivar spec: its description without counts and policies
    """

    path: Path
    member_set: Path
    index: int
    spec: JsonObject = dataclasses.field(hash=False)


@dataclasses.dataclass(frozen=True)
class MemberSet:
    """Member set: one entry of ``members``, ``count`` equal members.

    :ivar node: path of its group or subgroup, '' at the top
    :ivar count: number of its members, perhaps 0
    :ivar min_count: number of members that a plan has to place
    :ivar where: JSON path of its description
    """

    path: Path
    node: Path
    name: str
    count: int
    min_count: int
    members: tuple[Member, ...]
    spec: JsonObject = dataclasses.field(hash=False)
    where: str


@dataclasses.dataclass(frozen=True)
class Relationship:
    """Named relationship between disjoint parts of the topology.

    :ivar path: its node's path and its name, ``workers/shuffle``
    :ivar between: full paths of its parts, two or more; parts of other groups
        come last
    """

    path: Path
    between: tuple[Path, ...]
    sides: Sides
    bandwidth: float
    where: str


@dataclasses.dataclass(frozen=True)
class Topology:
    """Valid topology, in an order that does not depend on the input's.

    :ivar nodes: paths of the group ('') and its subgroups
    :ivar member_sets: by path
    :ivar members: by member set, then by number
    :ivar relationships: by path
    :ivar policies: by path, type, scope and parameters
    :ivar outer_parts: parts of relationships that are in other groups
    """

    nodes: tuple[Path, ...]
    member_sets: tuple[MemberSet, ...]
    members: tuple[Member, ...]
    relationships: tuple[Relationship, ...]
    policies: tuple[base.Policy, ...]
    outer_parts: tuple[endpoints.OuterPart, ...]
