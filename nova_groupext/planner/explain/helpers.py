# SPDX-License-Identifier: Apache-2.0
"""Does the whole problem have a plan with a change?

A plan without all that the conflict is about is looked for first: it tells
whether any change of the conflict alone is worth the while. Such a plan, and
any that was found with one change, can mostly be turned into a plan with
another: all stay where they are but those that the conflict is about, and if
need be those that are in their way. Where that is in vain it takes patience:
others are moved one after the other, and only at last all are placed anew.
"""

import itertools

from nova_groupext.planner import ask
from nova_groupext.planner import feasible
from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner import tags as tag
from nova_groupext.planner.explain import answers

#: How much is done for one change, the least first.
MOVE, REPAIR, ANEW = range(3)

# What looking for a plan without the conflict may use up of the time, and
# each way to turn a plan into another one.
_SHARE_WITHOUT = 1 / 2
_SHARE_TURN = 1 / 10

# Members that are moved out of the way.
_MOST_OTHERS = 100

# Whoever shares a domain can only leave it together.
_BONDS = ('affinity', 'network-proximity')


class Helpers:
    """Plans of changed problems, found with the help of the one before.

    :ivar patience: MOVE, REPAIR or ANEW
    :ivar levels: what the patience may be in turn; a small problem is placed
        anew as soon as it is changed
    :ivar is_in_vain: no plan was found even without the conflict
    :ivar is_hopeless: and it is not known that there is none
    :ivar closest: if it is in vain: a plan that leaves out more members,
        lawful as far as it goes, or None
    """

    def __init__(self, questions, tags):
        """Look for a plan without the conflict.

        :param questions: questions.Questions about the problem
        :param tags: those of a conflict
        """
        seats = len(questions.problem.class_of) * len(questions.problem.hosts)
        is_small = seats <= feasible.SMALL
        self.levels = (ANEW,) if is_small else (MOVE, REPAIR, ANEW)
        self.patience = self.levels[0]
        self._questions = questions
        self._problem = questions.problem
        self._tags = frozenset(tags)
        self._moving = self._find_moving()
        self._answers = answers.Answers(questions.problem)
        self._tried = {}
        rest = frozenset(tag.of(self._problem)) - self._tags
        problem = tag.keep(self._problem, rest)
        verdict = questions.find(problem, _SHARE_WITHOUT)
        self._plan = verdict.plan
        self.is_in_vain = verdict.plan is None
        self.is_hopeless = self.is_in_vain and not verdict.is_impossible
        self.closest = verdict.closest

    def helps(self, change):
        """Whether the changed problem is known to have a plan."""
        known = self._answers.recall(change)
        if known is None and self._is_worth_a_try(change):
            problem = change.apply(self._problem)
            verdict = self._find(tag.keep(problem, frozenset(tag.of(problem))))
            if verdict.plan is not None:
                self._check(problem, verdict.plan)
                self._plan = verdict.plan
            if verdict.plan is not None or verdict.is_impossible:
                known = verdict.plan is not None
                self._answers.note(change, known)
        return bool(known)

    def _is_worth_a_try(self, change):
        """Whether not all the same has been tried in vain."""
        key = self._answers.key(change), self.patience
        is_new = key not in self._tried or self._tried[key] is not self._plan
        self._tried[key] = self._plan
        return is_new

    def use(self, plan):
        """Make others from this plan from now on, unless it is None."""
        self._plan = plan or self._plan

    def _find(self, problem):
        """ask.Verdict of a changed problem."""
        known = self._known(problem)
        plan = self._complete(problem, known)
        if plan is not None:
            return ask.Verdict(plan)
        if self.patience == ANEW or known is None:
            return self._questions.find(problem)
        if self.patience == REPAIR:
            return self._repair(problem, known)
        return ask.Verdict()

    def _check(self, problem, plan):
        faults = rules.faults(problem, plan)
        if faults:
            raise RuntimeError(f'no plan of the changed problem: {faults}')

    def _known(self, problem):
        """The known plan, as far as it is about members of a problem."""
        return self._plan and self._plan.only(problem.class_of)

    def _complete(self, problem, known):
        """A known plan with others in place of those that may move."""
        if known is None:
            return None
        if not rules.faults(problem, known):
            return known
        if not self._questions.clock.left():
            return None
        missing = problem.class_of.keys() - known.placement.keys()
        moving = self._moving.union(missing)
        return self._move(problem, known, moving) or self._move(
            problem, known, self._with_others(problem, known, moving)
        )

    def _move(self, problem, known, moving):
        """A known plan with some members in other places."""
        if not moving:
            return None
        part = subproblem.around(problem, known, moving)
        plan = self._questions.glance(part, _SHARE_TURN).plan
        if plan is None:
            return None
        plan = subproblem.back(known, plan)
        # Others may stand where they can only while a policy is soft.
        return None if rules.faults(problem, plan) else plan

    def _repair(self, problem, known):
        """A known plan with the missing ones brought in one by one.

        :returns: ask.Verdict
        """
        if self._questions.is_late():
            return ask.Verdict()
        if self._questions.is_ruled_out(problem):
            return ask.Verdict(is_impossible=True)
        plan = self._questions.complete(problem, known, _SHARE_TURN)
        if plan is None or rules.faults(problem, plan):
            return ask.Verdict()
        return ask.Verdict(plan, stage='repair')

    def _with_others(self, problem, known, moving):
        """Some members and the few that are in their way.

        :returns: set of paths, empty if those are none or too many
        """
        hosts = self._questions.hosts_for(problem, moving)
        others = self._find_others(problem, known, hosts) - moving
        if len(others) > _MOST_OTHERS:
            # Those only that are where they would be if they were alone.
            part = tag.keep(problem, self._tags)
            plan = self._questions.glance(part, _SHARE_TURN).plan
            hosts = set(plan.placement.values()) if plan else set()
            others = self._find_others(problem, known, hosts) - moving
        return moving | others if 0 < len(others) <= _MOST_OTHERS else set()

    def _find_others(self, problem, known, hosts):
        """Paths of the members on some hosts, and of those bound to them."""
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
