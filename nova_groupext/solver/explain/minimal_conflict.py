# SPDX-License-Identifier: Apache-2.0
"""Minimal conflict: few assumptions that have no plan together.

A subproblem that is infeasible by itself comes first, if there is one. Then
QuickXplain (U. Junker, 2004) halves the assumptions recursively, so a small
conflict among many takes few queries. An undecided query counts as feasible:
the result is still a conflict, but may be larger than necessary.
"""

import dataclasses

from nova_groupext.solver.model import assumptions
from nova_groupext.solver.proofs import suspects


@dataclasses.dataclass(frozen=True)
class Conflict:
    """Assumptions that have no plan together.

    :ivar tags: tuple of assumptions, policies before member sets
    :ivar is_minimal: whether each is necessary, confirmed by the solver
    """

    tags: tuple
    is_minimal: bool


def find(questions, tags):
    """Return the Conflict of an infeasible problem.

    :param questions: feasibility_oracle.Oracle of the problem
    :param tags: its assumptions that are known to have no plan
    """
    found = locate(questions, tags)
    found, is_minimal = _certify(questions, found)
    if len(found) == 1:
        # Without assumptions, a plan that adds no member is feasible.
        is_minimal = True
    order = assumptions.of(questions.problem)
    found.sort(
        key=lambda t: (
            isinstance(t, assumptions.MemberAssumption),
            order.index(t),
        )
    )
    return Conflict(
        tuple(found), is_minimal and _is_confirmed(questions, found)
    )


def locate(questions, tags):
    """Return a small conflict among assumptions, not always a minimal one.

    :param tags: assumptions that have no plan
    """
    questions.note_impossible(tags)
    problem = assumptions.restrict_to(questions.problem, frozenset(tags))
    known, shares = questions.look(problem)
    order = suspects.in_order(problem, shares)
    if known is not None:
        # A conflict that bounds prove is narrowed by bounds, which are fast.
        return quickxplain(
            questions.is_excluded, [t for t in order if t in known]
        )
    suspected = suspects.suspects(problem, shares)
    known = next(filter(questions.is_impossible, suspected), tags)
    return quickxplain(
        questions.is_impossible, [t for t in order if t in known]
    )


def quickxplain(is_impossible, tags):
    """Return a conflict, minimal if every query is decided.

    Of several conflicts, return the one that needs the earliest ``tags``.

    :param is_impossible: checks whether a list of assumptions has no plan
    :param tags: list of assumptions that has none
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
    """Drop unnecessary assumptions; return the rest, and if it is minimal."""
    is_minimal = True
    alike = assumptions.interchangeable(questions.problem, frozenset(tags))
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
    """Check whether the integer program confirms a conflict.

    :raises RuntimeError: it finds a plan
    """
    problem = assumptions.restrict_to(questions.problem, frozenset(tags))
    verdict = questions.certify(problem)
    if verdict.plan is not None:
        raise RuntimeError(f'there is a plan in spite of {tags}')
    return verdict.is_impossible
