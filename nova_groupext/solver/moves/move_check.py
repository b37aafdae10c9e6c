# SPDX-License-Identifier: Apache-2.0
"""Check of one member's move while others of its group may be moving too.

The host of a moving member is unknown until its move ends. So the member
counts on both hosts, and a policy has to hold for all end states. A violated
policy does not refuse a move that makes it no worse.
"""

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import fractions
import itertools
import math
from typing import NamedTuple

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base

# An imaginary host in empty domains of its own; no real name is empty.
_EMPTY_HOST = ''


class MoveCost(NamedTuple):
    """Part of a group's cost that depends on the host of one member.

    :ivar strict: violation of strict policies, perhaps infinite
    :ivar soft: soft cost
    """

    strict: float
    soft: fractions.Fraction | float


def worst_violation(
    problem: problems.Problem,
    policy: base.Policy,
    possible_hosts: Mapping[Path, Collection[HostId]],
) -> float:
    """Return the worst-case violation, before weight and bandwidth.

    It is infinite if there are too many end states.

    :param possible_hosts: present and possible hosts of placed members
    """
    placed = policy.paths & possible_hosts.keys()
    # One member alone is never in two domains when its move has ended.
    if policy.is_worst_in_union and len(placed) > 1:
        return _count_violation(
            problem, *_copy_members(problem, policy, possible_hosts)
        )
    candidates = {
        path: _one_of_each(problem, policy, possible_hosts[path])
        for path in sorted(placed)
    }
    if math.prod(map(len, candidates.values())) > tuning.MAX_END_STATES:
        return math.inf
    return max(
        _count_violation(
            problem, policy, dict(zip(candidates, hosts, strict=True))
        )
        for hosts in itertools.product(*candidates.values())
    )


def _worst_pairs(
    problem: problems.Problem,
    policy: base.Policy,
    possible_hosts: Mapping[Path, Collection[HostId]],
) -> int:
    """Return the worst-case violation of the pairs of one member.

    The other members end independently, so their worst cases add up.

    :param policy: as _only_pairs_of() returns it; its member has one host
    """
    [path], others = policy.sides
    alone = {path: next(iter(possible_hosts[path]))}
    settled, worst = dict(alone), 0
    for other in others:
        hosts = possible_hosts.get(other, ())
        if len(hosts) == 1:
            settled[other] = next(iter(hosts))
        elif hosts:
            worst += max(
                _count_violation(problem, policy, {**alone, other: host})
                for host in hosts
            ) - _count_violation(problem, policy, alone)
    return worst + _count_violation(problem, policy, settled)


def _count_violation(
    problem: problems.Problem,
    policy: base.Policy,
    placement: Mapping[Path, HostId],
) -> int:
    """Return the violation plus the members in no domain of the scope."""
    nowhere = violations.count(problem, policy, placement)[None]
    return violations.amount(problem, policy, placement) + nowhere


def _copy_members(
    problem: problems.Problem,
    policy: base.Policy,
    possible_hosts: Mapping[Path, Collection[HostId]],
) -> tuple[base.Policy, dict[Path, HostId]]:
    """Return policy and placement with a copy of each member per host."""
    placement: dict[Path, HostId] = {}
    copies: dict[Path, list[Path]] = {}
    for path, hosts in possible_hosts.items():
        one_each = _one_per_domain(problem, policy, hosts)
        copies[path] = [f'{n}:{path}' for n in range(len(one_each))]
        placement.update(zip(copies[path], one_each, strict=True))
    sides = tuple(
        tuple(copy for path in side for copy in copies.get(path, ()))
        for side in policy.sides
    )
    return dataclasses.replace(policy, sides=sides), placement


def _one_per_domain(
    problem: problems.Problem, policy: base.Policy, hosts: Iterable[HostId]
) -> list[HostId]:
    """Return one host per domain of the scope; ignore other levels."""
    by_domain = {
        problem.domain(host, policy.scope): host for host in sorted(hosts)
    }
    return list(by_domain.values())


def _one_of_each(
    problem: problems.Problem, policy: base.Policy, hosts: Iterable[HostId]
) -> list[HostId]:
    """Return one host of each kind that the policy distinguishes."""
    if policy.sees == base.COUNTS or policy.is_worst_in_union:
        return _one_per_domain(problem, policy, hosts)
    if policy.sees == base.HOSTS:
        return sorted(hosts)
    by_domains = {
        tuple(problem.domain(host, level) for level in problem.levels): host
        for host in sorted(hosts)
    }
    return list(by_domains.values())


