# SPDX-License-Identifier: Apache-2.0
"""Parts of a problem that may leave no plan by themselves.

Members that take much of the room there is for them are suspected first. A
small part is quickly proved to have no plan, where the whole takes long.
"""

from nova_groupext.planner import tags as tag

# By how much each part is larger than the one before.
_GROWTH = 1.5


def suspects(problem, shares):
    """Parts of a problem, each with the one before in it.

    :param problem: problem.Problem
    :param shares: stem path -> share of the room that its members take
    :returns: generator of frozensets of tags, without the whole
    """
    order = sorted(shares, key=lambda path: (-shares[path], path))
    stem_of = {m.path: m.stem for m in problem.topology.members}
    covered = {}
    for policy in tag.policies(problem, frozenset(tag.of(problem))):
        stems = covered.setdefault(tag.rule(policy), set())
        stems.update(stem_of[path] for side in policy.sides for path in side)
    size = 1
    while size < len(order):
        part = set(order[:size])
        rules = (rule for rule, stems in covered.items() if part & stems)
        yield frozenset(map(tag.Members, part)).union(rules)
        size = max(size + 1, int(size * _GROWTH))
