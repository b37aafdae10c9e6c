# SPDX-License-Identifier: Apache-2.0
"""Few tags that exclude one another."""

from unittest import mock

from oslotest import base

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.explain import feasibility_oracle
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import time_budget
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def find(*args, seconds=60, **kwargs):
    problem = builders.problem(*args, **kwargs)
    asked = feasibility_oracle.Oracle(problem, time_budget.TimeBudget(seconds))
    return minimal_conflict.find(asked, assumptions.of(problem))


def names(found):
    return [each.path if len(each) == 1 else each.type for each in found.tags]


class TestShrink(base.BaseTestCase):
    def shrink(self, tags, *conflicts):
        self.asked = 0

        def is_impossible(some):
            self.asked += 1
            return any(conflict <= set(some) for conflict in conflicts)

        return minimal_conflict.quickxplain(is_impossible, tags)

    def test_what_is_left_is_a_conflict_and_minimal(self):
        for conflict in ({0}, {31}, {3, 17}, {0, 1, 2}, {5, 6, 20, 31}):
            found = self.shrink(list(range(32)), conflict)
            self.assertEqual(conflict, set(found))

    def test_few_among_many_take_few_questions(self):
        self.shrink(list(range(1024)), {100, 900})
        self.assertLess(self.asked, 50)

    def test_of_several_conflicts_the_one_of_the_first_tags(self):
        self.assertEqual([1, 2], self.shrink([1, 2, 3], {1, 2}, {2, 3}))

    def test_questions_without_an_answer_leave_a_conflict(self):
        def is_impossible(some):
            return 4 in some and len(some) > 5

        found = minimal_conflict.quickxplain(is_impossible, list(range(10)))
        self.assertIn(4, found)


class TestFind(base.BaseTestCase):
    def test_a_policy_and_the_members_it_is_about(self):
        found = find(
            racks(a=(2,), b=(2,)),
            group(groups={'g': group([policy('affinity', 'rack')], w=3)}, x=1),
        )
        self.assertEqual(['affinity', 'g/w'], names(found))
        self.assertTrue(found.is_minimal)

    def test_members_alone_where_they_do_not_fit_anyhow(self):
        found = find(
            racks(a=(2,), b=(2,)),
            group([policy('affinity', 'rack')], w=3, x=2),
        )
        self.assertEqual(['w', 'x'], names(found))

    def test_a_linked_part_rather_than_everything(self):
        # Comparisons do not tell: two threes leave no room for the two.
        classes = {
            'three': {'request': {'VCPU': 3}},
            'two': {'request': {'VCPU': 2}},
        }
        found = find(
            racks(a=(4, 4), b=(4, 4)),
            group(
                groups={
                    'g': group(
                        [policy('affinity', 'rack')],
                        three={'class': 'three', 'count': 2},
                        two={'class': 'two'},
                    ),
                    'h': group([policy('anti-affinity', 'host')], w=2),
                }
            ),
            classes,
        )
        self.assertEqual(['affinity', 'g/three', 'g/two'], names(found))
        self.assertTrue(found.is_minimal)

    def test_without_time_the_conflict_may_be_more_than_is_needed(self):
        everything = group(
            [policy('affinity', 'rack'), policy('spread', 'host')], w=3
        )
        found = find(racks(a=(2,), b=(2,)), everything, seconds=0)
        self.assertEqual(['affinity', 'w'], names(found))
        self.assertFalse(found.is_minimal)

    def test_a_plan_of_what_was_proved_impossible_is_a_bug(self):
        verdict = feasibility.Verdict(plan=object())
        with mock.patch.object(feasibility, 'ask', return_value=verdict):
            self.assertRaises(RuntimeError, find, racks(a=(2,)), group(w=3))
