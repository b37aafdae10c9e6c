# SPDX-License-Identifier: Apache-2.0
"""Plans of relaxed problems, derived from plans that are known.

A plan without the assumptions of the conflict comes first: if there is none,
no relaxation of this conflict alone helps. This plan, and any plan of one
relaxation, can mostly be adapted to another: only members that the conflict
concerns move and, if necessary, those in their way. If that fails, more effort
is needed: reinsertion of the missing members, and finally a new plan.
"""

from collections.abc import Collection
from collections.abc import Container
from collections.abc import Set

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.explain import monotone_cache
from nova_groupext.solver.explain.corrections import Relaxation
from nova_groupext.solver.explain.feasibility_oracle import Oracle
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.violations import Plan

#: Effort levels for one relaxation, the lowest first: move members of a known
#: plan, reinsert the missing ones, or search for a new plan.
LOCAL, REINSERT, FULL = range(3)


class RelaxedPlans:
    """Plans of relaxed problems, each derived from the one before.

    :ivar effort: effort level: LOCAL, REINSERT or FULL
    :ivar efforts: effort levels to use in turn; FULL only, if the problem is
        small
    :ivar is_unsolved: whether no plan was found even without the conflict
    :ivar is_undecided: the same, and there is no proof that none exists
    :ivar best_partial_plan: best partial plan without the conflict, feasible
        except for the members it leaves out, or None
    """

    def __init__(
        self, oracle: Oracle, assumed: Collection[assumptions.Assumption]
    ) -> None:
        """Search for a plan without the conflict.

        :param assumed: assumptions of the conflict
        """
        assignments = len(oracle.problem.class_of) * len(oracle.problem.hosts)
        is_small = assignments <= tuning.SMALL_VARIABLES
        self.efforts: tuple[int, ...] = (
            (FULL,) if is_small else (LOCAL, REINSERT, FULL)
        )
        self.effort = self.efforts[0]
        self._oracle = oracle
        self._problem = oracle.problem
        self._assumed = frozenset(assumed)
        self._concerned = self._find_concerned()
        self._cache = monotone_cache.MonotoneCache(oracle.problem)
        self._tried: dict[tuple[monotone_cache.Effect, int], Plan | None] = {}
        rest = frozenset(assumptions.of_problem(self._problem)) - self._assumed
        problem = assumptions.restrict_to(self._problem, rest)
        verdict = oracle.find(problem, tuning.BASE_SHARE)
        self._plan = verdict.plan
        self.is_unsolved = verdict.plan is None
        self.is_undecided = self.is_unsolved and not verdict.is_infeasible
        self.best_partial_plan = verdict.best_partial_plan

    def helps(self, relaxation: Relaxation) -> bool:
        """Check whether a relaxed problem is known to have a plan."""
        helps = self._cache.get(relaxation)
        if helps is None and self._is_new_attempt(relaxation):
            problem = relaxation.apply(self._problem)
            reduced = assumptions.restrict_to(
                problem, frozenset(assumptions.of_problem(problem))
            )
            if self._oracle.is_problem_excluded(reduced):
                # Attempts would take several times as long.
                verdict = feasibility.Verdict(is_infeasible=True)
            else:
                verdict = self._find(reduced)
            if verdict.plan is not None:
                self._verify(problem, verdict.plan)
                self._plan = verdict.plan
            if verdict.plan is not None or verdict.is_infeasible:
                helps = verdict.plan is not None
                self._cache.store(relaxation, helps)
        return bool(helps)

    def _is_new_attempt(self, relaxation: Relaxation) -> bool:
        """Check whether effort level or known plan is new to a relaxation."""
        key = self._cache.key(relaxation), self.effort
        is_new = key not in self._tried or self._tried[key] is not self._plan
        self._tried[key] = self._plan
        return is_new

    def use(self, plan: Plan | None) -> None:
        """Derive further plans from this one, unless it is None."""
        self._plan = plan or self._plan

    def _find(self, problem: problems.Problem) -> feasibility.Verdict:
        """Return the verdict on a relaxed problem."""
        base = self._base_plan(problem)
        plan = self._adapt(problem, base)
        if plan is not None:
            return feasibility.Verdict(plan)
        if self.effort == FULL or base is None:
            return self._oracle.find(problem)
        if self.effort == REINSERT:
            return self._reinsert(problem, base)
        return feasibility.Verdict()

    def _verify(self, problem: problems.Problem, plan: Plan) -> None:
        violated = violations.find(problem, plan)
        if violated:
            raise RuntimeError(
                f'the plan violates the changed problem: {violated}'
            )

    def _base_plan(self, problem: problems.Problem) -> Plan | None:
        """Return the known plan, reduced to the members of a problem."""
        return self._plan and self._plan.only(problem.class_of)

    def _adapt(
        self, problem: problems.Problem, base: Plan | None
    ) -> Plan | None:
        """Return the base plan, adapted by moving few members, or None."""
        if base is None:
            return None
        if not violations.find(problem, base):
            return base
        if not self._oracle.budget.remaining():
            return None
        missing = problem.class_of.keys() - base.placement.keys()
        moving = self._concerned.union(missing)
        return self._move(problem, base, moving) or self._move(
            problem, base, self._with_others(problem, base, moving)
        )

    def _move(
        self, problem: problems.Problem, base: Plan, moving: Collection[Path]
    ) -> Plan | None:
        """Return a base plan with some members on other hosts, or None."""
        if not moving:
            return None
        smaller = subproblem.fix_others(problem, base, moving)
        plan = self._oracle.probe(smaller, tuning.ATTEMPT_SHARE).plan
        if plan is None:
            return None
        plan = subproblem.restore_alternatives(base, plan)
        # The base plan may violate a policy that was soft when it was found.
        return None if violations.find(problem, plan) else plan

    def _reinsert(
        self, problem: problems.Problem, base: Plan
    ) -> feasibility.Verdict:
        """Complete a base plan by reinsertion of the missing members."""
        if self._oracle.is_out_of_time():
            return feasibility.Verdict()
        plan = self._oracle.complete(problem, base, tuning.ATTEMPT_SHARE)
        if plan is None or violations.find(problem, plan):
            return feasibility.Verdict()
        return feasibility.Verdict(plan, stage='repair')

    def _with_others(
        self, problem: problems.Problem, base: Plan, moving: Set[Path]
    ) -> Set[Path]:
        """Return some members and the few others in their way.

        The set is empty if there are no others or too many.
        """
        hosts = self._oracle.hosts_for(problem, moving)
        others = self._find_others(problem, base, hosts) - moving
        if len(others) > tuning.MAX_OTHERS:
            # Only members on the hosts that the conflict alone would use.
            conflict = assumptions.restrict_to(problem, self._assumed)
            plan = self._oracle.probe(conflict, tuning.ATTEMPT_SHARE).plan
            hosts = set(plan.placement.values()) if plan else set()
            others = self._find_others(problem, base, hosts) - moving
        return (
            moving | others if 0 < len(others) <= tuning.MAX_OTHERS else set()
        )

    def _find_others(
        self, problem: problems.Problem, base: Plan, hosts: Container[HostId]
    ) -> set[Path]:
        """Return movable members on some hosts, and those bound to them."""
        others = {
            path for path, host in base.placement.items() if host in hosts
        }
        for policy in problem.topology.policies:
            # Members can only leave a shared domain together.
            if (
                policy.strict
                and policy.binds_one_domain
                and not policy.paths.isdisjoint(others)
            ):
                others |= policy.paths & base.placement.keys()
        return others & problem.movable

    def _find_concerned(self) -> set[Path]:
        """Return the movable members that the conflict concerns."""
        member_sets = {
            each.path
            for each in self._assumed
            if isinstance(each, assumptions.MemberAssumption)
        }
        covered = assumptions.covered_paths(self._problem, self._assumed)
        return {
            member.path
            for member in self._problem.topology.members
            if member.path not in self._problem.pinned
            and (member.member_set in member_sets or member.path in covered)
        }
