# SPDX-License-Identifier: Apache-2.0
"""Minimal conflict: few assumptions that have no plan together.

A subproblem that is infeasible by itself comes first, if there is one. Then
QuickXplain (U. Junker, 2004) halves the assumptions recursively, so a small
conflict among many takes few queries. An undecided query counts as feasible:
the result is still a conflict, but may be larger than necessary.
"""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses

from nova_groupext.solver.explain.feasibility_oracle import Oracle
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.proofs import suspects


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
        return quickxplain(
            oracle.is_excluded, [each for each in order if each in proof]
        )
    subsets = suspects.nested_suspects(problem, shares)
    infeasible = next(filter(oracle.is_infeasible, subsets), assumed)
    return quickxplain(
        oracle.is_infeasible, [each for each in order if each in infeasible]
    )


def quickxplain(
    is_infeasible: Callable[[list[Assumption]], bool],
    assumed: list[Assumption],
) -> list[Assumption]:
    """Return a conflict, minimal if every query is decided.

    Of several conflicts, return the one with the earliest assumptions.

    :param is_infeasible: checks whether assumptions have no plan
    :param assumed: assumptions that have none
    """

    def needed(
        background: list[Assumption],
        has_grown: bool,
        candidates: list[Assumption],
    ) -> list[Assumption]:
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
