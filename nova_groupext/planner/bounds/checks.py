# SPDX-License-Identifier: Apache-2.0
"""Who has to come against the most that there may be room for.

First without policies. Then every policy rules out hosts for those it covers:
those without a domain, those that pins or others make impossible, and the
domains that are too small for all who have to be together. What is left is
compared once more. A proof names the members it counted and every policy that
ruled out a host for them.
"""

import collections
import itertools

import numpy as np

from nova_groupext.planner import tags
from nova_groupext.planner.bounds import crowds as crowd
from nova_groupext.planner.bounds import limits
from nova_groupext.planner.bounds import narrowing
from nova_groupext.planner.bounds import rooms

# More groups of members than this are not compared on their own.
_MOST_GROUPS = 200


class Checks:
    """All that is compared of a problem, in one order."""

    def __init__(self, problem, cloud):
        self._problem = problem
        self._cloud = cloud
        self._crowds = crowd.gather(problem, cloud)
        self._stem_of = {m.path: m.stem for m in problem.topology.members}
        self._covers = crowd.Covers(problem, cloud, self._crowds)
        self._policies = [
            (policy, self._covers.of(tuple(itertools.chain(*policy.sides))))
            for policy in problem.topology.policies
            if policy.strict
        ]

    def proof(self):
        """The first proof: tags that leave no plan, or None."""
        return next(self._proofs(), None)

    def shares(self):
        """Stem path -> what has to come, as a share of the room for it."""
        return {
            path: each.missing / max(1, int(each.most.sum()))
            for path, each in self._crowds.items()
            if each.missing
        }

    def narrowed(self):
        """The problem without the hosts that policies rule out."""
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
        # What a small domain cannot take matters for the larger ones.
        binding.sort(key=lambda p: self._problem.levels.index(p[0].scope))
        for policy, cover in binding:
            yield from self._rule_out_domains(policy, cover)
        for policy, cover in self._policies:
            yield from self._count(policy, cover)
        if self._policies:
            yield from self._compare()

    # -- what has to come against all that is free -------------------------

    def _compare(self):
        """Compare those who share some hosts with these hosts."""
        everywhere = np.zeros(len(self._cloud.index), np.int64), 1
        for group in self._groups():
            wanted = [(each, each.missing) for each in group]
            if not rooms.holds(self._cloud, wanted, everywhere)[0]:
                yield _names(group)

    def _groups(self):
        """Crowds whose hosts are all among those of one of them.

        Left out are those that take less than all there is together.
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
            if sum(load[other] for other in inside) > rooms.FULL:
                yield [each for other in inside for each in hosts[other]]

    # -- where the members under a policy can be at all --------------------

    def _rule_out_hosts(self, policy, cover):
        """Rule out hosts that the pins, or others, make impossible."""
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
                self._crowds[path].limit(most, frozenset({tags.rule(policy)}))
        elif len(cover.pins) and self._is_binding(policy):
            # Without a domain they would break it by themselves.
            may &= domains == domains[cover.pins[0]]
        why = frozenset({tags.rule(policy)})
        if len(policy.sides) > 1:
            # Both ends have to be there for one to bind the other.
            why |= self._why(cover)
        for path in cover.whole:
            self._crowds[path].rule_out(may, why)

    def _keep_out(self, policy, cover):
        """Rule out the domains that pins of an exclusive policy use."""
        own = np.zeros(len(self._cloud.index), bool)
        own[cover.pins] = True
        may = ~self._in_domains(policy, own)
        for path, each in self._crowds.items():
            if path not in cover.crowds:
                each.rule_out(may, frozenset({tags.rule(policy)}))

    def _pinned_elsewhere(self, cover):
        hosts = np.zeros(len(self._cloud.index), bool)
        for path, host_id in self._problem.pinned.items():
            if path not in cover.paths:
                hosts[self._cloud.index[host_id]] = True
        return hosts

    def _in_domains(self, policy, hosts):
        """Hosts that share a domain with any of some hosts."""
        domains, size = self._cloud.domains(policy.scope)
        used = np.zeros(size + 1, bool)
        used[domains[hosts]] = True
        # Those without a domain share none.
        used[-1] = False
        return used[domains]

    def _is_binding(self, policy):
        """Whether all under a policy have to be in one domain."""
        if policy.type == 'affinity':
            return True
        return policy.type == 'network-proximity' and (
            len(policy.sides) == 1
            or all(self._covers.of(side).is_needed for side in policy.sides)
        )

    def _rule_out_domains(self, policy, cover):
        """Rule out the domains that are too small for all of them."""
        domains = self._cloud.domains(policy.scope)
        wanted = [
            (self._crowds[path], number)
            for path, number in cover.missing.items()
        ]
        fine = rooms.holds(self._cloud, wanted, domains)
        why = self._why(cover) | {tags.rule(policy)}
        for other, others in self._limiting(cover):
            fine = self._limit(other, others, domains, fine)
            why |= self._why(others) | {tags.rule(other)}
        if any(cover.missing.values()) and not fine.any():
            yield why
        may = np.append(fine, False)[domains[0]]
        for path in cover.whole:
            self._crowds[path].rule_out(may, why)

    def _why(self, cover, is_needed=True):
        """Who is counted under a policy, and why they cannot be elsewhere.

        :param is_needed: whether it matters that some have to come
        """
        who = (
            tags.Members(path)
            for path, number in cover.missing.items()
            if number and is_needed
        )
        return frozenset(who).union(
            *(self._crowds[path].why for path in cover.crowds)
        )

    # -- policies that limit how many can be in a domain -------------------

    def _limiting(self, cover):
        """Policies with limits, and what they cover of those together."""
        for policy, inside in self._policies:
            is_inside = inside.paths <= cover.paths
            if policy.type == 'anti-affinity' and not is_inside:
                # It holds for any part of the members as well.
                shared = inside.paths & cover.paths
                if len(shared) > 1:
                    yield policy, self._covers.of(shared)
            elif policy.type in limits.LIMITS and is_inside:
                yield policy, inside

    def _limit(self, policy, cover, domains, fine):
        """In which of some larger domains all under a policy may be."""
        numbers, size = domains
        inner, inner_size = self._cloud.domains(policy.scope)
        both = (numbers >= 0) & (inner >= 0)
        cells = np.full(len(numbers), -1)
        cells[both] = numbers[both] * inner_size + inner[both]
        known, cells[both] = np.unique(cells[both], return_inverse=True)
        room = self._room(policy, cover, (cells, len(known)))
        # Cells of one domain follow one another.
        ends = np.searchsorted(known, np.arange(size + 1) * inner_size)
        may = limits.LIMITS[policy.type]
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
        """How many of those under a policy each cell may take.

        :param cells: as domains are given, no larger than the policy's
        """
        wanted = [(self._crowds[path], n) for path, n in cover.crowds.items()]
        room = rooms.members(wanted, cells)
        pins = self._pins(cover, cells)
        if policy.type == 'anti-affinity':
            return np.minimum(room, policy.max_per_domain - pins)
        return room + pins

    def _pins(self, cover, cells):
        numbers, size = cells
        used = numbers[cover.pins]
        return np.bincount(used[used >= 0], minlength=size)

    def _count(self, policy, cover):
        """Compare a policy with what its domains may take."""
        if policy.type in limits.LIMITS:
            domains = self._cloud.domains(policy.scope)
            room = self._room(policy, cover, domains)
            if not limits.LIMITS[policy.type](policy, cover, room):
                # Whoever has to come, too few would survive.
                is_needed = policy.type != 'survive'
                yield self._why(cover, is_needed) | {tags.rule(policy)}


def _names(group):
    """Who is counted, and why they cannot be elsewhere."""
    found = frozenset(tags.Members(each.stem.path) for each in group)
    return found.union(*(each.why for each in group))
