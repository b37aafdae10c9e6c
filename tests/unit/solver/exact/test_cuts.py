# SPDX-License-Identifier: Apache-2.0
"""No-good cuts for policies without rows."""

from unittest import mock

from oslotest import base

from nova_groupext.solver.exact import cuts
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from tests.toys import fixture
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

LEADER = policy('leader', 'rack')
SOFT_LEADER = policy('leader', 'rack', False, weight=3)


class TestCuts(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixture.ToyPolicies())

    def solve(self, hosts, *policies, pinned=None, **members):
        return feasibility.solve(
            builders.problem(
                hosts, group(policies, **members), pinned=pinned or {}
            ),
            time_budget.TimeBudget(60),
        )

    def minimise(self, hosts, *policies, **members):
        """Return (cost, proven bound) of the optimum."""
        problem = builders.problem(hosts, group(policies, **members))
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        exact.place_members()
        exact.minimise_cost()
        self.assertTrue(exact.is_proved)
        cost = violations.soft_cost(problem, exact.plan.placement)
        return float(cost), float(exact.bound)

    def test_plan_of_a_strict_policy_satisfies_it(self):
        verdict = self.solve(racks(a=(3,), b=(1,)), LEADER, w=4)

        self.assertEqual('b1', verdict.plan.placement['w-0'])

    def test_policy_without_a_plan_is_proved_infeasible(self):
        verdict = self.solve(racks(a=(3,), b=(2,)), LEADER, w=5)

        self.assertTrue(verdict.is_infeasible)

    def test_pinned_members_alone_may_be_infeasible(self):
        verdict = self.solve(
            racks(a=(3,)), LEADER, w=2, pinned={'w-0': 'a1', 'w-1': 'a1'}
        )

        self.assertTrue(verdict.is_infeasible)

    def test_further_member_may_repair_a_violation(self):
        """An optional member that leads is placed for the pinned ones."""
        verdict = self.solve(
            racks(a=(3,), b=(1,)),
            LEADER,
            w=2,
            pinned={'w-0': 'a1', 'w-1': 'a1'},
            a={'class': 'one', 'min_count': 0},
        )

        self.assertEqual('b1', verdict.plan.placement['a'])

    def test_soft_policy_costs_its_violation(self):
        self.assertEqual(
            (0, 0), self.minimise(racks(a=(3,), b=(1,)), SOFT_LEADER, w=4)
        )
        # Member w-0 shares a rack with at least one other.
        self.assertEqual(
            (3, 3), self.minimise(racks(a=(3,), b=(2,)), SOFT_LEADER, w=5)
        )


class TestBuiltInPoliciesWithoutRows(base.BaseTestCase):
    """Cuts lead to the same costs as the rows of the built-in policies."""

    def test_costs_equal_those_of_rows(self):
        hosts = racks(a=(2, 1), b=(2,), c=(1,))
        hosts[-1]['foreign'] = True
        for entry in (
            policy('affinity', 'rack', False),
            policy('anti-affinity', 'rack', False),
            policy('exclusive', 'rack', False),
            policy('network-proximity', 'host', False),
            policy('spread', 'rack', False, min_domains=3, max_skew=0),
            policy('survive', 'rack', False, min_members=4),
        ):
            tree = group([entry], w=5)
            with_rows = self.minimise(hosts, tree)
            with self.without_rows():
                self.assertEqual(with_rows, self.minimise(hosts, tree), entry)

    def minimise(self, hosts, tree):
        problem = builders.problem(hosts, tree)
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        exact.place_members()
        exact.minimise_cost()
        self.assertTrue(exact.is_proved)
        return float(exact.bound)

    def without_rows(self):
        return mock.patch.object(
            cuts.policy_rows, 'has_rows', lambda policy: False
        )
