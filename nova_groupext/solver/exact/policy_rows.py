# SPDX-License-Identifier: Apache-2.0
"""Policies as rows of the integer program.

One function per policy type adds rows and yields *excesses*: expressions that
a strict policy keeps at 0 or below. Under a soft policy the sum of their
positive parts is violations.amount(), except for anti-affinity, where each
further member in a domain costs 1 more than the one before.
"""

from highspy import highs

from nova_groupext.solver.exact import proximity


def add_strict(model, policy):
    """Add the rows of a strict policy."""
    for excess in _excesses(model, policy):
        model.row(excess <= 0)


def add_soft(model, policy):
    """Add the rows of a soft policy.

    :returns: expression of its violation, valid where it is minimised
    """
    if policy.type == 'anti-affinity':
        return highs.qsum(_crowds(model, policy))
    breaches = []
    for excess in _excesses(model, policy):
        breach = model.column()
        model.row(excess <= breach)
        breaches.append(breach)
    return highs.qsum(breaches)


def _crowds(model, policy):
    """Yield the violation of each domain that may get too many members.

    Each step costs more than the last, so minimisation keeps their order.
    """
    for count in _crowded(model, policy, covered(model, policy)):
        over = count.high - policy.max_per_domain
        steps = [model.column(1) for _ in range(over)]
        model.row(count.expr - policy.max_per_domain <= highs.qsum(steps))
        yield highs.qsum([step * n for n, step in enumerate(steps, 1)])


def _excesses(model, policy):
    if policy.type == 'network-proximity':
        if policy.strict:
            return _all_together(model, policy)
        return proximity.excesses(model, policy)
    return _FORMULAS[policy.type](model, policy, covered(model, policy))


def covered(model, policy):
    """Return the Side of all members under a policy."""
    return model.side(frozenset().union(*policy.sides))


def _affinity(model, policy, side):
    counts = model.counts(side, policy.scope)
    if len(counts) > 1:
        yield highs.qsum(map(model.used, counts.values()), -1)


def _anti_affinity(model, policy, side):
    for count in _crowded(model, policy, side):
        yield count.expr - policy.max_per_domain


def _crowded(model, policy, side):
    """Return the Counts of the domains that may get too many members."""
    counts = model.counts(side, policy.scope).values()
    return [count for count in counts if count.high > policy.max_per_domain]


def _spread(model, policy, side):
    counts = model.counts(side, policy.scope).values()
    used = highs.qsum(map(model.used, counts))
    yield _at_most(model, model.size(side), policy.min_domains) - used
    most = max((count.high for count in counts), default=0)
    if most > policy.max_skew + 1:
        largest = model.column()
        smallest = model.column(most)
        for count in counts:
            model.row(largest >= count.expr)
            unused = 1 - model.used(count)
            model.row(smallest <= count.expr + most * unused)
        yield largest - smallest - policy.max_skew


def _survive(model, policy, side):
    # The sum of the k largest numbers is the minimum over t of
    # k * t + the sum of the excesses of all numbers over t.
    threshold = model.column()
    lost = threshold * policy.failures
    for count in model.counts(side, policy.scope).values():
        above = model.column()
        model.row(count.expr - threshold <= above)
        lost += above
    yield policy.min_members - model.size(side).expr + lost


def _exclusive(model, policy, side):
    problem = model.problem
    foreign = {
        problem.domain(host.id, policy.scope)
        for host in problem.hosts.values()
        if host.foreign
    }
    others = model.counts(model.others(side), policy.scope)
    for domain, count in model.counts(side, policy.scope).items():
        if domain in foreign:
            yield model.used(count)
        elif domain in others:
            yield model.used(count) + model.used(others[domain]) - 1


def _all_together(model, policy):
    """Yield the excess of domains, which counts if two sides have members."""
    side = covered(model, policy)
    counts = model.counts(side, policy.scope)
    used = highs.qsum(map(model.used, counts.values()), -1)
    if len(policy.sides) > 1:
        parts = [model.size(model.side(frozenset(s))) for s in policy.sides]
        there = highs.qsum(map(model.used, parts))
        # 1 if at least two sides have members.
        is_pair = model.switch()
        model.row(there - 1 <= is_pair * (len(parts) - 1))
        used -= (1 - is_pair) * len(counts)
    yield used


def _at_most(model, count, limit):
    """Return an expression of the minimum of a count and a limit."""
    if count.low >= limit:
        return highs.qsum([], limit)
    digits = model.digits(count)[: limit - count.low]
    return highs.qsum(digits, count.low)


_FORMULAS = {
    'affinity': _affinity,
    'anti-affinity': _anti_affinity,
    'exclusive': _exclusive,
    'spread': _spread,
    'survive': _survive,
}
