# SPDX-License-Identifier: Apache-2.0
"""Parser of topologies: members first, then policies and relationships."""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from collections.abc import Sized
import itertools
from typing import Any

from nova_groupext.solver.aliases import JsonObject
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.aliases import Schema
from nova_groupext.solver.aliases import Sides
from nova_groupext.solver.language import counts
from nova_groupext.solver.language import endpoints
from nova_groupext.solver.language import entries
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import schemas
from nova_groupext.solver.language import validation
from nova_groupext.solver.language.topology import Limits
from nova_groupext.solver.language.topology import Member
from nova_groupext.solver.language.topology import MemberSet
from nova_groupext.solver.language.topology import Relationship
from nova_groupext.solver.language.topology import Topology
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import registry

InvalidInput = validation.InvalidInput


def parse(
    raw: Any,
    *,
    levels: Sequence[Level],
    member_schema: Schema,
    limits: Limits | None = None,
    path: str = '$.topology',
    outsiders: Collection[Path] = (),
) -> Topology:
    """Parse a topology.

    :param raw: JSON value as loaded
    :param levels: topology levels, ``host`` first
    :param member_schema: of a member's description; counts and policies are
        added, other keys are refused
    :param path: JSON path of ``raw``, for messages
    :param outsiders: placed members of other groups; they become members,
        each with its own member set
    :raises InvalidInput: with path and reason
    """
    reader = _Reader(levels, member_schema, limits or Limits(), outsiders)
    reader.read_members(raw, '', path, depth=1)
    for node in reader.nodes:
        reader.read_node_policies(node)
    for member_set in reader.member_sets:
        reader.read_member_set_policies(member_set)
    for node in reader.nodes:
        reader.refuse_empty(node)
    member_sets = [*reader.member_sets, *map(_outsider, outsiders)]
    return Topology(
        nodes=tuple(sorted(reader.nodes)),
        member_sets=tuple(sorted(member_sets, key=lambda s: s.path)),
        members=_in_path_order(m for s in member_sets for m in s.members),
        relationships=tuple(
            sorted(reader.relationships, key=lambda r: r.path)
        ),
        policies=tuple(sorted(reader.policies, key=lambda p: p.sort_key)),
        outer_parts=tuple(reader.outer_parts),
    )


def _outsider(path: Path) -> MemberSet:
    """Return the member set of another group's member, which is pinned."""
    spec: JsonObject = {'class': None}
    member = Member(path, path, 0, spec)
    return MemberSet(path, '', path, 1, 0, (member,), spec, '')


def _in_path_order(members: Iterable[Member]) -> tuple[Member, ...]:
    return tuple(sorted(members, key=lambda m: (m.member_set, m.index)))


