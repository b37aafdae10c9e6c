# SPDX-License-Identifier: Apache-2.0
"""Suspect subproblems: parts of a problem that may have no plan themselves.

Members that need much of their capacity are suspect, and so are policies that
may contradict one another. A small part is quickly proved infeasible, where
the whole problem takes long.
"""

import itertools

from nova_groupext.solver.model import assumptions

# Growth factor of the number of member sets.
_GROWTH = 1.5

# Types that require several domains, and some number of members in each.
_BROAD = ('spread', 'survive')


def suspects(problem, shares):
    """Yield parts of a problem, each of which contains the one before.

    :param problem: problems.Problem
    :param shares: member set path -> share of its capacity that it needs
    :returns: generator of frozensets of assumptions, without the whole
    """
    stems = sorted(shares, key=lambda path: (-shares[path], path))
    covered = _covered(problem)
    size = 1
    while size < len(stems):
        part = set(stems[:size])
        rules = (rule for rule, inside in covered.items() if part & inside)
        yield frozenset(map(assumptions.MemberAssumption, part)).union(rules)
        size = max(size + 1, int(size * _GROWTH))


def around(problem, paths):
    """Return suspect member sets with all that policies tie to them.

    :param problem: problems.Problem
    :param paths: paths of suspect member sets, the most suspect first
    :returns: list of frozensets of assumptions, one for each path and their
        union, without repetitions
    """
    covered = _covered(problem)
    every = assumptions.of(problem)
    found = []
    for path in paths:
        rules = {rule for rule, stems in covered.items() if path in stems}
        tied = {path}.union(*(covered[rule] for rule in rules))
        members = {
            assumptions.MemberAssumption(each) for each in tied
        }.intersection(every)
        found.append(frozenset(rules | members))
    found.append(frozenset().union(*found))
    return list(dict.fromkeys(found)) if paths else []


def odd(problem):
    """Return pairs of policies that may conflict, with their members.

    Capacity does not count, and pairs that bounds decide are left out.

    :param problem: problems.Problem
    :returns: list of frozensets of assumptions
    """
    policies = assumptions.policies(
        problem, frozenset(assumptions.of(problem))
    )
    paths = [frozenset(itertools.chain(*p.sides)) for p in policies]
    every = frozenset(assumptions.of(problem))
    covered = _covered(problem)
    found = []
    for first, second in itertools.combinations(range(len(policies)), 2):
        pair = policies[first], policies[second]
        sides = paths[first], paths[second]
        if not sides[0].isdisjoint(sides[1]) and _is_odd(pair, sides):
            rules = {assumptions.rule(policy) for policy in pair}
            stems = set().union(*(covered[rule] for rule in rules))
            members = every.intersection(
                map(assumptions.MemberAssumption, stems)
            )
            found.append(members | rules)
    return list(dict.fromkeys(found))


def _is_odd(pair, sides):
    """Check whether two policies over common members may conflict."""
    types = {policy.type for policy in pair}
    if 'exclusive' in types:
        return True
    number = sum(policy.type in _BROAD for policy in pair)
    if number == 1 and types.isdisjoint({'anti-affinity'}):
        # Bounds decide whether members of one domain can also be spread.
        broad = pair[0].type in _BROAD
        inner, outer = sides if broad else reversed(sides)
        return not inner <= outer
    scopes = {policy.scope for policy in pair}
    return number == 2 and (sides[0] != sides[1] or len(scopes) > 1)


def in_order(problem, shares):
    """Return the assumptions of a problem, the most suspect first.

    A policy follows the first member set that it covers.

    :param problem: problems.Problem
    :param shares: member set path -> share of its capacity that it needs
    :returns: list of assumptions
    """
    covered = _covered(problem)

    def suspicion(each):
        if isinstance(each, assumptions.MemberAssumption):
            return -shares.get(each.path, 0), 0, each
        share = max(shares.get(path, 0) for path in covered[each])
        return -share, 1, each

    return sorted(assumptions.of(problem), key=suspicion)


def _covered(problem):
    """Map policy assumptions to paths of the member sets they cover."""
    stem_of = {m.path: m.stem for m in problem.topology.members}
    covered = {}
    for policy in assumptions.policies(
        problem, frozenset(assumptions.of(problem))
    ):
        stems = covered.setdefault(assumptions.rule(policy), set())
        stems.update(stem_of[path] for side in policy.sides for path in side)
    return covered
