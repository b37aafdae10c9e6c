# SPDX-License-Identifier: Apache-2.0
"""Definition of every policy: violations and costs of a given plan.

One pure function per policy type returns its violation, a whole number before
weights. The functions are independent of every search: a plan leaves the
solver only if they accept it.

A placement meets a strict policy exactly when the violation is 0 and the host
of every covered placed member has a domain of the policy's scope.
"""

import collections
import dataclasses
import fractions
import itertools
import math

from nova_groupext.solver.policies import distances


@dataclasses.dataclass(frozen=True)
class Plan:
    """Assignment of members to hosts.

    :ivar placement: member path -> host id, pinned members and outsiders
        included
    :ivar alternative: member path -> index of the request used, for members
        on a host where their class has alternatives
    """

    placement: dict
    alternative: dict

    def only(self, paths):
        """Return the plan of some of the members."""
        return Plan(
            *(
                {
                    path: value
                    for path, value in mapping.items()
                    if path in paths
                }
                for mapping in (self.placement, self.alternative)
            )
        )

    def without(self, paths):
        """Return the plan of all but some members."""
        return self.only(self.placement.keys() - paths)


def as_plan(problem, placement, alternative):
    """Return the Plan of an answer, with the outsiders that it omits."""
    return Plan({**problem.outsiders, **placement}, alternative)


@dataclasses.dataclass(frozen=True)
class Violation:
    """One reason why a plan is infeasible.

    :ivar code: stable reason code, ``vrt.spread``
    :ivar at: path of the member, member set or policy, or id of the
        overloaded host
    """

    code: str
    at: str


def find(problem, plan):
    """Return all violations of a plan, an empty list if it is feasible."""
    return [
        *_placement_violations(problem, plan),
        *_capacity_violations(problem, plan),
        *_count_violations(problem, plan),
        *(
            Violation(code(policy), policy.at)
            for policy in problem.topology.policies
            if policy.strict and is_violated(problem, policy, plan.placement)
        ),
    ]


def code(policy):
    """Return the reason code of a policy."""
    return f'vrt.{policy.type}'


def is_violated(problem, policy, placement):
    """Check whether a placement violates a policy, taken as strict."""
    return bool(
        None in count(problem, policy, placement)
        or amount(problem, policy, placement)
    )


def amount(problem, policy, placement):
    """Return a policy's violation, before weight and bandwidth."""
    return _AMOUNTS[policy.type](problem, policy, placement)


def count(problem, policy, placement):
    """Return a Counter of placed members by domain, None if without."""
    return collections.Counter(
        problem.domain(placement[path], policy.scope)
        for path in _covered(policy)
        if path in placement
    )


def violation_key(policy):
    """Return the policy without the fields that do not affect its violation.

    Policies with the same result have the same violation for every placement;
    only its cost may differ.
    """
    return dataclasses.replace(
        policy, at='', where='', strict=True, weight=1, bandwidth=1
    )


def unit_cost(policy):
    """Return the cost of one unit of violation, as an exact Fraction."""
    weight = fractions.Fraction(str(policy.weight))
    if policy.type == 'network-proximity':
        return weight * fractions.Fraction(str(policy.bandwidth))
    return weight


def costs(problem, placement):
    """Return {soft policy: exact cost} of all costs above 0."""
    positive, amounts = {}, {}
    for policy in problem.topology.policies:
        if not policy.strict:
            key = violation_key(policy)
            if key not in amounts:
                amounts[key] = amount(problem, policy, placement)
            cost = unit_cost(policy) * amounts[key]
            if cost:
                positive[policy] = cost
    return positive


def soft_cost(problem, placement):
    """Return the exact sum of all soft costs."""
    return sum(costs(problem, placement).values(), fractions.Fraction(0))


def preference(problem, placement):
    """Return the exact sum of the operator's scores over all members."""
    scores = (
        problem.class_of[path].scores.get(host_id, 0)
        for path, host_id in placement.items()
    )
    exact = (fractions.Fraction(str(score)) for score in scores)
    return sum(exact, fractions.Fraction(0))


