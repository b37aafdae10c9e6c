# SPDX-License-Identifier: Apache-2.0
"""The topology language: nested groups, members, relationships, policies.

The HTTP API, the scheduler and ``nova-groupext-plan`` read the same language;
they differ only in how a member is described (flavor and image, or class).
"""

import collections
import dataclasses
import itertools

from nova_groupext.planner import invalid
from nova_groupext.planner import schemas

InvalidInput = invalid.InvalidInput


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much a topology may ask for.

    :ivar depth: nodes below one another, the top-level group included
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
    :ivar stem: path of the entry it stems from, ``workers/worker``
    :ivar index: its number within the stem
    :ivar spec: its description as given, without count and min_count
    """

    path: str
    stem: str
    index: int
    spec: dict = dataclasses.field(hash=False)


@dataclasses.dataclass(frozen=True)
class Stem:
    """One entry of ``members``: ``count`` equal members.

    :ivar node: path of the group or subgroup it stands in, '' at the top
    :ivar count: how many members it makes
    :ivar min_count: how many of them a plan has to place
    :ivar where: JSON path of its description
    """

    path: str
    node: str
    name: str
    count: int
    min_count: int
    members: tuple[Member, ...]
    spec: dict = dataclasses.field(hash=False)
    where: str


@dataclasses.dataclass(frozen=True)
class Relationship:
    """A named tie between two disjoint parts of the topology.

    :ivar path: its node's path and its name, ``workers/shuffle``
    :ivar between: the two full paths it ties
    :ivar sides: member paths at either end
    """

    path: str
    between: tuple[str, str]
    sides: tuple[tuple[str, ...], tuple[str, ...]]
    bandwidth: float
    where: str


@dataclasses.dataclass(frozen=True)
class Policy:
    """A rule over members; parameters of other types keep their default.

    :ivar at: path of the node or relationship it stands on
    :ivar sides: member paths it covers: one set, or the two ends of a
        relationship whose pairs network-proximity is about
    :ivar where: JSON path of its description
    """

    at: str
    type: str
    scope: str
    sides: tuple[tuple[str, ...], ...]
    where: str
    strict: bool = True
    weight: float = 1
    bandwidth: float = 1
    max_per_domain: int = 1
    max_skew: int = 1
    min_domains: int = 2
    failures: int = 1
    min_members: int = 1


@dataclasses.dataclass(frozen=True)
class Topology:
    """A valid topology, in an order that does not depend on the input's.

    :ivar nodes: paths of the group ('') and its subgroups
    :ivar stems: by path
    :ivar members: in path order: by stem, then by number
    :ivar relationships: by path
    :ivar policies: by place, type, scope and parameters
    """

    nodes: tuple[str, ...]
    stems: tuple[Stem, ...]
    members: tuple[Member, ...]
    relationships: tuple[Relationship, ...]
    policies: tuple[Policy, ...]


def parse(raw, *, levels, member_schema, limits=None, path='$.topology'):
    """Read a topology.

    :param raw: JSON value as loaded
    :param levels: names of the topology levels, ``host`` first
    :param member_schema: JSON schema of what describes a member; count and
        min_count are added, anything else is refused
    :param limits: Limits
    :param path: JSON path of ``raw``, for messages
    :returns: Topology
    :raises InvalidInput: with path and reason
    """
    reader = _Reader(levels, member_schema, limits or Limits())
    reader.read_members(raw, '', path, depth=1)
    for node in reader.nodes:
        reader.read_rules(node)
    for node in reader.nodes:
        reader.refuse_empty(node)
    return Topology(
        nodes=tuple(sorted(reader.nodes)),
        stems=tuple(sorted(reader.stems, key=lambda s: s.path)),
        members=_in_path_order(m for s in reader.stems for m in s.members),
        relationships=tuple(
            sorted(reader.relationships, key=lambda r: r.path)
        ),
        policies=tuple(sorted(reader.policies, key=_policy_order)),
    )


def join(*parts):
    """The path name made of those parts that are not empty."""
    return '/'.join(part for part in parts if part)


def _in_path_order(members):
    return tuple(sorted(members, key=lambda m: (m.stem, m.index)))


def _policy_order(policy):
    """What a policy is about; where it is written does not matter."""
    return tuple(
        getattr(policy, field.name)
        for field in dataclasses.fields(policy)
        if field.name != 'where'
    )


def _whole(value):
    """JSON has one kind of number: 3.0 counts as well as 3."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


class _Names:
    """The names taken within one node."""

    def __init__(self, limit):
        self.limit = limit
        self.taken = {}

    def take(self, name, where):
        if not name or '/' in name:
            raise InvalidInput(where, 'needs a name without slashes')
        if len(name) > self.limit:
            raise InvalidInput(
                where, f'has a name of more than {self.limit} characters'
            )
        if name in self.taken:
            raise InvalidInput(
                where,
                f'takes the name {invalid.quote(name)} of {self.taken[name]}',
            )
        self.taken[name] = where


