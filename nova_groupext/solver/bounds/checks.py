# SPDX-License-Identifier: Apache-2.0
"""Comparisons of demand with an upper bound on capacity.

The first comparison ignores policies. Each strict policy then excludes hosts
for the members it covers: hosts without a domain, hosts that pinned members
or foreign consumers make impossible, and domains too small for the members
that must share one. The last comparison uses the remaining hosts. A proof
names the members it counts and every policy that excluded a host for them.
"""

import collections
import itertools

import numpy as np

from nova_groupext.solver.bounds import capacity
from nova_groupext.solver.bounds import demand
from nova_groupext.solver.bounds import narrowing
from nova_groupext.solver.bounds import policy_bounds
from nova_groupext.solver.model import assumptions

# Largest number of different host sets to compare.
_MOST_GROUPS = 200


class Checks:
    """Ordered comparisons of one problem's demand with its capacity."""

    def __init__(self, problem, cloud):
        self._problem = problem
        self._cloud = cloud
        self._crowds = demand.gather(problem, cloud)
        self._stem_of = {m.path: m.stem for m in problem.topology.members}
        self._covers = demand.Covers(problem, cloud, self._crowds)
        self._policies = [
            (policy, self._covers.of(tuple(itertools.chain(*policy.sides))))
            for policy in problem.topology.policies
            if policy.strict
        ]

    def proof(self):
        """Return the assumptions of the first proof, None without one."""
        return next(self._proofs(), None)

    def shares(self):
        """Return {stem path: demand as a share of the capacity for it}."""
        return {
            path: each.missing / max(1, int(each.most.sum()))
            for path, each in self._crowds.items()
            if each.missing
        }

    def narrowed(self):
        """Return the problem without the hosts that policies exclude."""
        return narrowing.narrow(self._problem, self._cloud, self._crowds)

    def _proofs(self):
        yield from self._compare()
        for policy, cover in self._policies:
            self._rule_out_hosts(policy, cover)
        binding = [
            (policy, cover)
            for policy, cover in self._policies
            if self._is_binding(policy)
        ]
        # Small scopes first: their exclusions reduce larger domains.
        binding.sort(key=lambda p: self._problem.levels.index(p[0].scope))
        for policy, cover in binding:
            yield from self._rule_out_domains(policy, cover)
        for policy, cover in self._policies:
            yield from self._count(policy, cover)
        if self._policies:
            yield from self._compare()

    # -- demand against free capacity --------------------------------------

    def _compare(self):
        """Yield a proof for every group of demands that cannot fit."""
        everywhere = np.zeros(len(self._cloud.index), np.int64), 1
        for group in self._groups():
            wanted = [(each, each.missing) for each in group]
            if not capacity.has_capacity(self._cloud, wanted, everywhere)[0]:
                yield _names(group)

    def _groups(self):
        """Yield demands that share hosts: all within the hosts of one.

        Demands whose shares of capacity add up to less than one are skipped.
        """
        hosts = collections.defaultdict(list)
        load = collections.Counter()
        for each in self._crowds.values():
            if each.missing:
                mask = int.from_bytes(np.packbits(each.fits > 0).tobytes())
                hosts[mask].append(each)
                load[mask] += each.missing / max(1, each.most.sum())
        for mask in list(hosts)[:_MOST_GROUPS]:
            inside = [other for other in hosts if not other & ~mask]
            if sum(load[other] for other in inside) > capacity.FULL:
                yield [each for other in inside for each in hosts[other]]

    # -- hosts and domains that a policy excludes --------------------------

    def _rule_out_hosts(self, policy, cover):
        """Exclude hosts that pinned or foreign consumers make impossible."""
        domains, _size = self._cloud.domains(policy.scope)
        may = domains >= 0
        if policy.type == 'exclusive':
            may &= ~self._in_domains(policy, self._cloud.foreign())
            may &= ~self._in_domains(policy, self._pinned_elsewhere(cover))
            self._keep_out(policy, cover)
        elif policy.type == 'anti-affinity':
            pins = self._pins(cover, self._cloud.domains(policy.scope))
            room = policy.max_per_domain - pins
            may &= np.append(room > 0, False)[domains]
            most = np.append(room, 0)[domains]
            for path in cover.whole:
                self._crowds[path].limit(
                    most, frozenset({assumptions.rule(policy)})
                )
        elif len(cover.pins) and self._is_binding(policy):
            # The pinned hosts have a domain, else fixed.broken() finds it.
            may &= domains == domains[cover.pins[0]]
        why = frozenset({assumptions.rule(policy)})
        if len(policy.sides) > 1:
            # A relationship binds a part only if another one has members.
            why |= self._why(cover)
        for path in cover.whole:
            self._crowds[path].rule_out(may, why)

    def _keep_out(self, policy, cover):
        """Exclude other members from domains of exclusive pinned members."""
        own = np.zeros(len(self._cloud.index), bool)
        own[cover.pins] = True
        may = ~self._in_domains(policy, own)
        for path, each in self._crowds.items():
            if path not in cover.crowds:
                each.rule_out(may, frozenset({assumptions.rule(policy)}))

    def _pinned_elsewhere(self, cover):
        hosts = np.zeros(len(self._cloud.index), bool)
        for path, host_id in self._problem.pinned.items():
            if path not in cover.paths:
                hosts[self._cloud.index[host_id]] = True
        return hosts

    def _in_domains(self, policy, hosts):
        """Return which hosts share a domain with any of some hosts."""
        domains, size = self._cloud.domains(policy.scope)
        used = np.zeros(size + 1, bool)
        used[domains[hosts]] = True
        # Hosts without a domain share none.
        used[-1] = False
        return used[domains]

    def _is_binding(self, policy):
        """Check whether a policy forces all its members into one domain."""
        if policy.type == 'affinity':
            return True
        needed = (self._covers.of(side).is_needed for side in policy.sides)
        return policy.type == 'network-proximity' and (
            len(policy.sides) == 1 or sum(needed) > 1
        )

    def _rule_out_domains(self, policy, cover):
        """Exclude the domains that are too small for all members."""
        domains = self._cloud.domains(policy.scope)
        wanted = [
            (self._crowds[path], number)
            for path, number in cover.missing.items()
        ]
        fine = capacity.has_capacity(self._cloud, wanted, domains)
        why = self._why(cover) | {assumptions.rule(policy)}
        for other, others in self._limiting(cover):
            fine = self._limit(other, others, domains, fine)
            why |= self._why(others) | {assumptions.rule(other)}
        if any(cover.missing.values()) and not fine.any():
            yield why
        may = np.append(fine, False)[domains[0]]
        for path in cover.whole:
            self._crowds[path].rule_out(may, why)

    def _why(self, cover, is_needed=True):
        """Return the assumptions behind a count of covered members.

        :param is_needed: include the required members themselves
        """
        who = (
            assumptions.MemberAssumption(path)
            for path, number in cover.missing.items()
            if number and is_needed
        )
        return frozenset(who).union(
            *(self._crowds[path].why for path in cover.crowds)
        )

    # -- policies that limit the members of a domain -----------------------

    def _limiting(self, cover):
        """Yield limiting policies with their part of another Coverage."""
        for policy, inside in self._policies:
            is_inside = inside.paths <= cover.paths
            if policy.type == 'anti-affinity' and not is_inside:
                # anti-affinity holds for every subset of its members.
                shared = inside.paths & cover.paths
                if len(shared) > 1:
                    yield policy, self._covers.of(shared)
            elif policy.type in policy_bounds.LIMITS and is_inside:
                yield policy, inside

    def _limit(self, policy, cover, domains, fine):
        """Return `fine` without the domains where a policy cannot hold."""
        numbers, size = domains
        inner, inner_size = self._cloud.domains(policy.scope)
        both = (numbers >= 0) & (inner >= 0)
        cells = np.full(len(numbers), -1)
        cells[both] = numbers[both] * inner_size + inner[both]
        known, cells[both] = np.unique(cells[both], return_inverse=True)
        room = self._room(policy, cover, (cells, len(known)))
        # Cells, of an outer and an inner domain, are sorted by the outer one.
        ends = np.searchsorted(known, np.arange(size + 1) * inner_size)
        may = policy_bounds.LIMITS[policy.type]
        return np.array(
            [
                is_fine and may(policy, cover, room[start:end])
                for is_fine, start, end in zip(
                    fine, ends[:-1], ends[1:], strict=True
                )
            ],
            bool,
        )

    def _room(self, policy, cover, cells):
        """Return an upper bound on covered members per cell.

        :param cells: (cell number of each host, number of cells); a cell is
            no larger than the policy's domains
        """
        wanted = [(self._crowds[path], n) for path, n in cover.crowds.items()]
        room = capacity.members(wanted, cells)
        pins = self._pins(cover, cells)
        if policy.type == 'anti-affinity':
            return np.minimum(room, policy.max_per_domain - pins)
        return room + pins

    def _pins(self, cover, cells):
        numbers, size = cells
        used = numbers[cover.pins]
        return np.bincount(used[used >= 0], minlength=size)

    def _count(self, policy, cover):
        """Yield a proof if a policy cannot hold in its domains."""
        if policy.type in policy_bounds.LIMITS:
            domains = self._cloud.domains(policy.scope)
            room = self._room(policy, cover, domains)
            if not policy_bounds.LIMITS[policy.type](policy, cover, room):
                # The bound of survive does not use required members.
                is_needed = policy.type != 'survive'
                yield self._why(cover, is_needed) | {assumptions.rule(policy)}


def _names(group):
    """Return the assumptions behind the demands of a group."""
    found = frozenset(
        assumptions.MemberAssumption(each.stem.path) for each in group
    )
    return found.union(*(each.why for each in group))
