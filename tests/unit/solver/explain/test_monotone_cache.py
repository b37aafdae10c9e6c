# SPDX-License-Identifier: Apache-2.0
"""What follows from what is known of a change."""

from oslotest import base

from nova_groupext.solver.explain import corrections
from nova_groupext.solver.explain import monotone_cache
from nova_groupext.solver.model import assumptions
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

RULE = assumptions.PolicyAssumption('', 'affinity', 'rack')


def change(v, w, *rules):
    return corrections.Relaxation(rules=rules, least=(('v', v), ('w', w)))


class TestAnswers(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        problem = builders.problem(racks(a=(2,)), group(v=3, w=3))
        self.answers = monotone_cache.MonotoneCache(problem)

    def test_nothing_is_known_at_first(self):
        self.assertIsNone(self.answers.recall(change(0, 0)))

    def test_what_helps_helps_with_fewer_members(self):
        self.answers.note(change(2, 1), True)
        self.assertIs(True, self.answers.recall(change(2, 1)))
        self.assertIs(True, self.answers.recall(change(1, 1)))
        self.assertIsNone(self.answers.recall(change(1, 2)))
        self.assertIsNone(self.answers.recall(change(3, 0)))

    def test_what_does_not_help_does_not_with_more(self):
        self.answers.note(change(2, 1), False)
        self.assertIs(False, self.answers.recall(change(2, 2)))
        self.assertIsNone(self.answers.recall(change(1, 1)))
        self.assertIsNone(self.answers.recall(change(3, 0)))

    def test_more_soft_policies_help_no_less(self):
        self.answers.note(change(2, 2), True)
        self.assertIs(True, self.answers.recall(change(2, 2, RULE)))
        self.answers.note(change(3, 3, RULE), False)
        self.assertIs(False, self.answers.recall(change(3, 3)))

    def test_stems_that_a_change_keeps_make_no_difference(self):
        self.answers.note(change(2, 3), True)
        only = corrections.Relaxation(least=(('v', 2),))
        self.assertIs(True, self.answers.recall(only))