class _Reader:
    """Reads all members first, then the rules that point at them."""

    def __init__(self, levels, member_schema, limits):
        self.levels = levels
        self.limits = limits
        self.member_schema = {
            **member_schema,
            'type': 'object',
            'properties': {
                **member_schema.get('properties', {}),
                **schemas.COUNTS,
            },
            'additionalProperties': False,
        }
        self.nodes = {}
        self.stems = []
        self.relationships = []
        self.policies = []
        self.total = 0
        # Every path that `between` may name, with the members it stands for.
        self.members_at = collections.defaultdict(list)

    def read_members(self, raw, node, where, depth):
        if depth > self.limits.depth:
            raise InvalidInput(
                where, f'is nested more than {self.limits.depth} groups deep'
            )
        invalid.check(raw, schemas.NODE, where)
        for key, entries in raw.items():
            self._check_width(entries, invalid.child(where, key))
        self._check_room('groups', self.nodes, where)
        self.nodes[node] = (raw, where)
        names = _Names(self.limits.name_length)
        for name, entry, entry_at in _entries(raw, where, 'members'):
            self._read_stem(entry, node, name, entry_at, names)
        for name, entry, entry_at in _entries(raw, where, 'groups'):
            names.take(name, entry_at)
            self.read_members(entry, join(node, name), entry_at, depth + 1)

    def read_rules(self, node):
        raw, where = self.nodes[node]
        self._read_policies(
            raw, where, schemas.GROUP_POLICIES, node, (self._paths(node),)
        )
        names = _Names(self.limits.name_length)
        for number, entry, entry_at in _entries(raw, where, 'relationships'):
            invalid.check(entry, schemas.RELATIONSHIP, entry_at)
            name = entry.get('name', f'relationships[{number}]')
            names.take(name, invalid.child(entry_at, 'name'))
            self._read_relationship(entry, node, name, entry_at)

    def refuse_empty(self, node):
        """A group without members, at or below it, is somebody's mistake."""
        if not self.members_at.get(node):
            _, where = self.nodes[node]
            raise InvalidInput(where, 'describes no member')

    def _read_stem(self, raw, node, name, where, names):
        invalid.check(raw, self.member_schema, where)
        count, min_count = self._counts(raw, where)
        path = join(node, name)
        spec = {k: v for k, v in raw.items() if k not in schemas.COUNTS}
        names.take(name, where)
        made = [name]
        if 'count' in raw:
            made = [f'{name}-{index}' for index in range(count)]
            for each in made:
                names.take(each, where)
        members = tuple(
            Member(join(node, each), path, index, spec)
            for index, each in enumerate(made)
        )
        if len(members[-1].path) > self.limits.path_length:
            raise InvalidInput(
                where,
                'makes a path name of more than '
                f'{self.limits.path_length} characters',
            )
        stem = Stem(path, node, name, count, min_count, members, spec, where)
        self.stems.append(stem)
        self._register(stem)

    def _counts(self, raw, where):
        count = int(raw.get('count', 1))
        min_count = int(raw.get('min_count', count))
        if min_count > count:
            raise InvalidInput(
                invalid.child(where, 'min_count'),
                f'must not be more than the count, {count}',
            )
        self.total += count
        if self.total > self.limits.members:
            raise InvalidInput(
                invalid.child(where, 'count') if 'count' in raw else where,
                f'makes more than {self.limits.members} members in all',
            )
        return count, min_count

    def _register(self, stem):
        nodes = itertools.accumulate(stem.node.split('/'), join)
        for place in {'', *nodes, stem.path}:
            self.members_at[place].extend(stem.members)
        for member in stem.members:
            if member.path != stem.path:
                self.members_at[member.path].append(member)

    def _read_relationship(self, raw, node, name, where):
        between_at = invalid.child(where, 'between')
        between = tuple(join(node, end) for end in raw['between'])
        sides = tuple(self._paths(end) for end in between)
        for number, side in enumerate(sides):
            if not side:
                raise InvalidInput(
                    invalid.child(between_at, number), 'matches no member'
                )
        shared = set(sides[0]).intersection(sides[1])
        if shared:
            raise InvalidInput(
                between_at, f'has {invalid.quote(min(shared))} at both ends'
            )
        self._check_room('relationships', self.relationships, where)
        path = join(node, name)
        bandwidth = _whole(raw.get('bandwidth', 1))
        self.relationships.append(
            Relationship(path, between, sides, bandwidth, where)
        )
        self._read_policies(
            raw, where, schemas.RELATIONSHIP_POLICIES, path, sides, bandwidth
        )

    def _read_policies(self, raw, where, shapes, at, sides, bandwidth=1):
        self._check_width(raw.get('policies', []), f'{where}.policies')
        for _, entry, entry_at in _entries(raw, where, 'policies'):
            invalid.check(entry, schemas.ANY_POLICY, entry_at)
            invalid.check(entry, shapes[entry['type']], entry_at)
            if entry['scope'] not in self.levels:
                raise InvalidInput(
                    invalid.child(entry_at, 'scope'),
                    f'must be one of {invalid.quote(list(self.levels))}',
                )
            self._check_room('policies', self.policies, entry_at)
            in_pairs = entry['type'] == 'network-proximity'
            given = {key: _whole(value) for key, value in entry.items()}
            self.policies.append(
                Policy(
                    **{'bandwidth': bandwidth, **given},
                    at=at,
                    sides=sides if in_pairs else (sum(sides, ()),),
                    where=entry_at,
                )
            )

    def _paths(self, place):
        members = self.members_at.get(place, ())
        return tuple(m.path for m in _in_path_order(members))

    def _check_width(self, entries, where):
        if len(entries) > self.limits.width:
            raise InvalidInput(
                where, f'has more than {self.limits.width} entries'
            )

    def _check_room(self, kind, known, where):
        most = getattr(self.limits, kind)
        if len(known) == most:
            raise InvalidInput(where, f'is one more than {most} {kind}')


def _entries(raw, where, key):
    """Key or index, value and JSON path of what stands under ``key``."""
    entries = raw.get(key, {})
    path = invalid.child(where, key)
    is_object = isinstance(entries, dict)
    items = entries.items() if is_object else enumerate(entries)
    return [(name, entry, invalid.child(path, name)) for name, entry in items]