class Move:
    """The move of one member, judged by the policies of its group.

    Results are cached per combination of domains; all domains without members
    share one.

    :param problem: with the candidate hosts, those of ``others`` and
        ``current_host``, the topology and the levels
    :param others: possible hosts of all other placed members
    :param path: the member
    :param current_host: its host; None if it returns or becomes a server
    :param planned_hosts: planned hosts of unplaced members, so that their
        absence does not count against this member
    """

    def __init__(
        self,
        problem: problems.Problem,
        others: Mapping[Path, Collection[HostId]],
        path: Path,
        current_host: HostId | None,
        planned_hosts: Mapping[Path, Collection[HostId]] | None = None,
    ) -> None:
        self._problem = _add_empty_host(problem)
        self._others = others
        self._planned_hosts = planned_hosts or {}
        self._path = path
        self._current_host = current_host
        self._policies = [
            _only_pairs_of(path, policy)
            for policy in problem.topology.policies
            if policy.is_exclusive or path in policy.paths
        ]
        self._used = {
            level: {
                problem.domain(host, level)
                for host in itertools.chain(
                    *others.values(), *self._planned_hosts.values()
                )
            }
            for level in problem.levels
        }
        # By identity: hashing a policy takes long, it names all its members.
        self._cache: dict[int, dict[Hashable, float]] = {
            id(policy): {} for policy in self._policies
        }

    @property
    def is_bound(self) -> bool:
        """True if a strict policy concerns the member."""
        return any(policy.strict for policy in self._policies)

    def allows(self, host: HostId) -> bool:
        """Check whether a host violates no strict policy more than now.

        Without a current host, compare with the host of least violation.
        """
        return all(
            self._is_no_worse(policy, host)
            for policy in self._policies
            if policy.strict
        )

    def cost(self, host: HostId) -> MoveCost:
        """Return the part of the group's cost that depends on the host."""
        strict: float = 0
        soft: fractions.Fraction | float = 0
        for policy in self._policies:
            violation = self._violation(policy, host)
            if policy.strict:
                strict += violation
            elif violation < math.inf:
                soft += policy.unit_cost * violation
        return MoveCost(strict, soft)

    def _is_no_worse(self, policy: base.Policy, host: HostId) -> bool:
        if self._current_host is None:
            limit = self._least_violation(policy)
        elif self._key(policy, host) == self._key(policy, self._current_host):
            return True
        else:
            limit = self._violation(policy, self._current_host)
        violation = self._violation(policy, host)
        return violation < math.inf and violation <= limit

    def _least_violation(self, policy: base.Policy) -> float:
        """Return the least violation on any used host or an empty one.

        A violation by the member's absence does not justify a bad host.
        """
        hosts = {
            *itertools.chain(
                *self._others.values(), *self._planned_hosts.values()
            ),
            _EMPTY_HOST,
        }
        if policy.sees == base.HOSTS:
            # No imaginary host stands for the others.
            hosts = self._problem.hosts.keys() - {_EMPTY_HOST}
        return min(self._violation(policy, host) for host in hosts)

    def _violation(self, policy: base.Policy, host: HostId) -> float:
        cache, key = self._cache[id(policy)], self._key(policy, host)
        if key not in cache:
            possible_hosts: dict[Path, Collection[HostId]] = {
                **self._others,
                self._path: {host},
            }
            if not policy.is_monotone:
                possible_hosts = {**self._planned_hosts, **possible_hosts}
            worst = _worst_pairs if policy.is_pairwise else worst_violation
            cache[key] = worst(self._problem, policy, possible_hosts)
        return cache[key]

    def _key(self, policy: base.Policy, host: HostId) -> Hashable:
        """Return the domains by which a policy distinguishes hosts."""
        if policy.sees == base.HOSTS:
            return host
        levels = [policy.scope]
        if policy.sees == base.DOMAINS:
            levels += self._problem.levels
        domains = [self._problem.domain(host, level) for level in levels]
        return tuple(
            domain
            if domain is None or domain in self._used[level]
            else _EMPTY_HOST
            for level, domain in zip(levels, domains, strict=True)
        )


def _add_empty_host(problem: problems.Problem) -> problems.Problem:
    empty = dict.fromkeys(problem.levels[1:], _EMPTY_HOST)
    host = problems.Host(_EMPTY_HOST, domains=empty, free={}, foreign=False)
    return dataclasses.replace(
        problem, hosts={**problem.hosts, _EMPTY_HOST: host}
    )


def _only_pairs_of(path: Path, policy: base.Policy) -> base.Policy:
    """Return a policy without pairs of other members, which do not change."""
    if not policy.is_pairwise:
        return policy
    others = [side for side in policy.sides if path not in side] or [
        tuple(other for other in policy.sides[0] if other != path)
    ]
    other_paths = tuple(itertools.chain(*others))
    return dataclasses.replace(policy, sides=((path,), other_paths))