def objective(problem, plan):
    """Return the objective vector: a better plan has a greater one."""
    placement = plan.placement
    cost = soft_cost(problem, placement)
    return len(placement), -cost, preference(problem, placement)


def _affinity(problem, policy, placement):
    used = count(problem, policy, placement)
    return max(0, len(used) - 1)


def _anti_affinity(problem, policy, placement):
    used = count(problem, policy, placement)
    # The first excess member costs 1, the next one 2 more, and so on: 2 and
    # 2 are better than 3 and 1.
    excesses = (max(0, n - policy.max_per_domain) for n in used.values())
    return sum(excess * (excess + 1) // 2 for excess in excesses)


def _spread(problem, policy, placement):
    used = count(problem, policy, placement)
    if not used:
        return 0
    missing = min(policy.min_domains, used.total()) - len(used)
    skew = max(used.values()) - min(used.values())
    return max(0, missing) + max(0, skew - policy.max_skew)


def _survive(problem, policy, placement):
    used = count(problem, policy, placement)
    lost = sum(n for _, n in used.most_common(policy.failures))
    return max(0, policy.min_members - (used.total() - lost))


def _exclusive(problem, policy, placement):
    covered = set(_covered(policy))
    used = count(problem, policy, placement)
    hosts = [host.id for host in problem.hosts.values() if host.foreign]
    hosts += [
        host_id for path, host_id in placement.items() if path not in covered
    ]
    domains = {problem.domain(host_id, policy.scope) for host_id in hosts}
    return len(domains.intersection(used))


def _network_proximity(problem, policy, placement):
    sides = [
        collections.Counter(
            placement[path] for path in side if path in placement
        )
        for side in policy.sides
    ]
    hosts = list(dict.fromkeys(itertools.chain(*sides)))
    total = len(problem.levels) * _pairs(sides, hosts)
    for levels, weight in distances.weights(problem.levels, policy.scope):
        for group in distances.group_hosts(problem, hosts, levels):
            total += weight * _pairs(sides, group)
    return total


def _pairs(sides, hosts):
    """Return the number of pairs within some hosts.

    :param sides: Counters of members by host: of several parts, with pairs
        across two parts; or of one set, with pairs inside it
    """
    sizes = [sum(side[host] for host in hosts) for side in sides]
    if len(sizes) == 1:
        return math.comb(sizes[0], 2)
    return math.comb(sum(sizes), 2) - sum(math.comb(n, 2) for n in sizes)


_AMOUNTS = {
    'affinity': _affinity,
    'anti-affinity': _anti_affinity,
    'exclusive': _exclusive,
    'network-proximity': _network_proximity,
    'spread': _spread,
    'survive': _survive,
}


def _covered(policy):
    return itertools.chain(*policy.sides)


def _placement_violations(problem, plan):
    """Yield violations for members on hosts that they may not use."""
    for path, host_id in plan.placement.items():
        if path in problem.pinned:
            if host_id != problem.pinned[path]:
                yield Violation('vrt.pinned', path)
        elif host_id not in problem.class_of[path].hosts:
            yield Violation('vrt.hosts', path)
    for path in problem.pinned.keys() - plan.placement.keys():
        yield Violation('vrt.pinned', path)


def _capacity_violations(problem, plan):
    """Yield violations for hosts without enough capacity."""
    used = collections.defaultdict(collections.Counter)
    for path, host_id in plan.placement.items():
        if path not in problem.pinned:
            options = problem.class_of[path].options(host_id)
            used[host_id].update(options[plan.alternative.get(path, 0)])
    for host_id, amounts in used.items():
        free = problem.hosts[host_id].free
        if any(amount > free.get(r, 0) for r, amount in amounts.items()):
            yield Violation('vrt.capacity', host_id)


def _count_violations(problem, plan):
    """Yield violations for member sets with too few placed members."""
    for member_set in problem.topology.member_sets:
        placed = sum(m.path in plan.placement for m in member_set.members)
        if placed < member_set.min_count:
            yield Violation('vrt.members', member_set.path)
