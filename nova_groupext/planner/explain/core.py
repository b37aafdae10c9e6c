# SPDX-License-Identifier: Apache-2.0
"""Few tags that exclude one another.

A proof is narrowed down to a linked part of the problem if one will do, then
by QuickXplain (U. Junker, 2004): it halves the tags again and again, so that
a few among many take few questions. An answer that did not come in time
counts as "there may be a plan": what is left still leaves none, but it may
be more than is needed.
"""

import collections
import dataclasses

from nova_groupext.planner import tags as tag


@dataclasses.dataclass(frozen=True)
class Core:
    """Tags that leave no plan.

    :ivar tags: every Rule before all Members
    :ivar is_minimal: each is needed for that, and a solver has confirmed it
    """

    tags: tuple
    is_minimal: bool


def find(questions):
    """The Core of a problem that is known to have no plan.

    :param questions: questions.Questions about the problem
    """
    found = narrow(questions, tag.of(questions.problem))
    found, is_minimal = _certify(questions, found)
    if len(found) == 1:
        # Nobody has to come and nothing has to be kept: there is a plan.
        is_minimal = True
    found = sorted(found, key=lambda t: isinstance(t, tag.Members))
    return Core(tuple(found), is_minimal and _is_confirmed(questions, found))


def narrow(questions, tags):
    """Some of the tags that leave no plan, hardly more than are needed.

    :param tags: list of tags that leave none
    """
    questions.note_impossible(tags)
    return shrink(questions.is_impossible, _start(questions, tags))


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


def _start(questions, tags):
    """One part of the problem if that leaves no plan by itself."""
    known = questions.bound(tags)
    if known is not None:
        return [t for t in tags if t in known]
    parts = _parts(questions.problem, tags)
    if len(parts) > 1:
        for part in sorted(parts, key=len):
            if questions.is_impossible(part):
                return part
    return tags


def _parts(problem, tags):
    """Tags in groups that have no member in common."""
    part = {stem.path: stem.path for stem in problem.topology.stems}
    stems = {t: {t.path} for t in tags if isinstance(t, tag.Members)}
    stem_of = {m.path: m.stem for m in problem.topology.members}
    for policy in tag.policies(problem, frozenset(tags)):
        covered = {stem_of[path] for side in policy.sides for path in side}
        stems.setdefault(tag.rule(policy), set()).update(covered)
    for linked in stems.values():
        joined = {part[path] for path in linked}
        name = min(joined)
        part = {p: name if old in joined else old for p, old in part.items()}
    groups = collections.defaultdict(list)
    for each in tags:
        groups[part[min(stems[each])]].append(each)
    return list(groups.values())


def _certify(questions, tags):
    """Drop the tags that are not needed; tell whether all others are."""
    is_minimal = True
    for each in list(tags):
        others = [t for t in tags if t != each]
        if questions.is_impossible(others):
            tags = others
        elif not questions.has_plan(others):
            is_minimal = False
    return tags, is_minimal


def _is_confirmed(questions, tags):
    """Whether a solver proves the same of a problem with these tags only.

    :raises RuntimeError: it finds a plan
    """
    problem = tag.keep(questions.problem, frozenset(tags))
    verdict = questions.solve(problem)
    if verdict.plan is not None:
        raise RuntimeError(f'there is a plan in spite of {tags}')
    return verdict.is_impossible
