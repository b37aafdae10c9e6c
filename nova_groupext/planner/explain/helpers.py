# SPDX-License-Identifier: Apache-2.0
"""Does the whole problem have a plan with a change?

A plan without what the change is about is looked for once. Mostly it can be
completed: all others stay where they are, and only those that the conflict is
about have to find a place. If they find none, all are asked.
"""

import itertools

from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner import tags as tag

# What looking for the plan that is to be completed may use up of the time.
_FIRST_SHARE = 1 / 2


class Helpers:
    """Plans of changed problems, each found with the help of the one before.

    :ivar is_in_vain: there is no plan even without the conflict's tags, or
        none was found in time
    """

    def __init__(self, questions, tags):
        """Look for a plan without some tags.

        :param questions: questions.Questions about the problem
        :param tags: those of a conflict
        """
        self._questions = questions
        self._problem = questions.problem
        self._moving = self._find_moving(tags)
        rest = frozenset(tag.of(self._problem)).difference(tags)
        self._plan = questions.find(
            tag.keep(self._problem, rest), _FIRST_SHARE
        ).plan
        self.is_in_vain = self._plan is None

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
        part = subproblem.around(problem, known, moving)
        plan = self._questions.find(part).plan
        if plan is None:
            return None
        plan = subproblem.back(known, plan)
        # Others may stand where they can only while a policy is soft.
        return None if rules.faults(problem, plan) else plan

    def _find_moving(self, tags):
        """Paths of the members that a conflict is about."""
        stems = {each.path for each in tags if isinstance(each, tag.Members)}
        policies = tag.policies(self._problem, frozenset(tags))
        covered = set(itertools.chain(*(s for p in policies for s in p.sides)))
        return {
            member.path
            for member in self._problem.topology.members
            if member.path not in self._problem.pinned
            and (member.stem in stems or member.path in covered)
        }
