# SPDX-License-Identifier: Apache-2.0
"""What every policy means, on a plan that lies on the table.

One pure function per policy type gives its cost before weights, a whole
number. Nothing here knows how plans are found, so no plan leaves the planner
unless these functions agree with it.

A strict policy is kept exactly when its cost is 0 and every member it covers
stands in some domain of its scope.
"""

import collections
import dataclasses
import fractions
import itertools

from nova_groupext.planner import distances


@dataclasses.dataclass(frozen=True)
class Plan:
    """Who goes where.

    :ivar placement: member path -> host id, pinned members included
    :ivar alternative: member path -> index of the request taken, for members
        on a host where their class has alternatives
    """

    placement: dict
    alternative: dict

    def only(self, paths):
        """The same for some of the members."""
        return Plan(
            *(
                {path: each for path, each in by.items() if path in paths}
                for by in (self.placement, self.alternative)
            )
        )

    def without(self, paths):
        """The same for all but some members."""
        return self.only(self.placement.keys() - paths)


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that makes a plan unlawful.

    :ivar code: stable reason code, ``vrt.spread``
    :ivar at: path of what is at fault: a member, a stem, a policy's place; or
        the id of a host that is too full
    """

    code: str
    at: str


def faults(problem, plan):
    """All Faults of a plan, none if it is lawful."""
    return [
        *_seat_faults(problem, plan),
        *_capacity_faults(problem, plan),
        *_count_faults(problem, plan),
        *(
            Fault(code(policy), policy.at)
            for policy in problem.topology.policies
            if policy.strict and is_broken(problem, policy, plan.placement)
        ),
    ]


def code(policy):
    """The reason code of a policy that is in the way."""
    return f'vrt.{policy.type}'


def is_broken(problem, policy, placement):
    """Whether a placement breaks the policy, taken as a strict one."""
    return bool(
        None in count(problem, policy, placement)
        or breach(problem, policy, placement)
    )


def breach(problem, policy, placement):
    """How far a placement is off a policy, before weight and bandwidth."""
    return _BREACHES[policy.type](problem, policy, placement)


def count(problem, policy, placement):
    """Placed members covered by a policy, by domain; None is one of them."""
    return collections.Counter(
        problem.domain(placement[path], policy.scope)
        for path in _covered(policy)
        if path in placement
    )


def meaning(policy):
    """What tells how far a placement is off a policy.

    Two policies that mean the same are broken by the same placements, and as
    much: only what that costs may differ.
    """
    return dataclasses.replace(
        policy, at='', where='', strict=True, weight=1, bandwidth=1
    )


def price(policy):
    """What one unit of breach costs, as an exact Fraction."""
    weight = fractions.Fraction(str(policy.weight))
    if policy.type == 'network-proximity':
        return weight * fractions.Fraction(str(policy.bandwidth))
    return weight


def costs(problem, placement):
    """Soft policy -> exact cost, for all that cost anything."""
    found, breaches = {}, {}
    for policy in problem.topology.policies:
        if not policy.strict:
            key = meaning(policy)
            if key not in breaches:
                breaches[key] = breach(problem, policy, placement)
            cost = price(policy) * breaches[key]
            if cost:
                found[policy] = cost
    return found


def soft_cost(problem, placement):
    """Exact sum of all costs."""
    return sum(costs(problem, placement).values(), fractions.Fraction(0))


def preference(problem, placement):
    """Exact sum of the operator's scores over all placed members."""
    scores = (
        problem.class_of[path].scores.get(host_id, 0)
        for path, host_id in placement.items()
    )
    exact = (fractions.Fraction(str(score)) for score in scores)
    return sum(exact, fractions.Fraction(0))


def rank(problem, plan):
    """The better of two lawful plans has the greater rank."""
    placement = plan.placement
    cost = soft_cost(problem, placement)
    return len(placement), -cost, preference(problem, placement)


def _affinity(problem, policy, placement):
    used = count(problem, policy, placement)
    return max(0, len(used) - 1)


def _anti_affinity(problem, policy, placement):
    used = count(problem, policy, placement)
    # The first one too many costs 1, the next one 2 more, and so on: 2 and 2
    # are better than 3 and 1.
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
    taken = [h.id for h in problem.hosts.values() if h.foreign]
    taken += [h for path, h in placement.items() if path not in covered]
    shared = {problem.domain(host_id, policy.scope) for host_id in taken}
    return len(shared.intersection(used))


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
        for group in distances.agree(problem, hosts, levels):
            total += weight * _pairs(sides, group)
    return total


def _pairs(sides, hosts):
    """How many pairs there are within some hosts.

    :param sides: Counters of members by host; two of them, or one of which
        the pairs are
    """
    sizes = [sum(side[host] for host in hosts) for side in sides]
    if len(sizes) == 1:
        return sizes[0] * (sizes[0] - 1) // 2
    return sizes[0] * sizes[1]


_BREACHES = {
    'affinity': _affinity,
    'anti-affinity': _anti_affinity,
    'exclusive': _exclusive,
    'network-proximity': _network_proximity,
    'spread': _spread,
    'survive': _survive,
}


def _covered(policy):
    return itertools.chain(*policy.sides)


def _seat_faults(problem, plan):
    """Members that stand where they may not."""
    for path, host_id in plan.placement.items():
        if path in problem.pinned:
            if host_id != problem.pinned[path]:
                yield Fault('vrt.pinned', path)
        elif host_id not in problem.class_of[path].hosts:
            yield Fault('vrt.hosts', path)
    for path in problem.pinned.keys() - plan.placement.keys():
        yield Fault('vrt.pinned', path)


def _capacity_faults(problem, plan):
    """Hosts that would be too full."""
    used = collections.defaultdict(collections.Counter)
    for path, host_id in plan.placement.items():
        if path not in problem.pinned:
            ways = problem.class_of[path].ways(host_id)
            used[host_id].update(ways[plan.alternative.get(path, 0)])
    for host_id, amounts in used.items():
        free = problem.hosts[host_id].free
        if any(amount > free.get(r, 0) for r, amount in amounts.items()):
            yield Fault('vrt.capacity', host_id)


def _count_faults(problem, plan):
    """Stems of which too few are placed."""
    for stem in problem.topology.stems:
        placed = sum(m.path in plan.placement for m in stem.members)
        if placed < stem.min_count:
            yield Fault('vrt.members', stem.path)
