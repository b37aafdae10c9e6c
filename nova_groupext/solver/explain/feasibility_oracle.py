# SPDX-License-Identifier: Apache-2.0
"""Feasibility oracle for a problem with any subset of its assumptions.

Answers are monotone: a plan under some assumptions holds for every subset of
them, and a proof that there is none holds for every superset.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Set
import functools

from nova_groupext.solver import bounds
from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.model.time_budget import TimeBudget
from nova_groupext.solver.proofs import capacity_relaxation
from nova_groupext.solver.proofs import quick_proofs
from nova_groupext.solver.proofs import suspects
from nova_groupext.solver.search import feasible
from nova_groupext.solver.search import partial_plans


class Oracle:
    """Feasibility queries about one problem, with a cache of answers.

    :ivar is_cut_short: whether a query ended without an answer
    :ivar plan: plan that the last search under assumptions found, or None
    :ivar best_partial_plan: best partial plan of the last undecided search
        under assumptions, feasible except for the members it leaves out, or
        None
    """

    def __init__(self, problem: problems.Problem, budget: TimeBudget) -> None:
        self.problem = problem
        self.budget = budget
        self.is_cut_short = False
        self.plan: violations.Plan | None = None
        self.best_partial_plan: violations.Plan | None = None
        self._feasible: list[frozenset[Assumption]] = []
        self._infeasible: list[frozenset[Assumption]] = []

    def has_plan(self, assumed: Iterable[Assumption]) -> bool:
        """Check whether assumptions have a plan; False if undecided."""
        return self._decide(frozenset(assumed)) is True

    def is_infeasible(self, assumed: Iterable[Assumption]) -> bool:
        """Check whether assumptions have no plan; False if undecided."""
        return self._decide(frozenset(assumed)) is False

    def is_excluded(self, assumed: Iterable[Assumption]) -> bool:
        """Check whether bounds alone prove that assumptions have no plan."""
        assumed = frozenset(assumed)
        problem = assumptions.restrict_to(self.problem, assumed)
        if bounds.prove_infeasible(problem) is None:
            return False
        self.record_infeasible(assumed)
        return True

    def record_infeasible(self, assumed: Iterable[Assumption]) -> None:
        """Cache a proof that assumptions have no plan."""
        self._infeasible.append(frozenset(assumed))

    def analyse(self, problem: problems.Problem) -> bounds.Analysis:
        """Compare the capacity that members need with what is free."""
        analysis = bounds.analyse(problem)
        if analysis.proof is not None:
            self.record_infeasible(analysis.proof)
        return analysis

    def hosts_for(
        self, problem: problems.Problem, paths: Set[Path]
    ) -> set[HostId]:
        """Return the hosts that could take any one of some members."""
        reduced = bounds.analyse(problem).reduced
        arrays = host_arrays.of(problem)
        classes = {
            id(reduced.class_of[path]): reduced.class_of[path]
            for path in paths & reduced.class_of.keys()
        }
        return {
            host
            for member_class in classes.values()
            for host in arrays.hosts_with_capacity(member_class)
        }

    def find(
        self, problem: problems.Problem, share: float | None = None
    ) -> feasibility.Verdict:
        """Search for a plan of any problem.

        :param share: share of the remaining time to use; QUERY_SHARE if None
        """
        if self.is_out_of_time():
            return feasibility.Verdict()
        proof, _, reduced = bounds.analyse(problem)
        if proof is not None:
            return feasibility.Verdict(is_infeasible=True)
        if quick_proofs.is_contradictory(problem, self.budget):
            return feasibility.Verdict(is_infeasible=True)
        return self._solve(
            reduced, tuning.QUERY_SHARE if share is None else share
        )

    def probe(
        self, problem: problems.Problem, share: float
    ) -> feasibility.Verdict:
        """Call find(), but keep is_cut_short: no answer relies on it."""
        was_cut_short = self.is_cut_short
        verdict = self.find(problem, share)
        self.is_cut_short = was_cut_short
        return verdict

    def complete(
        self, problem: problems.Problem, plan: violations.Plan, share: float
    ) -> violations.Plan | None:
        """Try to complete a partial plan; failure proves nothing.

        :param share: share of the remaining time to use
        """
        return partial_plans.complete(problem, plan, self.budget, share)

    def is_problem_excluded(self, problem: problems.Problem) -> bool:
        """Check whether bounds prove that a problem has no plan."""
        return bounds.prove_infeasible(problem) is not None

    def is_out_of_time(self) -> bool:
        """Check whether the time is over; if so, set is_cut_short."""
        if not self.budget.remaining():
            self.is_cut_short = True
        return not self.budget.remaining()

    def certify(self, problem: problems.Problem) -> feasibility.Verdict:
        """Return a verdict reached without cache, bounds and heuristics."""
        # The solver assumes that pinned members keep the policies.
        if fixed.find_violated(problem) or self._is_contradictory(problem):
            return feasibility.Verdict(is_infeasible=True)
        confirm = functools.partial(feasibility.solve, proof=Proof.EXPECTED)
        return self._solve(problem, tuning.QUERY_SHARE, confirm)

    def _is_contradictory(self, problem: problems.Problem) -> bool:
        """Check whether even unlimited capacity is proved to allow no plan."""
        if suspects.conflicting_pairs(problem) or bounds.prove_infeasible(
            capacity_relaxation.relax_capacity(problem)
        ):
            return quick_proofs.is_contradictory(
                problem, self.budget, is_suspect=True
            )
        return False

    def _solve(
        self,
        problem: problems.Problem,
        share: float,
        solve: Callable[
            [problems.Problem, TimeBudget], feasibility.Verdict
        ] = feasible.find,
    ) -> feasibility.Verdict:
        verdict = feasibility.Verdict()
        seconds = self.budget.remaining() * share
        if seconds:
            verdict = solve(problem, self.budget.slice(seconds))
        if verdict.plan is None and not verdict.is_infeasible:
            self.is_cut_short = True
        return verdict

    def _decide(self, assumed: frozenset[Assumption]) -> bool | None:
        """Return True if there is a plan, False if none, None if unknown."""
        if any(assumed <= larger for larger in self._feasible):
            return True
        if any(smaller <= assumed for smaller in self._infeasible):
            return False
        verdict = self.find(assumptions.restrict_to(self.problem, assumed))
        if verdict.plan is not None:
            self._feasible.append(assumed)
            self.plan = verdict.plan
            return True
        if verdict.is_infeasible:
            self._infeasible.append(assumed)
            return False
        self.best_partial_plan = verdict.best_partial_plan
        return None
