# SPDX-License-Identifier: Apache-2.0
"""Plans of relaxed problems, derived from plans that are known.

A plan without the assumptions of the conflict comes first: if there is none,
no relaxation of this conflict alone helps. This plan, and any plan of one
relaxation, can mostly be adapted to another: only members that the conflict
concerns move and, if necessary, those in their way. If that fails, more effort
is needed: reinsertion of the missing members, and finally a new plan.
"""

import itertools

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.explain import monotone_cache
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.policies import violations
from nova_groupext.solver.search import feasible

#: Effort levels for one relaxation, the lowest first.
MOVE, REPAIR, ANEW = range(3)

# Share of the remaining time for the plan without the conflict, and for each
# attempt to adapt a plan.
_SHARE_WITHOUT = 1 / 2
_SHARE_TURN = 1 / 10

# Limit on members that move out of the way.
_MOST_OTHERS = 100

# Members under these policies can only leave a shared domain together.
_BONDS = ('affinity', 'network-proximity')


class RelaxedPlans:
    """Plans of relaxed problems, each derived from the one before.

    :ivar patience: effort level: MOVE, REPAIR or ANEW
    :ivar levels: effort levels to use in turn; ANEW only, if the problem is
        small
    :ivar is_in_vain: whether no plan was found even without the conflict
    :ivar is_hopeless: the same, and there is no proof that none exists
    :ivar closest: best partial plan without the conflict, feasible except for
        the members it leaves out, or None
    """

    def __init__(self, questions, tags):
        """Search for a plan without the conflict.

        :param questions: feasibility_oracle.Oracle of the problem
        :param tags: assumptions of the conflict
        """
        seats = len(questions.problem.class_of) * len(questions.problem.hosts)
        is_small = seats <= feasible.SMALL
        self.levels = (ANEW,) if is_small else (MOVE, REPAIR, ANEW)
        self.patience = self.levels[0]
        self._questions = questions
        self._problem = questions.problem
        self._tags = frozenset(tags)
        self._moving = self._find_moving()
        self._answers = monotone_cache.MonotoneCache(questions.problem)
        self._tried = {}
        rest = frozenset(assumptions.of(self._problem)) - self._tags
        problem = assumptions.restrict_to(self._problem, rest)
        verdict = questions.find(problem, _SHARE_WITHOUT)
        self._plan = verdict.plan
        self.is_in_vain = verdict.plan is None
        self.is_hopeless = self.is_in_vain and not verdict.is_impossible
        self.closest = verdict.closest

    def helps(self, change):
        """Check whether a relaxed problem is known to have a plan."""
        known = self._answers.recall(change)
        if known is None and self._is_worth_a_try(change):
            problem = change.apply(self._problem)
            verdict = self._find(
                assumptions.restrict_to(
                    problem, frozenset(assumptions.of(problem))
                )
            )
            if verdict.plan is not None:
                self._check(problem, verdict.plan)
                self._plan = verdict.plan
            if verdict.plan is not None or verdict.is_impossible:
                known = verdict.plan is not None
                self._answers.note(change, known)
        return bool(known)

    def _is_worth_a_try(self, change):
        """Check whether effort level or known plan is new to a relaxation."""
        key = self._answers.key(change), self.patience
        is_new = key not in self._tried or self._tried[key] is not self._plan
        self._tried[key] = self._plan
        return is_new

    def use(self, plan):
        """Derive further plans from this one, unless it is None."""
        self._plan = plan or self._plan

    def _find(self, problem):
        """Return the feasibility.Verdict on a relaxed problem."""
        known = self._known(problem)
        plan = self._complete(problem, known)
        if plan is not None:
            return feasibility.Verdict(plan)
        if self.patience == ANEW or known is None:
            return self._questions.find(problem)
        if self.patience == REPAIR:
            return self._repair(problem, known)
        return feasibility.Verdict()

    def _check(self, problem, plan):
        faults = violations.find(problem, plan)
        if faults:
            raise RuntimeError(f'no plan of the changed problem: {faults}')

    def _known(self, problem):
        """Return the known plan, reduced to the members of a problem."""
        return self._plan and self._plan.only(problem.class_of)

    def _complete(self, problem, known):
        """Return the known plan, adapted by moving few members, or None."""
        if known is None:
            return None
        if not violations.find(problem, known):
            return known
        if not self._questions.budget.left():
            return None
        missing = problem.class_of.keys() - known.placement.keys()
        moving = self._moving.union(missing)
        return self._move(problem, known, moving) or self._move(
            problem, known, self._with_others(problem, known, moving)
        )

    def _move(self, problem, known, moving):
        """Return a known plan with some members on other hosts, or None."""
        if not moving:
            return None
        part = subproblem.around(problem, known, moving)
        plan = self._questions.probe(part, _SHARE_TURN).plan
        if plan is None:
            return None
        plan = subproblem.back(known, plan)
        # The known plan may break a policy that was soft when it was found.
        return None if violations.find(problem, plan) else plan

    def _repair(self, problem, known):
        """Complete a known plan by reinsertion of the missing members.

        :returns: feasibility.Verdict
        """
        if self._questions.is_late():
            return feasibility.Verdict()
        if self._questions.is_ruled_out(problem):
            return feasibility.Verdict(is_impossible=True)
        plan = self._questions.complete(problem, known, _SHARE_TURN)
        if plan is None or violations.find(problem, plan):
            return feasibility.Verdict()
        return feasibility.Verdict(plan, stage='repair')

    def _with_others(self, problem, known, moving):
        """Return some members and the few others in their way.

        :returns: set of paths, empty if there are no others or too many
        """
        hosts = self._questions.hosts_for(problem, moving)
        others = self._find_others(problem, known, hosts) - moving
        if len(others) > _MOST_OTHERS:
            # Only members on the hosts that the conflict alone would use.
            part = assumptions.restrict_to(problem, self._tags)
            plan = self._questions.probe(part, _SHARE_TURN).plan
            hosts = set(plan.placement.values()) if plan else set()
            others = self._find_others(problem, known, hosts) - moving
        return moving | others if 0 < len(others) <= _MOST_OTHERS else set()

    def _find_others(self, problem, known, hosts):
        """Return movable members on some hosts, and those bound to them."""
        others = {
            path for path, host in known.placement.items() if host in hosts
        }
        for policy in problem.topology.policies:
            if policy.strict and policy.type in _BONDS:
                bound = set(itertools.chain(*policy.sides))
                if not bound.isdisjoint(others):
                    others |= bound & known.placement.keys()
        return others & problem.movable

    def _find_moving(self):
        """Return paths of the movable members that the conflict concerns."""
        stems = {
            t.path
            for t in self._tags
            if isinstance(t, assumptions.MemberAssumption)
        }
        policies = assumptions.policies(self._problem, self._tags)
        covered = set(itertools.chain(*(s for p in policies for s in p.sides)))
        return {
            member.path
            for member in self._problem.topology.members
            if member.path not in self._problem.pinned
            and (member.stem in stems or member.path in covered)
        }