class _Reader:
    """Parser of all members first, then of policies and relationships."""

    def __init__(
        self,
        levels: Sequence[Level],
        member_schema: Schema,
        limits: Limits,
        outsiders: Collection[Path],
    ) -> None:
        self.levels = levels
        self.limits = limits
        self.outsiders = outsiders
        self.member_schema = {
            **member_schema,
            'type': 'object',
            'properties': {
                **member_schema.get('properties', {}),
                **schemas.COUNTS,
                **schemas.POLICIES,
            },
            'additionalProperties': False,
        }
        # Node -> its JSON object and JSON path.
        self.nodes: dict[Path, tuple[JsonObject, str]] = {}
        # Member set -> its JSON object.
        self.members: dict[Path, JsonObject] = {}
        self.member_sets: list[MemberSet] = []
        self.relationships: list[Relationship] = []
        self.policies: list[base.Policy] = []
        self.outer_parts: list[endpoints.OuterPart] = []
        self.total = 0
        self.total_policies = 0
        # Path that `between` may contain -> its members.
        self.members_at = collections.defaultdict[Path, list[Member]](list)

    def read_members(
        self, raw: Any, node: Path, where: str, depth: int
    ) -> None:
        if depth > self.limits.depth:
            raise InvalidInput(
                where,
                f'is nested more than {self.limits.depth - 1} subgroups deep',
            )
        validation.check(raw, schemas.NODE, where)
        for key, values in raw.items():
            self._check_width(values, validation.json_path(where, key))
        self._check_limit('groups', len(self.nodes), where)
        self.nodes[node] = (raw, where)
        names = entries.Names(self.limits.name_length)
        for name, entry, entry_at in entries.named(raw, where, 'members'):
            self._read_member_set(entry, node, name, entry_at, names)
        for name, entry, entry_at in entries.named(raw, where, 'groups'):
            names.add(name, entry_at)
            self.read_members(
                entry, paths.join(node, name), entry_at, depth + 1
            )

    def read_node_policies(self, node: Path) -> None:
        raw, where = self.nodes[node]
        self._read_policies(
            raw, where, schemas.group_policies(), node, (self._paths(node),)
        )
        names = entries.Names(self.limits.name_length)
        for number, entry, entry_at in entries.listed(
            raw, where, 'relationships'
        ):
            validation.check(entry, schemas.RELATIONSHIP, entry_at)
            name = entry.get('name', f'relationships[{number}]')
            names.add(name, validation.json_path(entry_at, 'name'))
            self._read_relationship(entry, node, name, entry_at)

    def read_member_set_policies(self, member_set: MemberSet) -> None:
        """Read the policies of a member set itself."""
        raw = self.members[member_set.path]
        self._read_policies(
            raw,
            member_set.where,
            schemas.group_policies(),
            member_set.path,
            (self._paths(member_set.path),),
        )

    def refuse_empty(self, node: Path) -> None:
        """Raise InvalidInput if a node describes no member."""
        if node not in self.members_at:
            _, where = self.nodes[node]
            raise InvalidInput(where, 'describes no member')

    def _read_member_set(
        self, raw: Any, node: Path, name: str, where: str, names: entries.Names
    ) -> None:
        validation.check(raw, self.member_schema, where)
        min_count = self._min_count(raw, where)
        path = paths.join(node, name)
        spec = {k: v for k, v in raw.items() if k not in schemas.NON_SPEC}
        names.add(name, where)
        members = tuple(
            Member(paths.join(node, each), path, index, spec)
            for index, each in enumerate(counts.member_names(raw, name))
        )
        for member in members:
            if member.path != path:
                names.add(member.path.rpartition('/')[2], where)
        if len(path) + counts.added_length(raw) > self.limits.path_length:
            raise InvalidInput(
                where,
                'results in a path name of more than '
                f'{self.limits.path_length} characters',
            )
        member_set = MemberSet(
            path, node, name, len(members), min_count, members, spec, where
        )
        self.member_sets.append(member_set)
        self.members[path] = raw
        self._register(member_set)

    def _min_count(self, raw: JsonObject, where: str) -> int:
        """Return the ``min_count`` of a member set."""
        count = int(raw.get('count', 1))
        min_count = int(raw.get('min_count', count))
        if 'names' in raw:
            return min(min_count, len(raw['names']))
        if min_count > count:
            raise InvalidInput(
                validation.json_path(where, 'min_count'),
                f'must not be more than the count, {count}',
            )
        counts.check_max_count(raw, count, where)
        self.total += counts.limit(raw) + int(raw.get('max_surge', 0))
        if self.total > self.limits.members:
            raise InvalidInput(
                validation.json_path(where, 'count')
                if 'count' in raw
                else where,
                f'results in more than {self.limits.members} members in total',
            )
        return min_count

    def _register(self, member_set: MemberSet) -> None:
        nodes = itertools.accumulate(member_set.node.split('/'), paths.join)
        for path in {'', *nodes, member_set.path}:
            self.members_at[path].extend(member_set.members)
        for member in member_set.members:
            if member.path != member_set.path:
                self.members_at[member.path].append(member)
            succeeded = paths.succeeded(member.path)
            if succeeded not in (None, member_set.path):
                self.members_at[succeeded].append(member)

    def _read_relationship(
        self, raw: JsonObject, node: Path, name: str, where: str
    ) -> None:
        between_at = validation.json_path(where, 'between')
        self._check_width(raw['between'], between_at)
        inner, outer = endpoints.read(
            raw['between'], node, between_at, self._paths, self._is_known
        )
        self._check_limit('relationships', len(self.relationships), where)
        relationship = Relationship(
            paths.join(node, name),
            between=(*inner, *(part.outside_path for part in outer)),
            sides=(
                *map(self._paths, inner),
                *(part.select(self.outsiders) for part in outer),
            ),
            bandwidth=entries.to_integer(raw.get('bandwidth', 1)),
            where=where,
        )
        self.relationships.append(relationship)
        self.outer_parts += outer
        self._read_policies(
            raw,
            where,
            schemas.soft_policies()
            if outer
            else schemas.relationship_policies(),
            relationship.path,
            relationship.sides,
            {'bandwidth': relationship.bandwidth},
        )

    def _read_policies(
        self,
        raw: JsonObject,
        where: str,
        policy_schemas: dict[str, Schema],
        at: Path,
        sides: Sides,
        shared: JsonObject | None = None,
    ) -> None:
        """Read the policies of a node, member set or relationship.

        :param shared: parameters that the policies have in common
        """
        self._check_width(raw.get('policies', []), f'{where}.policies')
        # Parts may have no members yet, or no placed ones in another group.
        parts = tuple(side for side in sides if side)
        for _, entry, entry_at in entries.listed(raw, where, 'policies'):
            validation.check(entry, schemas.any_policy(), entry_at)
            self._check_policy(entry, policy_schemas, entry_at)
            self._check_limit('policies', self.total_policies, entry_at)
            self.total_policies += 1
            kind = registry.get(entry['type'])
            if len(parts) < (min(2, len(sides)) if kind.is_pairwise else 1):
                continue
            self.policies.append(
                kind(
                    **_parameters(kind, {**(shared or {}), **entry}),
                    at=at,
                    sides=parts if kind.is_pairwise else (sum(parts, ()),),
                    where=entry_at,
                )
            )

    def _check_policy(
        self, entry: JsonObject, policy_schemas: dict[str, Schema], where: str
    ) -> None:
        is_soft_only = policy_schemas is schemas.soft_policies()
        if is_soft_only and entry.get('strict', True):
            raise InvalidInput(
                validation.json_path(where, 'strict'),
                'must be false: policies about members of another group can '
                'only be soft',
            )
        validation.check(entry, policy_schemas[entry['type']], where)
        if entry['scope'] not in self.levels:
            raise InvalidInput(
                validation.json_path(where, 'scope'),
                f'must be one of {validation.quote(list(self.levels))}',
            )

    def _paths(self, path: Path) -> tuple[Path, ...]:
        members = self.members_at.get(path, ())
        return tuple(m.path for m in _in_path_order(members))

    def _is_known(self, path: Path) -> bool:
        """Check whether a path is one of a member, or may become one."""
        if path in self.members_at:
            return True
        member_set, index = paths.split_index(path)
        raw = self.members.get(member_set, {})
        return 'count' in raw and 0 <= index < counts.limit(raw)

    def _check_width(self, values: Sized, where: str) -> None:
        if len(values) > self.limits.width:
            raise InvalidInput(
                where, f'has more than {self.limits.width} entries'
            )

    def _check_limit(self, kind: str, number: int, where: str) -> None:
        limit = getattr(self.limits, kind)
        if number == limit:
            raise InvalidInput(where, f'exceeds the limit of {limit} {kind}')


def _parameters(kind: type[base.Policy], entry: JsonObject) -> JsonObject:
    """Return the attributes that a policy's description sets."""
    names = {'scope', 'strict', 'weight', *kind.parameters()}
    return {
        name: entries.to_integer(value)
        for name, value in entry.items()
        if name in names
    }
