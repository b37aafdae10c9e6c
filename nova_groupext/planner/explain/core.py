# SPDX-License-Identifier: Apache-2.0
"""Few tags that exclude one another.

A proof is narrowed down to a part of the problem if one will do, then
by QuickXplain (U. Junker, 2004): it halves the tags again and again, so that
a few among many take few questions. An answer that did not come in time
counts as "there may be a plan": what is left still leaves none, but it may
be more than is needed.
"""

import dataclasses

from nova_groupext.planner import parts
from nova_groupext.planner import tags as tag


@dataclasses.dataclass(frozen=True)
class Core:
    """Tags that leave no plan.

    :ivar tags: every Rule before all Members
    :ivar is_minimal: each is needed for that, and a solver has confirmed it
    """

    tags: tuple
    is_minimal: bool


def find(questions, tags):
    """The Core of a problem.

    :param questions: questions.Questions about the problem
    :param tags: those of its tags that are known to leave no plan
    """
    found = narrow(questions, tags)
    found, is_minimal = _certify(questions, found)
    if len(found) == 1:
        # Nobody has to come and nothing has to be kept: there is a plan.
        is_minimal = True
    order = tag.of(questions.problem)
    found.sort(key=lambda t: (isinstance(t, tag.Members), order.index(t)))
    return Core(tuple(found), is_minimal and _is_confirmed(questions, found))


def narrow(questions, tags):
    """Some of the tags that leave no plan, hardly more than are needed.

    :param tags: tags that leave none
    """
    questions.note_impossible(tags)
    problem = tag.keep(questions.problem, frozenset(tags))
    known, shares = questions.look(problem)
    order = parts.in_order(problem, shares)
    if known is not None:
        # Quick questions first: what they leave are few tags.
        return shrink(questions.is_excluded, [t for t in order if t in known])
    suspects = parts.suspects(problem, shares)
    known = next(filter(questions.is_impossible, suspects), tags)
    return shrink(questions.is_impossible, [t for t in order if t in known])


def shrink(is_impossible, tags):
    """Some of the tags that leave no plan, minimal if all is answered.

    Of several such sets, the one that makes do with the first tags.

    :param is_impossible: tells whether a list of tags leaves no plan
    :param tags: list of tags that leave none
    """

    def needed(background, has_grown, candidates):
        if has_grown and is_impossible(background):
            return []
        if len(candidates) == 1:
            return candidates
        half = len(candidates) // 2
        first, second = candidates[:half], candidates[half:]
        late = needed(background + first, True, second)
        early = needed(background + late, bool(late), first)
        return early + late

    return needed([], False, tags)


def _certify(questions, tags):
    """Drop the tags that are not needed; tell whether all others are."""
    is_minimal = True
    alike = tag.alike(questions.problem, frozenset(tags))
    needed = set()
    for each in list(tags):
        key = alike.get(each, each)
        if key in needed:
            continue
        others = [t for t in tags if t != each]
        if questions.is_impossible(others):
            tags = others
        elif questions.has_plan(others):
            needed.add(key)
        else:
            is_minimal = False
    return tags, is_minimal


def _is_confirmed(questions, tags):
    """Whether a solver proves the same of a problem with these tags only.

    :raises RuntimeError: it finds a plan
    """
    problem = tag.keep(questions.problem, frozenset(tags))
    verdict = questions.confirm(problem)
    if verdict.plan is not None:
        raise RuntimeError(f'there is a plan in spite of {tags}')
    return verdict.is_impossible
