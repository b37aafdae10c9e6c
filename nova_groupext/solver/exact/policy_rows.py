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
        model.add_row(excess <= 0)


def add_soft(model, policy):
    """Add the rows of a soft policy.

    :returns: expression of its violation, valid where it is minimised
    """
    if policy.type == 'anti-affinity':
        return highs.qsum(_anti_affinity_violations(model, policy))
    violations = []
    for excess in _excesses(model, policy):
        violation = model.add_column()
        model.add_row(excess <= violation)
        violations.append(violation)
    return highs.qsum(violations)


def _anti_affinity_violations(model, policy):
    """Yield the violation of each domain that may get too many members.

    Each step costs more than the last, so minimisation keeps their order.
    """
    for count in _counts_above_limit(model, policy, covered(model, policy)):
        max_excess = count.upper - policy.max_per_domain
        steps = [model.add_column(1) for _ in range(max_excess)]
        model.add_row(
            count.expression - policy.max_per_domain <= highs.qsum(steps)
        )
        yield highs.qsum([step * n for n, step in enumerate(steps, 1)])


def _excesses(model, policy):
    if policy.type == 'network-proximity':
        if policy.strict:
            return _one_domain(model, policy)
        return proximity.excesses(model, policy)
    return _EXCESSES[policy.type](model, policy, covered(model, policy))


def covered(model, policy):
    """Return the Side of all members under a policy."""
    return model.side(frozenset().union(*policy.sides))


def _affinity(model, policy, side):
    counts = model.counts(side, policy.scope)
    if len(counts) > 1:
        yield highs.qsum(map(model.indicator, counts.values()), -1)


def _anti_affinity(model, policy, side):
    for count in _counts_above_limit(model, policy, side):
        yield count.expression - policy.max_per_domain


def _counts_above_limit(model, policy, side):
    """Return the Counts of the domains that may get too many members."""
    counts = model.counts(side, policy.scope).values()
    return [count for count in counts if count.upper > policy.max_per_domain]


def _spread(model, policy, side):
    counts = model.counts(side, policy.scope).values()
    used = highs.qsum(map(model.indicator, counts))
    yield _minimum(model, model.size(side), policy.min_domains) - used
    upper = max((count.upper for count in counts), default=0)
    if upper > policy.max_skew + 1:
        largest = model.add_column()
        smallest = model.add_column(upper)
        for count in counts:
            model.add_row(largest >= count.expression)
            unused = 1 - model.indicator(count)
            model.add_row(smallest <= count.expression + upper * unused)
        yield largest - smallest - policy.max_skew


def _survive(model, policy, side):
    # The sum of the k largest numbers is the minimum over t of
    # k * t + the sum of the excesses of all numbers over t.
    threshold = model.add_column()
    lost = threshold * policy.failures
    for count in model.counts(side, policy.scope).values():
        excess = model.add_column()
        model.add_row(count.expression - threshold <= excess)
        lost += excess
    yield policy.min_members - model.size(side).expression + lost


def _exclusive(model, policy, side):
    problem = model.problem
    foreign_domains = {
        problem.domain(host.id, policy.scope)
        for host in problem.hosts.values()
        if host.foreign
    }
    other_counts = model.counts(model.complement(side), policy.scope)
    for domain, count in model.counts(side, policy.scope).items():
        if domain in foreign_domains:
            yield model.indicator(count)
        elif domain in other_counts:
            yield (
                model.indicator(count)
                + model.indicator(other_counts[domain])
                - 1
            )


def _one_domain(model, policy):
    """Yield the excess of domains, which counts if two sides have members."""
    side = covered(model, policy)
    counts = model.counts(side, policy.scope)
    used = highs.qsum(map(model.indicator, counts.values()), -1)
    if len(policy.sides) > 1:
        parts = [model.size(model.side(frozenset(s))) for s in policy.sides]
        used_sides = highs.qsum(map(model.indicator, parts))
        # 1 if at least two sides have members.
        is_pair = model.add_binary()
        model.add_row(used_sides - 1 <= is_pair * (len(parts) - 1))
        used -= (1 - is_pair) * len(counts)
    yield used


def _minimum(model, count, limit):
    """Return an expression of the minimum of a count and a limit."""
    if count.lower >= limit:
        return highs.qsum([], limit)
    columns = model.unary_expansion(count)[: limit - count.lower]
    return highs.qsum(columns, count.lower)


_EXCESSES = {
    'affinity': _affinity,
    'anti-affinity': _anti_affinity,
    'exclusive': _exclusive,
    'spread': _spread,
    'survive': _survive,
}
