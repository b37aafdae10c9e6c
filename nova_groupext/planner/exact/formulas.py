# SPDX-License-Identifier: Apache-2.0
"""Every policy as rows of the integer programme.

One function per policy type adds what rows it needs and gives *excesses*:
expressions that a strict policy keeps at 0 or below, and of which a soft one
pays what is above 0. The sum of what is above 0 is rules.breach(), but for
anti-affinity: there each one more in a domain costs 1 more than the last.
"""

from highspy import highs

from nova_groupext.planner.exact import proximity


def demand(model, policy):
    """Add the rows of a strict policy."""
    for excess in _excesses(model, policy):
        model.row(excess <= 0)


def charge(model, policy):
    """Add the rows of a soft policy.

    :returns: expression of its breach, valid where it is minimised
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
    """What each domain costs that may get too many members.

    As each step costs more than the one before, they are taken in order where
    the cost is minimised.
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
    """The Side of all members under a policy."""
    return model.side(frozenset().union(*policy.sides))


def _affinity(model, policy, side):
    counts = model.counts(side, policy.scope)
    if len(counts) > 1:
        yield highs.qsum(map(model.used, counts.values()), -1)


def _anti_affinity(model, policy, side):
    for count in _crowded(model, policy, side):
        yield count.expr - policy.max_per_domain


def _crowded(model, policy, side):
    """The Counts of the domains that may get too many members."""
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
    # The sum of the k largest of some numbers is the least, over t, of
    # k * t + the sum of what they are above t.
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
    """All in one domain, as soon as there is a pair."""
    side = covered(model, policy)
    counts = model.counts(side, policy.scope)
    used = highs.qsum(map(model.used, counts.values()), -1)
    if len(policy.sides) == 2:
        ends = [model.size(model.side(frozenset(s))) for s in policy.sides]
        missing = 2 - highs.qsum(map(model.used, ends))
        used -= missing * len(counts)
    yield used


def _at_most(model, count, limit):
    """Expression of the lesser of a count and a limit."""
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
