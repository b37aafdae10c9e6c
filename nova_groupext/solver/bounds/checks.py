# SPDX-License-Identifier: Apache-2.0
"""Comparisons of demand with an upper bound on capacity.

The first comparison ignores policies. Each strict policy then excludes hosts
for the members it covers: hosts without a domain, hosts that pinned members
or foreign consumers make impossible, and domains too small for the members
that must share one. The last comparison uses the remaining hosts. A proof
names the members it counts and every policy that excluded a host for them.
"""

import collections
from collections.abc import Iterator
from collections.abc import Sequence
import itertools

import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.bounds import capacity
from nova_groupext.solver.bounds import demands
from nova_groupext.solver.bounds import reduction
from nova_groupext.solver.bounds.demands import Coverage
from nova_groupext.solver.bounds.demands import Demand
from nova_groupext.solver.bounds.demands import PartialDemand
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.model.host_arrays import Domains
from nova_groupext.solver.policies import base


class Checks:
    """Ordered comparisons of one problem's demand with its capacity."""

    def __init__(self, problem: problems.Problem) -> None:
        self._problem = problem
        self._arrays = host_arrays.of(problem)
        self._demands = demands.gather(problem, self._arrays)
        self._coverages = demands.CoverageFactory(
            problem, self._arrays, self._demands
        )
        self._policies = [
            (policy, self._coverages.of(policy.members))
            for policy in problem.topology.policies
            if policy.strict
        ]

    def proof(self) -> frozenset[Assumption] | None:
        """Return the assumptions of the first proof, None without one."""
        return next(self._proofs(), None)

    def shares(self) -> dict[Path, float]:
        """Return the demand of member sets as a share of their capacity."""
        return {
            path: demand.required / max(1, int(demand.max_members.sum()))
            for path, demand in self._demands.items()
            if demand.required
        }

    def reduced(self) -> problems.Problem:
        """Return the problem without the hosts that policies exclude."""
        return reduction.without_excluded(
            self._problem, self._arrays, self._demands
        )

    def _proofs(self) -> Iterator[frozenset[Assumption]]:
        yield from self._compare()
        for policy, coverage in self._policies:
            self._exclude_hosts(policy, coverage)
        one_domain = [
            (policy, coverage)
            for policy, coverage in self._policies
            if self._needs_one_domain(policy)
        ]
        # Small scopes first: their exclusions reduce larger domains.
        one_domain.sort(key=lambda p: self._problem.levels.index(p[0].scope))
        for policy, coverage in one_domain:
            yield from self._exclude_domains(policy, coverage)
        for policy, coverage in self._policies:
            yield from self._check_condition(policy, coverage)
        if self._policies:
            yield from self._compare()

    # -- demand against free capacity --------------------------------------

    def _compare(self) -> Iterator[frozenset[Assumption]]:
        """Yield a proof for every group of demands that cannot fit."""
        whole_cloud = Domains.whole_cloud(len(self._arrays.index))
        for group in self._groups():
            required = [
                PartialDemand(demand, demand.required) for demand in group
            ]
            [fits] = capacity.has_capacity(self._arrays, required, whole_cloud)
            if not fits:
                yield _group_assumptions(group)

    def _groups(self) -> Iterator[list[Demand]]:
        """Yield demands that share hosts: all within the hosts of one.

        Demands whose shares of capacity add up to less than one are skipped.
        """
        by_hosts = collections.defaultdict[int, list[Demand]](list)
        load = collections.defaultdict[int, float](float)
        for demand in self._demands.values():
            if demand.required:
                allowed = demand.max_alone > 0
                mask = int.from_bytes(np.packbits(allowed).tobytes())
                by_hosts[mask].append(demand)
                load[mask] += demand.required / max(
                    1, int(demand.max_members.sum())
                )
        for mask in list(by_hosts)[: tuning.MAX_HOST_SETS]:
            inside = [other for other in by_hosts if not other & ~mask]
            if sum(load[other] for other in inside) > capacity.FULL:
                yield list(
                    itertools.chain(*(by_hosts[other] for other in inside))
                )

    # -- hosts and domains that a policy excludes --------------------------

    def _exclude_hosts(self, policy: base.Policy, coverage: Coverage) -> None:
        """Exclude hosts that pinned or foreign consumers make impossible."""
        level = self._arrays.domains(policy.scope)
        domains = level.numbers
        allowed = domains >= 0
        assumed = frozenset[Assumption]({assumptions.of_policy(policy)})
        if policy.is_exclusive:
            allowed &= ~self._in_domains(policy, self._arrays.foreign())
            others = self._hosts_of_other_pinned(coverage)
            allowed &= ~self._in_domains(policy, others)
            self._exclude_other_members(policy, coverage)
        elif policy.domain_limit is not None:
            limits = policy.domain_limit - _pinned_counts(coverage, level)
            allowed &= np.append(limits > 0, False)[domains]
            by_host = np.append(limits, 0)[domains]
            for path in coverage.complete:
                self._demands[path].limit_members(by_host, assumed)
        elif len(coverage.pinned_hosts) and self._needs_one_domain(policy):
            # fixed.find_violated() refuses pinned hosts without a domain.
            allowed &= domains == domains[coverage.pinned_hosts[0]]
        if len(policy.sides) > 1:
            # A relationship binds a part only if another one has members.
            assumed |= self._covered_assumptions(coverage)
        for path in coverage.complete:
            self._demands[path].exclude_others(allowed, assumed)

    def _exclude_other_members(
        self, policy: base.Policy, coverage: Coverage
    ) -> None:
        """Exclude other members from domains of exclusive pinned members."""
        hosts = np.zeros(len(self._arrays.index), bool)
        hosts[coverage.pinned_hosts] = True
        allowed = ~self._in_domains(policy, hosts)
        assumed = frozenset({assumptions.of_policy(policy)})
        for path, demand in self._demands.items():
            if path not in coverage.unpinned:
                demand.exclude_others(allowed, assumed)

    def _hosts_of_other_pinned(self, coverage: Coverage) -> Bools:
        hosts = np.zeros(len(self._arrays.index), bool)
        for path, host_id in self._problem.pinned.items():
            if path not in coverage.paths:
                hosts[self._arrays.index[host_id]] = True
        return hosts

    def _in_domains(self, policy: base.Policy, hosts: Bools) -> Bools:
        """Return which hosts share a domain with any of some hosts."""
        level = self._arrays.domains(policy.scope)
        used = np.zeros(level.size + 1, bool)
        used[level.numbers[hosts]] = True
        # Hosts without a domain share none.
        used[-1] = False
        return used[level.numbers]

    def _needs_one_domain(self, policy: base.Policy) -> bool:
        """Check whether a policy forces all its members into one domain."""
        required = (
            self._coverages.of(side).is_required for side in policy.sides
        )
        return policy.binds_one_domain and (
            len(policy.sides) == 1 or sum(required) > 1
        )

    def _exclude_domains(
        self, policy: base.Policy, coverage: Coverage
    ) -> Iterator[frozenset[Assumption]]:
        """Exclude the domains that are too small for all members."""
        domains = self._arrays.domains(policy.scope)
        required = self._partial_demands(coverage.required)
        feasible = capacity.has_capacity(self._arrays, required, domains)
        assumed = self._covered_assumptions(coverage)
        assumed |= {assumptions.of_policy(policy)}
        for other, inside in self._limiting(coverage):
            feasible = self._meet_condition(other, inside, domains, feasible)
            assumed |= self._covered_assumptions(inside)
            assumed |= {assumptions.of_policy(other)}
        if any(coverage.required.values()) and not feasible.any():
            yield assumed
        allowed = np.append(feasible, False)[domains.numbers]
        for path in coverage.complete:
            self._demands[path].exclude_others(allowed, assumed)

    def _partial_demands(
        self, numbers: dict[Path, int]
    ) -> list[PartialDemand]:
        """Return some members of each of some member sets."""
        return [
            PartialDemand(self._demands[path], number)
            for path, number in numbers.items()
        ]

    def _covered_assumptions(
        self, coverage: Coverage, with_required: bool = True
    ) -> frozenset[Assumption]:
        """Return the assumptions behind a count of covered members.

        :param with_required: include the required members themselves
        """
        members = (
            assumptions.MemberAssumption(path)
            for path, number in coverage.required.items()
            if number and with_required
        )
        return frozenset(members).union(
            *(self._demands[path].assumed for path in coverage.unpinned)
        )

    # -- policies that limit the members of a domain -----------------------

    def _limiting(
        self, outer: Coverage
    ) -> Iterator[tuple[base.Policy, Coverage]]:
        """Yield limiting policies with their part of another coverage."""
        for policy, coverage in self._policies:
            is_inside = coverage.paths <= outer.paths
            if policy.domain_limit is not None and not is_inside:
                # A limit holds for every subset of the members.
                shared = coverage.paths & outer.paths
                if len(shared) > 1:
                    yield policy, self._coverages.of(shared)
            elif is_inside and _has_condition(policy):
                yield policy, coverage

    def _meet_condition(
        self,
        policy: base.Policy,
        coverage: Coverage,
        domains: Domains,
        feasible: Bools,
    ) -> Bools:
        """Return which feasible domains meet the condition of a policy."""
        outer, inner = domains.numbers, self._arrays.domains(policy.scope)
        has_both = (outer >= 0) & (inner.numbers >= 0)
        cells = np.full(len(outer), -1)
        cells[has_both] = (outer * inner.size + inner.numbers)[has_both]
        keys, cells[has_both] = np.unique(cells[has_both], return_inverse=True)
        limits = self._limits(policy, coverage, Domains(cells, len(keys)))
        # Cells, of an outer and an inner domain, are sorted by the outer one.
        ends = np.searchsorted(keys, np.arange(domains.size + 1) * inner.size)
        return np.array(
            [
                is_feasible
                and _meets_condition(policy, coverage, limits[start:end])
                for is_feasible, start, end in zip(
                    feasible, ends[:-1], ends[1:], strict=True
                )
            ],
            bool,
        )

    def _limits(
        self, policy: base.Policy, coverage: Coverage, cells: Domains
    ) -> Ints:
        """Return an upper bound on covered members per cell.

        :param cells: domains, or parts of domains, of the policy's scope
        """
        limits = capacity.bound_members(
            self._partial_demands(coverage.unpinned), cells
        )
        pinned = _pinned_counts(coverage, cells)
        if policy.domain_limit is not None:
            return np.minimum(limits, policy.domain_limit - pinned)
        return limits + pinned

    def _check_condition(
        self, policy: base.Policy, coverage: Coverage
    ) -> Iterator[frozenset[Assumption]]:
        """Yield a proof if a policy cannot hold in its domains."""
        if _has_condition(policy):
            domains = self._arrays.domains(policy.scope)
            limits = self._limits(policy, coverage, domains)
            if not _meets_condition(policy, coverage, limits):
                yield self._covered_assumptions(
                    coverage, with_required=policy.is_bound_by_required
                ) | {assumptions.of_policy(policy)}


def _pinned_counts(coverage: Coverage, cells: Domains) -> Ints:
    used = cells.numbers[coverage.pinned_hosts]
    return np.bincount(used[used >= 0], minlength=cells.size)


def _has_condition(policy: base.Policy) -> bool:
    return policy.domain_limit is not None or policy.bound is not None


def _meets_condition(
    policy: base.Policy, coverage: Coverage, limits: Ints
) -> bool:
    """Check the necessary condition of a policy.

    :param limits: upper bounds on the covered members of each domain: for a
        limit per domain without the pinned ones, else with them
    """
    required = sum(coverage.required.values())
    if policy.domain_limit is not None:
        return required <= int(limits.sum())
    pinned = len(coverage.pinned_hosts)
    members = sum(coverage.unpinned.values())
    return policy.bound is None or policy.bound(
        limits, required + pinned, members + pinned
    )


def _group_assumptions(
    group: Sequence[Demand],
) -> frozenset[Assumption]:
    """Return the assumptions behind the demands of a group."""
    members = frozenset(
        assumptions.MemberAssumption(demand.member_set.path)
        for demand in group
    )
    return members.union(*(demand.assumed for demand in group))
