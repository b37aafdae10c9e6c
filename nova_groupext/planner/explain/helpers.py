# SPDX-License-Identifier: Apache-2.0
"""Does the whole problem have a plan with a change?

A plan that was found with one change can mostly be turned into a plan with
another: all stay where they are but those that the conflict is about, and if
need be those that are in their way. Only if that is in vain all are placed
anew. While no plan is known, one without all that the conflict is about tells
whether it is worth the while.
"""

import itertools

from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner import tags as tag

# What looking for a plan without the conflict may use up of the time.
_SHARE_WITHOUT = 1 / 2

# Members that are moved out of the way.
_MOST_OTHERS = 100


class Helpers:
    """Plans of changed problems, found with the help of the one before.

    :ivar is_hopeless: in all the time there was no plan was found, not even
        without the conflict, and it is not known that there is none
    """

    def __init__(self, questions, tags):
        """Nothing is looked for yet.

        :param questions: questions.Questions about the problem
        :param tags: those of a conflict
        """
        self._questions = questions
        self._problem = questions.problem
        self._tags = frozenset(tags)
        self._moving = self._find_moving()
        self._plan = None
        # No plan was found even without the conflict.
        self._is_in_vain = False
        self.is_hopeless = False

    def helps(self, change):
        """Whether the changed problem is known to have a plan."""
        problem = change.apply(self._problem)
        needed = tag.keep(problem, frozenset(tag.of(problem)))
        plan = self._complete(needed) or self._questions.find(needed).plan
        if plan is None:
            return False
        faults = rules.faults(problem, plan)
        if faults:
            raise RuntimeError(f'no plan of the changed problem: {faults}')
        self._plan = plan
        return True

    def helps_alone(self, change):
        """The same for a change of what the conflict is about, no more."""
        if self._is_in_vain:
            return False
        helps = self.helps(change)
        if self._plan is None:
            self._find_without()
        return helps

    def _find_without(self):
        """Look for a plan without the conflict."""
        rest = frozenset(tag.of(self._problem)) - self._tags
        problem = tag.keep(self._problem, rest)
        verdict = self._questions.find(problem, _SHARE_WITHOUT)
        self._plan = verdict.plan
        self._is_in_vain = verdict.plan is None
        self.is_hopeless = self._is_in_vain and not verdict.is_impossible

    def _complete(self, problem):
        """The known plan with others in place of those that may move."""
        if self._plan is None:
            return None
        paths = problem.class_of.keys()
        known = rules.Plan(
            *(
                {path: by[path] for path in paths & by.keys()}
                for by in (self._plan.placement, self._plan.alternative)
            )
        )
        moving = self._moving.union(paths - known.placement.keys())
        plan = self._move(problem, known, moving)
        if plan is None:
            others = self._find_others(problem, known, moving)
            plan = others and self._move(problem, known, moving | others)
        return plan

    def _move(self, problem, known, moving):
        """A known plan with some members in other places."""
        part = subproblem.around(problem, known, moving)
        plan = self._questions.find(part).plan
        if plan is None:
            return None
        plan = subproblem.back(known, plan)
        # Others may stand where they can only while a policy is soft.
        return None if rules.faults(problem, plan) else plan

    def _find_others(self, problem, known, moving):
        """Paths of few members that are where some others could be."""
        hosts = self._questions.hosts_for(problem, moving)
        others = {
            path
            for path, host in known.placement.items()
            if host in hosts and path not in problem.pinned
        }
        return others - moving if len(others) <= _MOST_OTHERS else set()

    def _find_moving(self):
        """Paths of the members that the conflict is about."""
        stems = {t.path for t in self._tags if isinstance(t, tag.Members)}
        policies = tag.policies(self._problem, self._tags)
        covered = set(itertools.chain(*(s for p in policies for s in p.sides)))
        return {
            member.path
            for member in self._problem.topology.members
            if member.path not in self._problem.pinned
            and (member.stem in stems or member.path in covered)
        }
