# SPDX-License-Identifier: Apache-2.0
"""Is a plan found by whatever stage can, and refused by none but one?"""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.search import feasible
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class FeasibleCase(base.BaseTestCase):
    def find(self, *args, seconds=60, **others):
        problem = builders.problem(*args, **others)
        verdict = feasible.find(problem, time_budget.TimeBudget(seconds))
        if verdict.plan is not None:
            self.assertEqual([], violations.find(problem, verdict.plan))
            self.assertFalse(verdict.is_impossible)
        return verdict


class TestFind(FeasibleCase):
    """Small and large problems alike."""

    SMALL = feasible.SMALL

    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(feasible, 'SMALL', self.SMALL)
        )

    def test_an_attempt_is_often_enough(self):
        verdict = self.find(racks(a=(2, 2)), group(w=4))
        self.assertEqual('greedy', verdict.stage)
        self.assertEqual(4, len(verdict.plan.placement))

    def find_without_attempts(self, module, **constants):
        attempts = {'attempt': lambda *_, **__: None}
        for where, what in (
            (module, constants),
            (squeaky_wheel.SqueakyWheel, attempts),
        ):
            for name, value in what.items():
                self.useFixture(fixtures.MockPatchObject(where, name, value))
        return self.find(racks(a=(2, 2)), group(w=4))

    def test_some_hosts_where_there_is_no_time_for_all(self):
        verdict = self.find_without_attempts(
            feasibility, has_time_for=lambda *_: False
        )
        self.assertEqual('restricted', verdict.stage)

    def test_some_hosts_where_all_take_long_although_they_are_few(self):
        verdict = self.find_without_attempts(feasible, _AT_ONCE=0)
        self.assertEqual('restricted', verdict.stage)

    def test_only_all_hosts_prove_that_there_is_none(self):
        verdict = self.find(
            racks(a=(3, 3)),
            group(w={'class': 'two', 'count': 3}),
            {'two': {'request': {'VCPU': 2}}},
        )
        self.assertIsNone(verdict.plan)
        self.assertTrue(verdict.is_impossible)
        self.assertEqual('full', verdict.stage)

    def test_no_time_is_no_proof(self):
        problem = builders.hard_problem()
        verdict = feasible.find(problem, time_budget.TimeBudget(0))
        self.assertIsNone(verdict.plan)
        self.assertFalse(verdict.is_impossible)

    def test_nobody_to_seat(self):
        verdict = self.find(racks(a=(0,)), group(w=1), pinned={'w-0': 'a1'})
        self.assertEqual({'w-0': 'a1'}, verdict.plan.placement)

    def test_no_hosts(self):
        self.assertTrue(self.find([], group(w=1)).is_impossible)
        some = {'class': 'one', 'min_count': 0}
        self.assertEqual({}, self.find([], group(w=some)).plan.placement)

    def test_a_class_that_may_go_nowhere(self):
        classes = {'none': {'request': {}, 'hosts': []}}
        for least, is_impossible in ((0, False), (1, True)):
            some = {'class': 'none', 'count': 2, 'min_count': least}
            verdict = self.find(racks(a=(8,)), group(w=1, x=some), classes)
            self.assertEqual(is_impossible, verdict.is_impossible)

    def test_all_policies_together(self):
        below = {
            'f': group([policy('affinity', 'rack')], w=3),
            'g': group(
                [
                    policy('exclusive', 'rack'),
                    policy('anti-affinity', 'host', max_per_domain=2),
                ],
                w=3,
            ),
        }
        verdict = self.find(
            racks(a=(2, 2), b=(3,), c=(3, 3), d=(1, 1, 1)),
            group(
                [
                    policy('spread', 'rack', max_skew=3),
                    policy('survive', 'rack', min_members=5),
                ],
                groups=below,
                o=2,
            ),
        )
        self.assertEqual(8, len(verdict.plan.placement))


