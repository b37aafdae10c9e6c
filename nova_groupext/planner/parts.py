# SPDX-License-Identifier: Apache-2.0
"""Parts of a problem that may leave no plan by themselves.

Members that take much of the room there is for them are suspected first, and
so are policies that may contradict one another. A small part is quickly proved
to have no plan, where the whole takes long.
"""

import itertools

from nova_groupext.planner import tags as tag

# By how much each part is larger than the one before.
_GROWTH = 1.5

# They ask for several domains, and for some number in each.
_BROAD = ('spread', 'survive')


def suspects(problem, shares):
    """Parts of a problem, each with the one before in it.

    :param problem: problem.Problem
    :param shares: stem path -> share of the room that its members take
    :returns: generator of frozensets of tags, without the whole
    """
    stems = sorted(shares, key=lambda path: (-shares[path], path))
    covered = _covered(problem)
    size = 1
    while size < len(stems):
        part = set(stems[:size])
        rules = (rule for rule, inside in covered.items() if part & inside)
        yield frozenset(map(tag.Members, part)).union(rules)
        size = max(size + 1, int(size * _GROWTH))


def around(problem, paths):
    """Parts with some members and those that policies tie to them.

    :param problem: problem.Problem
    :param paths: of the stems that are suspected, the most suspect first
    :returns: list of frozensets of tags, the last of which has them all
    """
    covered = _covered(problem)
    every = tag.of(problem)
    found = []
    for path in paths:
        rules = {rule for rule, stems in covered.items() if path in stems}
        tied = {path}.union(*(covered[rule] for rule in rules))
        members = {tag.Members(each) for each in tied}.intersection(every)
        found.append(frozenset(rules | members))
    found.append(frozenset().union(*found))
    return list(dict.fromkeys(found)) if paths else []


def odd(problem):
    """Pairs of policies that may contradict one another, with their members.

    Whether there is room is not asked, and what bounds always tell is left
    out.

    :param problem: problem.Problem
    :returns: list of frozensets of tags
    """
    policies = tag.policies(problem, frozenset(tag.of(problem)))
    paths = [frozenset(itertools.chain(*p.sides)) for p in policies]
    every = frozenset(tag.of(problem))
    covered = _covered(problem)
    found = []
    for first, second in itertools.combinations(range(len(policies)), 2):
        pair = policies[first], policies[second]
        sides = paths[first], paths[second]
        if not sides[0].isdisjoint(sides[1]) and _is_odd(pair, sides):
            rules = {tag.rule(policy) for policy in pair}
            stems = set().union(*(covered[rule] for rule in rules))
            members = every.intersection(map(tag.Members, stems))
            found.append(members | rules)
    return list(dict.fromkeys(found))


def _is_odd(pair, sides):
    """Whether two policies over some of the same members may clash."""
    types = {policy.type for policy in pair}
    if 'exclusive' in types:
        return True
    number = sum(policy.type in _BROAD for policy in pair)
    if number == 1 and types.isdisjoint({'anti-affinity'}):
        # Bounds look at what is spread within what is together.
        broad = pair[0].type in _BROAD
        inner, outer = sides if broad else reversed(sides)
        return not inner <= outer
    scopes = {policy.scope for policy in pair}
    return number == 2 and (sides[0] != sides[1] or len(scopes) > 1)


def in_order(problem, shares):
    """The tags of a problem, those first that are suspected first.

    A policy follows the first members that it covers.

    :param problem: problem.Problem
    :param shares: stem path -> share of the room that its members take
    :returns: list of tags
    """
    covered = _covered(problem)

    def suspicion(each):
        if isinstance(each, tag.Members):
            return -shares.get(each.path, 0), 0, each
        share = max(shares.get(path, 0) for path in covered[each])
        return -share, 1, each

    return sorted(tag.of(problem), key=suspicion)


def _covered(problem):
    """Rule -> paths of the stems that it covers."""
    stem_of = {m.path: m.stem for m in problem.topology.members}
    covered = {}
    for policy in tag.policies(problem, frozenset(tag.of(problem))):
        stems = covered.setdefault(tag.rule(policy), set())
        stems.update(stem_of[path] for side in policy.sides for path in side)
    return covered
