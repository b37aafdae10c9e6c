# SPDX-License-Identifier: Apache-2.0
"""Topology of a group whose members are the servers of a stack.

Nothing here knows Heat.
"""

import collections
from collections.abc import Iterable
from collections.abc import Sequence
import copy
import dataclasses
import re
from typing import Any

_INDEX = re.compile(r'(.+)-\d+\Z')
# Batches of units that exist beside the ones that they replace: with
# ``min_in_service`` near the size, Heat makes room for a batch first.
_SURGE = 2

Node = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Units:
    """Group of resources with one definition.

    :ivar where: names of the resources that lead to it
    :ivar max_size: largest number of units, None if Heat never changes it
    :ivar batch: how many units Heat replaces at a time
    """

    where: tuple[str, ...]
    max_size: int | None
    batch: int


@dataclasses.dataclass(frozen=True)
class Server:
    """A server that names the group.

    :ivar where: names of the resources that lead to it
    :ivar path: path of its member, as its hint has it
    :ivar description: {flavor, image or boot_from_volume, availability_zone}
    :ivar units: Units that it belongs to, or None
    """

    where: tuple[str, ...]
    path: str
    description: dict[str, str | bool]
    units: Units | None


class Mismatch(ValueError):
    """Servers of one counted member have different descriptions."""


def build(
    servers: Iterable[Server],
    groups: Node | None,
    policies: list[Node] | None,
    relationships: list[Node] | None,
) -> Node:
    """Return a topology in the form of the API.

    :param groups: {name: subgroup}, in the form of the API, except that their
        members have only what the servers do not tell
    :raises: Mismatch
    """
    topology: Node = {
        'groups': copy.deepcopy(groups or {}),
        'policies': policies or [],
        'relationships': relationships or [],
    }
    for path, alike in _member_sets(servers).items():
        *above, name = path.split('/')
        node = topology
        for group in above:
            node = node.setdefault('groups', {}).setdefault(group, {})
        members = node.setdefault('members', {})
        members[name] = {**_member(alike), **(members.get(name) or {})}
    return topology


def _member_sets(servers: Iterable[Server]) -> dict[str, list[Server]]:
    """Return {path of a member set: its servers}, in the paths' order."""
    sets = collections.defaultdict(list)
    for server in servers:
        sets[_stem(server)].append(server)
    return {path: sets[path] for path in sorted(sets)}


def _stem(server: Server) -> str:
    """Return the path of a server's member set."""
    match = _INDEX.match(server.path) if server.units else None
    return match[1] if match else server.path


def _member(servers: Sequence[Server]) -> Node:
    """Return the description of a member set."""
    first = servers[0]
    for each in servers:
        if each.description != first.description:
            raise Mismatch(
                f'{_name(first)} and {_name(each)} are both {_stem(each)}, '
                'but differ in flavor, image or availability zone'
            )
    units = {each.units for each in servers if each.units is not None}
    singles = sum(each.units is None for each in servers)
    if len(servers) == singles == 1:
        return {**first.description, 'max_surge': 1}
    member: Node = {**first.description, 'count': len(servers)}
    if any(each.max_size is not None for each in units):
        member['max_count'] = singles + sum(_most(u, servers) for u in units)
    member['max_surge'] = singles + sum(
        min(_SURGE * each.batch, _most(each, servers)) for each in units
    )
    return member


def _most(units: Units, servers: Sequence[Server]) -> int:
    """Return the largest number of units."""
    if units.max_size is not None:
        return units.max_size
    return sum(each.units == units for each in servers)


def _name(server: Server) -> str:
    return '.'.join(server.where)
