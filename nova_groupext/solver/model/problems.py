# SPDX-License-Identifier: Apache-2.0
"""Placement problem: hosts, classes, a topology and pinned members."""

from collections.abc import Collection
from collections.abc import Container
from collections.abc import Hashable
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any
from typing import TypeAlias

from nova_groupext.solver.aliases import Amounts
from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import JsonObject
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.language import files
from nova_groupext.solver.language import parser
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import topology
from nova_groupext.solver.language import validation
from nova_groupext.solver.model import problem_schemas

DEFAULT_TIME_LIMIT = 30.0

#: Seconds to wait for a second of processor time, on a busy machine.
DEADLINE_FACTOR = 3.0

#: Name of a class: of the problem file, or a tuple if derived from another.
ClassName: TypeAlias = Hashable

# Class of other groups' members: they request nothing, and are pinned.
_OUTSIDER = None

#: Parser of a problem file's bytes into a JSON value for parse().
load = files.load


@dataclasses.dataclass(frozen=True)
class Host:
    """Compute host as this group sees it.

    :ivar domains: its domains, without that of the level ``host``
    :ivar foreign: True if it has servers or holds from outside of the group
    """

    id: HostId
    domains: dict[Level, Domain]
    free: Amounts
    foreign: bool

    def count_fits(self, request: Amounts, limit: int) -> int:
        """Return how many times a request fits, up to a limit."""
        fits = (self.free.get(r, 0) // n for r, n in request.items() if n)
        return min(limit, min(fits, default=limit))


@dataclasses.dataclass(frozen=True)
class MemberClass:
    """Request of several members, and the hosts allowed for them.

    :ivar hosts: hosts that may take a member
    :ivar scores: by the operator's weighers; 0 on other hosts
    :ivar alternatives: requests, one of which replaces `request` on a host
    """

    request: Amounts
    hosts: frozenset[HostId]
    scores: dict[HostId, float]
    alternatives: dict[HostId, list[Amounts]]

    def options(self, host_id: HostId) -> list[Amounts]:
        """Return the requests of which a host has to meet one."""
        return self.alternatives.get(host_id, [self.request])


@dataclasses.dataclass(frozen=True)
class Problem:
    """Placement problem, in an order that is independent of the input's.

    :ivar levels: topology levels, smallest first, ``host`` is the first
    :ivar hosts: sorted by id
    :ivar pinned: hosts of the members that stay, outsiders included
    :ivar outsiders: hosts of placed members of other groups
    :ivar current: hosts where members are now, or were planned before: where a
        search starts
    :ivar keeps_current: whether as many as possible are to stay there, before
        any soft cost counts
    :ivar time_limit: seconds of processor time
    :ivar deadline: seconds that the caller waits, by default
        DEADLINE_FACTOR times the limit
    :ivar shared: what is computed once for all problems derived from one, as
        long as they have the same hosts
    """

    levels: tuple[Level, ...]
    hosts: dict[HostId, Host]
    classes: dict[ClassName, MemberClass]
    topology: topology.Topology
    pinned: dict[Path, HostId]
    outsiders: dict[Path, HostId]
    time_limit: float
    seed: int
    deadline: float | None = None
    current: dict[Path, HostId] = dataclasses.field(default_factory=dict)
    keeps_current: bool = False
    shared: dict[str, Any] = dataclasses.field(
        default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        if self.shared.setdefault('hosts', self.hosts) is not self.hosts:
            object.__setattr__(self, 'shared', {'hosts': self.hosts})

    @property
    def max_wait(self) -> float:
        """Seconds after which the solver ends in any case."""
        if self.deadline is None:
            return DEADLINE_FACTOR * self.time_limit
        return self.deadline

    @functools.cached_property
    def class_of(self) -> dict[Path, MemberClass]:
        """Class of each member."""
        return {
            member.path: self.classes[member.spec['class']]
            for member in self.topology.members
        }

    @functools.cached_property
    def movable(self) -> frozenset[Path]:
        """Paths of the members that are not pinned."""
        return frozenset(self.class_of.keys() - self.pinned.keys())

    @functools.cached_property
    def may_stay(self) -> dict[Path, HostId]:
        """Current hosts of the members that may stay there."""
        return {
            path: host_id
            for path, host_id in self.current.items()
            if path in self.movable
            and host_id in self.hosts
            and host_id in self.class_of[path].hosts
        }

    @functools.cached_property
    def foreign_hosts(self) -> list[HostId]:
        """Ids of the hosts with foreign consumers."""
        return [host.id for host in self.hosts.values() if host.foreign]

    @functools.cached_property
    def own_members(self) -> list[Path]:
        """Paths of the group's own members, in their order."""
        return [p for p in self.class_of if p not in self.outsiders]

    def domain(self, host_id: HostId, level: Level) -> Domain | None:
        """Return the host's domain at a level, None if it has none."""
        if level == self.levels[0]:
            return host_id
        return self.hosts[host_id].domains.get(level)


def parse(raw: Any) -> Problem:
    """Parse a problem.

    :param raw: JSON value, see the problem file format
    :raises InvalidInput: with path and reason
    """
    validation.check(raw, problem_schemas.PROBLEM, '$')
    levels = tuple(raw['levels'])
    if levels[0] != 'host':
        raise validation.InvalidInput('$.levels[0]', 'must be "host"')
    hosts = _read_hosts(raw['hosts'], levels)
    classes = _read_classes(raw['classes'], hosts)
    outsiders = _read_outsiders(raw.get('outsiders', {}), hosts)
    tree = _read_topology(raw['topology'], levels, outsiders)
    _check_classes(tree, classes, outsiders)
    members = {member.path for member in tree.members}
    if outsiders:
        classes[_OUTSIDER] = MemberClass({}, frozenset(), {}, {})
    pinned = _read_pins(
        raw.get('pinned', {}), members - outsiders.keys(), hosts
    )
    return Problem(
        levels=levels,
        hosts=hosts,
        classes=classes,
        topology=tree,
        pinned={**outsiders, **pinned},
        outsiders=outsiders,
        time_limit=raw.get('time_limit', DEFAULT_TIME_LIMIT),
        deadline=raw.get('deadline'),
        seed=int(raw.get('seed', 0)),
        current=_read_current(
            raw.get('current', {}), members - outsiders.keys(), hosts
        ),
        keeps_current=raw.get('objective') == 'changes',
    )


def _read_topology(
    raw: Any, levels: tuple[Level, ...], outsiders: Mapping[Path, HostId]
) -> topology.Topology:
    """Return the tree, without member sets that have no members."""
    tree = parser.parse(
        raw,
        levels=levels,
        member_schema=problem_schemas.MEMBER,
        outsiders=outsiders,
    )
    return dataclasses.replace(
        tree, member_sets=tuple(s for s in tree.member_sets if s.members)
    )


def _check_classes(
    tree: topology.Topology,
    classes: Container[ClassName],
    outsiders: Container[Path],
) -> None:
    for member_set in tree.member_sets:
        if member_set.path not in outsiders:
            _check_known(
                member_set.spec['class'],
                classes,
                validation.json_path(member_set.where, 'class'),
            )


def _read_hosts(
    raw: list[Any], levels: tuple[Level, ...]
) -> dict[HostId, Host]:
    hosts = {}
    for number, entry in enumerate(raw):
        where = validation.json_path('$.hosts', number)
        validation.check(entry, problem_schemas.HOST, where)
        if entry['id'] in hosts:
            raise validation.InvalidInput(f'{where}.id', 'is repeated')
        domains = entry.get('domains', {})
        for level in domains:
            _check_known(
                level,
                levels[1:],
                validation.json_path(f'{where}.domains', level),
            )
        hosts[entry['id']] = Host(
            id=entry['id'],
            domains=domains,
            free=_amounts(entry.get('free', {})),
            foreign=entry.get('foreign', False),
        )
    return dict(sorted(hosts.items()))


def _read_classes(
    raw: JsonObject, hosts: Collection[HostId]
) -> dict[ClassName, MemberClass]:
    # One set for all classes without a list of hosts.
    all_hosts = frozenset(hosts)
    return {
        name: _read_class(
            entry, all_hosts, validation.json_path('$.classes', name)
        )
        for name, entry in sorted(raw.items())
    }


def _read_class(
    raw: Any, all_hosts: frozenset[HostId], where: str
) -> MemberClass:
    validation.check(raw, problem_schemas.CLASS, where)
    for key in ('hosts', 'scores', 'alternatives'):
        _check_all_known(raw.get(key, []), all_hosts, f'{where}.{key}')
    return MemberClass(
        request=_amounts(raw['request']),
        hosts=frozenset(raw['hosts']) if 'hosts' in raw else all_hosts,
        scores=raw.get('scores', {}),
        alternatives={
            host_id: [_amounts(option) for option in options]
            for host_id, options in raw.get('alternatives', {}).items()
        },
    )


def _read_pins(
    raw: JsonObject, members: Container[Path], hosts: Container[HostId]
) -> dict[Path, HostId]:
    for path, host_id in raw.items():
        where = validation.json_path('$.pinned', path)
        _check_known(path, members, where)
        _check_known(host_id, hosts, where)
    return dict(sorted(raw.items()))


def _read_current(
    raw: JsonObject, members: Container[Path], hosts: Container[HostId]
) -> dict[Path, HostId]:
    return {
        path: host_id
        for path, host_id in sorted(raw.items())
        if path in members and host_id in hosts
    }


def _read_outsiders(
    raw: JsonObject, hosts: Container[HostId]
) -> dict[Path, HostId]:
    """Return the placed members of other groups under their path names."""
    for path, host_id in raw.items():
        _check_known(host_id, hosts, validation.json_path('$.outsiders', path))
    return {paths.outside('', path): raw[path] for path in sorted(raw)}


def _amounts(raw: JsonObject) -> Amounts:
    return {name: int(amount) for name, amount in sorted(raw.items())}


def _check_all_known(
    names: Collection[str], valid_names: Container[str], where: str
) -> None:
    """Check the items of an array, or the keys of an object."""
    for number, name in enumerate(names):
        if name not in valid_names:
            key = name if isinstance(names, dict) else number
            _check_known(name, valid_names, validation.json_path(where, key))


def _check_known(
    name: Hashable, valid_names: Container[Hashable], where: str
) -> None:
    if name not in valid_names:
        raise validation.InvalidInput(
            where, f'{validation.quote(name)} is unknown'
        )
