# SPDX-License-Identifier: Apache-2.0
"""Feasibility oracle for a problem with any subset of its assumptions.

Answers are monotone: a plan under some assumptions holds for every subset of
them, and a proof that there is none holds for every superset.
"""

from nova_groupext.solver import bounds
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.proofs import capacity_relaxation
from nova_groupext.solver.proofs import quick_proofs
from nova_groupext.solver.proofs import suspects
from nova_groupext.solver.search import feasible

# Share of the remaining time that one query may use.
_SHARE = 1 / 3


class Oracle:
    """Feasibility queries about one problem, with a cache of answers.

    :ivar cloud: bounds.HostArrays, the host arrays that all bounds share
    :ivar is_cut_short: whether a query ended without an answer
    :ivar plan: plan that the last search under assumptions found, or None
    :ivar closest: best partial plan of the last undecided search under
        assumptions, feasible except for the members it leaves out, or None
    """

    def __init__(self, problem, budget):
        self.problem = problem
        self.budget = budget
        self.is_cut_short = False
        self.plan = None
        self.closest = None
        self.cloud = bounds.HostArrays(problem)
        self._possible = []
        self._impossible = []

    def has_plan(self, tags):
        """Check whether assumptions have a plan; False if undecided."""
        return self._ask(frozenset(tags)) is True

    def is_impossible(self, tags):
        """Check whether assumptions have no plan; False if undecided."""
        return self._ask(frozenset(tags)) is False

    def is_excluded(self, tags):
        """Check whether bounds alone prove that assumptions have no plan."""
        problem = assumptions.restrict_to(self.problem, frozenset(tags))
        if bounds.impossible(problem, self.cloud) is None:
            return False
        self.note_impossible(tags)
        return True

    def note_impossible(self, tags):
        """Cache a proof that assumptions have no plan."""
        self._impossible.append(frozenset(tags))

    def look(self, problem):
        """Compare the capacity that required members need with what is free.

        :returns: (assumptions that have no plan or None, member set path ->
            share of its possible capacity that it needs)
        """
        proof, shares, _ = bounds.look(problem, self.cloud)
        if proof is not None:
            self.note_impossible(proof)
        return proof, shares

    def hosts_for(self, problem, paths):
        """Return ids of the hosts that could take any one of some members."""
        _, _, narrowed = bounds.look(problem, self.cloud)
        classes = {
            id(narrowed.class_of[path]): narrowed.class_of[path]
            for path in paths & narrowed.class_of.keys()
        }
        return {
            host
            for each in classes.values()
            for host in self.cloud.where(each)
        }

    def find(self, problem, share=_SHARE):
        """Search for a plan of any problem.

        :param share: share of the remaining time to use
        :returns: feasibility.Verdict
        """
        if self.is_late():
            return feasibility.Verdict()
        proof, _, narrowed = bounds.look(problem, self.cloud)
        if proof is not None:
            return feasibility.Verdict(is_impossible=True)
        if quick_proofs.is_contradiction(problem, self.budget):
            return feasibility.Verdict(is_impossible=True)
        return self._solve(narrowed, share)

    def probe(self, problem, share):
        """Call find(), but keep is_cut_short: no answer relies on it."""
        was_cut_short = self.is_cut_short
        verdict = self.find(problem, share)
        self.is_cut_short = was_cut_short
        return verdict

    def complete(self, problem, plan, share):
        """Try to complete a partial plan; failure proves nothing.

        :param plan: violations.Plan of some of the members
        :param share: share of the remaining time to use
        :returns: violations.Plan or None
        """
        return feasible.complete(problem, plan, self.budget, share)

    def is_ruled_out(self, problem):
        """Check whether bounds prove that a problem has no plan."""
        return bounds.impossible(problem, self.cloud) is not None

    def is_late(self):
        """Check whether the time is over; if so, set is_cut_short."""
        if not self.budget.left():
            self.is_cut_short = True
        return not self.budget.left()

    def certify(self, problem):
        """Return a Verdict reached without cache, bounds and heuristics."""
        # The solver assumes that pinned members keep the policies.
        if fixed.broken(problem) or self._clash(problem):
            return feasibility.Verdict(is_impossible=True)
        return self._solve(problem, _SHARE, feasibility.ask)

    def _clash(self, problem):
        """Check whether even unlimited capacity is proved to allow no plan."""
        if suspects.odd(problem) or bounds.impossible(
            capacity_relaxation.relax_capacity(problem)
        ):
            return quick_proofs.is_contradiction(problem, self.budget, True)
        return False

    def _solve(self, problem, share, solver=None):
        verdict = feasibility.Verdict()
        seconds = self.budget.left() * share
        if seconds:
            solve = solver or feasible.find
            verdict = solve(problem, self.budget.slice(seconds))
        if verdict.plan is None and not verdict.is_impossible:
            self.is_cut_short = True
        return verdict

    def _ask(self, tags):
        """Return True if there is a plan, False if none, None if unknown."""
        if any(tags <= known for known in self._possible):
            return True
        if any(known <= tags for known in self._impossible):
            return False
        verdict = self.find(assumptions.restrict_to(self.problem, tags))
        if verdict.plan is not None:
            self._possible.append(tags)
            self.plan = verdict.plan
            return True
        if verdict.is_impossible:
            self._impossible.append(tags)
            return False
        self.closest = verdict.closest
        return None
