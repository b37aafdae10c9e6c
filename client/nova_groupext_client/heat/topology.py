# SPDX-License-Identifier: Apache-2.0
"""Topology of a group whose members are the servers of a stack.

Nothing here knows Heat.
"""

import collections
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import copy
import dataclasses
import re
from typing import Any

_INDEX = re.compile(r'(.+)-\d+\Z')
# Batches of units that exist beside the ones that they replace: with
# ``min_in_service`` near the size, Heat makes room for a batch first.
_SURGE = 2
# Templates may tell this of a member; its servers tell the rest.
_TOLD = ('min_count', 'max_surge')

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
    """The servers and the group's properties contradict each other."""


def build(
    servers: Iterable[Server],
    groups: Mapping[str, Node] | None = None,
    members: Mapping[str, Node] | None = None,
    policies: list[Node] | None = None,
    relationships: list[Node] | None = None,
    successors: Iterable[str] = (),
) -> Node:
    """Return a topology in the form of the API.

    :param groups: {name: subgroup}, in the form of the API, without members
    :param members: {path: what the servers do not tell of the member}
    :param successors: paths of the members that have a successor: so many
        more servers may exist
    :raises: Mismatch
    """
    topology: Node = {
        'groups': copy.deepcopy(groups or {}),
        'policies': policies or [],
        'relationships': relationships or [],
    }
    _check_groups(topology)
    sets = _member_sets(servers)
    told = members or {}
    _check_members(told, sets)
    replaced = collections.Counter(_set_of(path, sets) for path in successors)
    for path, alike in sets.items():
        *above, name = path.split('/')
        node = topology
        for group in above:
            node = node.setdefault('groups', {}).setdefault(group, {})
        member = {**_member(alike), **told.get(path, {})}
        member['max_surge'] += replaced[path]
        node.setdefault('members', {})[name] = member
    return topology


def policies(
    node: Node, where: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    """Yield (names and indexes that lead to it, policy) of all policies."""
    for number, each in enumerate(node.get('policies') or ()):
        if isinstance(each, dict):
            yield (*where, 'policies', number), each
    for number, each in enumerate(node.get('relationships') or ()):
        if isinstance(each, dict):
            yield from policies(each, (*where, 'relationships', number))
    for name, group in (node.get('groups') or {}).items():
        yield from policies(group, (*where, 'groups', name))


def _check_groups(node: Node, path: str = 'groups') -> None:
    """Check that the properties describe no server.

    :raises: Mismatch
    """
    for name, group in (node.get('groups') or {}).items():
        if not isinstance(group, dict):
            raise Mismatch(f'{path}.{name} must be a map')
        if 'members' in group:
            raise Mismatch(
                f'{path}.{name}: members are the servers that name the group; '
                'the property "members" has what these do not tell'
            )
        _check_groups(group, f'{path}.{name}.groups')


def _check_members(told: Mapping[str, Node], sets: Container[str]) -> None:
    """Check that the properties tell only what no server tells.

    :raises: Mismatch
    """
    for path, member in told.items():
        if path not in sets:
            raise Mismatch(f'members: no server is {path}')
        if not isinstance(member, dict):
            raise Mismatch(f'members.{path} must be a map')
        if unknown := member.keys() - set(_TOLD):
            raise Mismatch(
                f'members.{path}: {min(unknown)} is none of '
                f'{", ".join(_TOLD)}; the rest is read from the servers'
            )


def _member_sets(servers: Iterable[Server]) -> dict[str, list[Server]]:
    """Return {path of a member set: its servers}, in the paths' order."""
    sets = collections.defaultdict(list)
    for server in servers:
        sets[_stem(server)].append(server)
    return {path: sets[path] for path in sorted(sets)}


def _stem(server: Server) -> str:
    """Return the path of a server's member set."""
    return _without_index(server.path) if server.units else server.path


def _set_of(member: str, sets: Container[str]) -> str:
    """Return the path of the member set of a member."""
    return member if member in sets else _without_index(member)


def _without_index(path: str) -> str:
    match = _INDEX.match(path)
    return match[1] if match else path


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