class TestFindLarge(TestFind):
    """All problems go the way of large ones."""

    SMALL = 0


class TestStages(FeasibleCase):
    """What comes after attempts that all fail."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(feasible, 'SMALL', 0))
        attempt = squeaky_wheel.SqueakyWheel.attempt
        # They leave what they came to, as if a member had found no place.
        self.useFixture(
            fixtures.MockPatchObject(
                squeaky_wheel.SqueakyWheel,
                'attempt',
                lambda *args, **kwargs: attempt(*args, **kwargs) and None,
            )
        )

    def test_some_hosts_may_be_enough(self):
        verdict = self.find(racks(a=(2, 2, 2)), group(w=3))
        self.assertEqual('restricted', verdict.stage)

    def test_too_few_of_them_prove_nothing(self):
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in (3, 4, 5)}
        members = {f'm{n}': {'class': f'c{n}', 'count': 2} for n in (3, 4, 5)}
        verdict = self.find(racks(a=(8, 8, 8, 2)), group(**members), classes)
        self.assertIsNotNone(verdict.plan)

    def test_nor_do_those_who_cannot_be_brought_in(self):
        verdict = self.find(
            racks(a=(3, 3)),
            group(w={'class': 'two', 'count': 3}),
            {'two': {'request': {'VCPU': 2}}},
        )
        self.assertTrue(verdict.is_impossible)
        self.assertEqual('full', verdict.stage)


class TestAsk(base.BaseTestCase):
    """The exact programme, asked alone."""

    def ask(self, *args, seconds=60, **others):
        problem = builders.problem(*args, **others)
        return feasibility.ask(problem, time_budget.TimeBudget(seconds))

    def test_a_plan(self):
        verdict = self.ask(racks(a=(1, 1)), group(w=2))
        self.assertEqual({'a1', 'a2'}, set(verdict.plan.placement.values()))
        self.assertFalse(verdict.is_impossible)
        self.assertEqual('full', verdict.stage)

    def test_a_proof(self):
        verdict = self.ask(racks(a=(1,)), group(w=2))
        self.assertIsNone(verdict.plan)
        self.assertTrue(verdict.is_impossible)

    def test_neither(self):
        verdict = feasibility.ask(
            builders.hard_problem(), time_budget.TimeBudget(0)
        )
        self.assertIsNone(verdict.plan)
        self.assertFalse(verdict.is_impossible)


class TestComplete(base.BaseTestCase):
    """A plan is made from another one."""

    def complete(self, small=0, **placement):
        self.useFixture(fixtures.MockPatchObject(feasible, 'SMALL', small))
        problem = builders.problem(
            racks(a=(2, 3)),
            group(v=2, w={'class': 'two', 'count': 1}),
            {'two': {'request': {'VCPU': 3}}},
        )
        plan = violations.Plan(placement, {})
        budget = time_budget.TimeBudget(60)
        return feasible.complete(problem, plan, budget, 0.5)

    def no_attempts(self):
        self.useFixture(
            fixtures.MockPatchObject(
                squeaky_wheel.SqueakyWheel, 'attempt', lambda *_, **__: None
            )
        )

    def test_an_attempt_is_often_enough(self):
        plan = self.complete(**{'v-0': 'a2'})
        self.assertEqual(
            {'v-0': 'a1', 'v-1': 'a1', 'w-0': 'a2'}, plan.placement
        )

    def test_who_is_there_makes_room(self):
        self.no_attempts()
        plan = self.complete(**{'v-0': 'a2', 'v-1': 'a2'})
        self.assertEqual(
            {'v-0': 'a1', 'v-1': 'a1', 'w-0': 'a2'}, plan.placement
        )

    def test_a_small_problem_is_left_to_others(self):
        self.assertIsNone(self.complete(small=100))

    def test_nobody_is_missing(self):
        placement = {'v-0': 'a1', 'v-1': 'a1', 'w-0': 'a2'}
        self.assertIsNone(self.complete(**placement))
