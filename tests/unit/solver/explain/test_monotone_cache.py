# SPDX-License-Identifier: Apache-2.0
"""The monotone cache: answers that follow from known answers."""

from oslotest import base

from nova_groupext.solver.explain import corrections
from nova_groupext.solver.explain import monotone_cache
from nova_groupext.solver.model import assumptions
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

POLICY = assumptions.PolicyAssumption('', 'affinity', 'rack')


def relaxation(v, w, *softened):
    return corrections.Relaxation(
        softened=softened, min_counts=(('v', v), ('w', w))
    )


class TestMonotoneCache(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        problem = builders.problem(racks(a=(2,)), group(v=3, w=3))
        self.cache = monotone_cache.MonotoneCache(problem)

    def test_empty_cache_has_no_answer(self):
        self.assertIsNone(self.cache.get(relaxation(0, 0)))

    def test_helpful_change_helps_with_fewer_members(self):
        self.cache.store(relaxation(2, 1), True)
        self.assertIs(True, self.cache.get(relaxation(2, 1)))
        self.assertIs(True, self.cache.get(relaxation(1, 1)))
        self.assertIsNone(self.cache.get(relaxation(1, 2)))
        self.assertIsNone(self.cache.get(relaxation(3, 0)))

    def test_useless_change_does_not_help_with_more_members(self):
        self.cache.store(relaxation(2, 1), False)
        self.assertIs(False, self.cache.get(relaxation(2, 2)))
        self.assertIsNone(self.cache.get(relaxation(1, 1)))
        self.assertIsNone(self.cache.get(relaxation(3, 0)))

    def test_helpful_change_helps_with_more_soft_policies(self):
        self.cache.store(relaxation(2, 2), True)
        self.assertIs(True, self.cache.get(relaxation(2, 2, POLICY)))
        self.cache.store(relaxation(3, 3, POLICY), False)
        self.assertIs(False, self.cache.get(relaxation(3, 3)))

    def test_unchanged_member_sets_make_no_difference(self):
        self.cache.store(relaxation(2, 3), True)
        only = corrections.Relaxation(min_counts=(('v', 2),))
        self.assertIs(True, self.cache.get(only))
