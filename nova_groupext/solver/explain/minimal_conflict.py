# SPDX-License-Identifier: Apache-2.0
"""Minimal conflict: few assumptions that have no plan together.

A subproblem that is infeasible by itself comes first, if there is one. Then
QuickXplain (U. Junker, 2004) halves the assumptions recursively, so a small
conflict among many takes few queries. An undecided query counts as feasible:
the result is still a conflict, but may be larger than necessary. So is a large
conflict, of which only parts of several assumptions are left out.
"""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import itertools
from typing import TypeVar

from nova_groupext.solver import tuning
from nova_groupext.solver.explain.feasibility_oracle import Oracle
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.proofs import suspects

_Part = TypeVar('_Part')


@dataclasses.dataclass(frozen=True)
class Conflict:
    """Assumptions that have no plan together.

    :ivar assumed: policies before member sets
    :ivar is_minimal: whether each is necessary, confirmed by the solver
    """

    assumed: tuple[Assumption, ...]
    is_minimal: bool


def find(oracle: Oracle, assumed: Collection[Assumption]) -> Conflict:
    """Return the conflict of an infeasible problem.

    :param assumed: its assumptions that are known to have no plan
    """
    conflict = locate(oracle, assumed)
    is_minimal = len(conflict) <= tuning.MAX_CERTIFIED
    if is_minimal:
        conflict, is_minimal = _certify(oracle, conflict)
    if len(conflict) == 1:
        # Without assumptions, a plan that adds no member is feasible.
        is_minimal = True
    order = assumptions.of_problem(oracle.problem)
    conflict.sort(
        key=lambda each: (
            isinstance(each, assumptions.MemberAssumption),
            order.index(each),
        )
    )
    is_minimal = is_minimal and _is_confirmed(oracle, conflict)
    return Conflict(tuple(conflict), is_minimal)


def locate(
    oracle: Oracle, assumed: Collection[Assumption]
) -> list[Assumption]:
    """Return a small conflict among assumptions, not always a minimal one.

    :param assumed: assumptions that have no plan
    """
    oracle.record_infeasible(assumed)
    problem = assumptions.restrict_to(oracle.problem, frozenset(assumed))
    proof, shares, _ = oracle.analyse(problem)
    order = suspects.order_by_suspicion(problem, shares)
    if proof is not None:
        # Bounds are fast: let them reduce a conflict that they prove.
        return _reduce(
            oracle.is_excluded, [each for each in order if each in proof]
        )
    subsets = suspects.nested_suspects(problem, shares)
    infeasible = next(filter(oracle.is_infeasible, subsets), assumed)
    return _reduce(
        oracle.is_infeasible, [each for each in order if each in infeasible]
    )


def _reduce(
    is_infeasible: Callable[[list[Assumption]], bool],
    assumed: list[Assumption],
) -> list[Assumption]:
    """Return a conflict: a minimal one, unless it is large.

    While there are many assumptions, parts of them are left out. Each of the
    many that compete for capacity would take a query or two.

    :param assumed: assumptions that have no plan
    """
    while len(assumed) > tuning.MAX_CERTIFIED:
        size = -(-len(assumed) // tuning.CONFLICT_PARTS)
        parts = [
            assumed[start : start + size]
            for start in range(0, len(assumed), size)
        ]
        kept = quickxplain(
            lambda parts: is_infeasible([*itertools.chain(*parts)]), parts
        )
        smaller = [*itertools.chain(*kept)]
        if 2 * len(smaller) > len(assumed):
            return smaller
        assumed = smaller
    return quickxplain(is_infeasible, assumed)


def quickxplain(
    is_infeasible: Callable[[list[_Part]], bool], assumed: list[_Part]
) -> list[_Part]:
    """Return a conflict, minimal if every query is decided.

    Of several conflicts, return the one with the earliest assumptions.

    :param is_infeasible: checks whether assumptions have no plan
    :param assumed: assumptions that have none, or parts of these
    """

    def needed(
        background: list[_Part],
        has_grown: bool,
        candidates: list[_Part],
    ) -> list[_Part]:
        if has_grown and is_infeasible(background):
            return []
        if len(candidates) == 1:
            return candidates
        half = len(candidates) // 2
        first, second = candidates[:half], candidates[half:]
        late = needed(background + first, True, second)
        early = needed(background + late, bool(late), first)
        return early + late

    return needed([], False, assumed)


def _certify(
    oracle: Oracle, assumed: list[Assumption]
) -> tuple[list[Assumption], bool]:
    """Drop unnecessary assumptions; return the rest, and if it is minimal."""
    is_minimal = True
    keys = assumptions.interchangeable(oracle.problem, frozenset(assumed))
    needed = set()
    for each in list(assumed):
        key = keys.get(each, each)
        if key in needed:
            continue
        others = [other for other in assumed if other != each]
        if oracle.is_infeasible(others):
            assumed = others
        elif oracle.has_plan(others):
            needed.add(key)
        else:
            is_minimal = False
    return assumed, is_minimal


def _is_confirmed(oracle: Oracle, assumed: Collection[Assumption]) -> bool:
    """Check whether the integer program confirms a conflict.

    :raises RuntimeError: it finds a plan
    """
    problem = assumptions.restrict_to(oracle.problem, frozenset(assumed))
    verdict = oracle.certify(problem)
    if verdict.plan is not None:
        raise RuntimeError(f'there is a plan despite {assumed}')
    return verdict.is_infeasible
