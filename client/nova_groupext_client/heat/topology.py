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
# Types of what subgroups have.
_TYPES = (
    ('policies', list, 'a list'),
    ('relationships', list, 'a list'),
    ('groups', dict, 'a map'),
)

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
    :ivar is_future: whether it only describes what an empty group of resources
        may create later
    """

    where: tuple[str, ...]
    path: str
    description: dict[str, str | bool]
    units: Units | None
    is_future: bool = False


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
    told = {
        path: _told(path, member) for path, member in (members or {}).items()
    }
    if unknown := told.keys() - sets.keys():
        raise Mismatch(f'members: no server is {min(unknown)}')
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
    """Check that the properties describe no server, and have the right types.

    :raises: Mismatch
    """
    for name, group in (node.get('groups') or {}).items():
        where = f'{path}.{name}'
        if not isinstance(group, dict):
            raise Mismatch(f'{where} must be a map')
        if 'members' in group:
            raise Mismatch(
                f'{where}: members are the servers that name the group; '
                'the property "members" is only for values that servers do '
                'not define'
            )
        for key, type_, text in _TYPES:
            value = group.get(key)
            if value is not None and not isinstance(value, type_):
                raise Mismatch(f'{where}.{key} must be {text}')
        _check_groups(group, f'{where}.groups')


def _told(path: str, member: object) -> dict[str, int]:
    """Return what the properties tell of a member set.

    Keys without a value, whose resource may not exist yet, are left out.

    :raises: Mismatch
    """
    if not isinstance(member, dict):
        raise Mismatch(f'members.{path} must be a map')
    if unknown := member.keys() - set(_TOLD):
        raise Mismatch(
            f'members.{path}: {min(unknown)} is none of '
            f'{", ".join(_TOLD)}; the rest is read from the servers'
        )
    return {
        name: _number(f'members.{path}.{name}', value)
        for name, value in member.items()
        if value is not None
    }


def _number(where: str, value: object) -> int:
    """Return a whole number, which Heat's functions may have made a text.

    :raises: Mismatch
    """
    if isinstance(value, bool) or not re.fullmatch(r'\d+', str(value)):
        raise Mismatch(f'{where} must be a whole number')
    return int(str(value))


def _member_sets(servers: Iterable[Server]) -> dict[str, list[Server]]:
    """Return {path of a member set: its servers}, in the paths' order.

    :raises: Mismatch if two servers have the same number
    """
    sets = collections.defaultdict(list)
    numbered: dict[str, Server] = {}
    for server in servers:
        stem = _stem(server)
        sets[stem].append(server)
        if stem == server.path:
            continue
        if numbered.setdefault(server.path, server) is not server:
            raise Mismatch(
                f'{_name(numbered[server.path])} and {_name(server)} are both '
                f'{server.path}'
            )
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
    count = sum(not each.is_future for each in servers)
    member: Node = {**first.description, 'count': count}
    if not count or any(each.max_size is not None for each in units):
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
