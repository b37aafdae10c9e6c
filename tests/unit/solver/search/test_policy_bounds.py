# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of the soft cost from policies alone."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import affinity
from nova_groupext.solver.search import policy_bounds
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

TOGETHER = policy('affinity', 'rack', False)


class TestFind(base.BaseTestCase):
    def find(self, hosts, topology, placement, seconds=60, **others):
        """Return the bound, with a plan that costs more."""
        problem = builders.problem(hosts, topology, **others)
        plan = violations.Plan(placement, {})
        self.assertEqual([], violations.find(problem, plan))
        budget = time_budget.TimeBudget(seconds)
        return policy_bounds.find(problem, plan, budget)

    def test_cost_that_capacity_makes_unavoidable_is_the_bound(self):
        placement = {'w-0': 'a1', 'w-1': 'b1', 'w-2': 'c1'}
        bound = self.find(
            racks(a=(2,), b=(2,), c=(2,)),
            group([{**TOGETHER, 'weight': 7}], w=3),
            placement,
        )
        self.assertEqual(7, bound)

    def test_bounds_of_several_policies_add_up(self):
        part = group([TOGETHER], w=2)
        bound = self.find(
            racks(a=(1,), b=(1,), c=(1,), d=(1,)),
            group(groups={'v': part, 'x': part}),
            {'v/w-0': 'a1', 'v/w-1': 'b1', 'x/w-0': 'c1', 'x/w-1': 'd1'},
        )
        self.assertEqual(2, bound)

    def test_policy_that_others_prevent_has_no_bound(self):
        """Alone, each pair has the only rack for two."""
        part = group([TOGETHER], w=2)
        bound = self.find(
            racks(a=(2,), b=(1,), c=(1,)),
            group(groups={'v': part, 'x': part}),
            {'v/w-0': 'a1', 'v/w-1': 'b1', 'x/w-0': 'a1', 'x/w-1': 'c1'},
        )
        self.assertEqual(0, bound)

    def test_other_members_may_meet_a_strict_spread(self):
        spread = policy('spread', 'rack', max_skew=0, min_domains=2)
        together = group([TOGETHER], w=2)
        bound = self.find(
            racks(a=(2,), b=(2,)),
            group([spread], groups={'v': together}, x=2),
            {'v/w-0': 'a1', 'v/w-1': 'b1', 'x-0': 'a1', 'x-1': 'b1'},
        )
        self.assertEqual(0, bound)

    def test_optional_members_may_be_left_out(self):
        optional = {'class': 'one', 'count': 2, 'min_count': 1}
        bound = self.find(
            racks(a=(1,), b=(1,)),
            group([TOGETHER], w=optional),
            {'w-0': 'a1', 'w-1': 'b1'},
        )
        self.assertEqual(0, bound)

    def test_without_time_there_is_no_bound(self):
        placement = {'w-0': 'a1', 'w-1': 'b1'}
        bound = self.find(
            *(racks(a=(1,), b=(1,)), group([TOGETHER], w=2), placement),
            seconds=0,
        )
        self.assertEqual(0, bound)

    def test_program_that_is_too_large_is_not_begun(self):
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'SECONDS_PER_VARIABLE', 100)
        )
        placement = {'w-0': 'a1', 'w-1': 'b1'}
        bound = self.find(
            *(racks(a=(1,), b=(1,)), group([TOGETHER], w=2), placement)
        )
        self.assertEqual(0, bound)

    def test_policy_that_sees_other_members_has_no_bound(self):
        """Unless more members can only make it costlier."""
        self.useFixture(
            fixtures.MockPatchObject(affinity.Affinity, 'is_exclusive', True)
        )
        given = (
            *(racks(a=(1,), b=(1,)), group([TOGETHER], w=2)),
            {'w-0': 'a1', 'w-1': 'b1'},
        )
        self.assertEqual(1, self.find(*given))
        self.useFixture(
            fixtures.MockPatchObject(affinity.Affinity, 'is_monotone', False)
        )
        self.assertEqual(0, self.find(*given))
