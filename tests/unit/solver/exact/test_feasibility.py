# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the exact feasibility model."""

from oslotest import base

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestSolve(base.BaseTestCase):
    def solve(self, hosts, topology, seconds=60):
        self.problem = builders.problem(hosts, topology)
        self.budget = time_budget.TimeBudget(seconds)
        return feasibility.solve(self.problem, self.budget)

    def test_feasible_problem_has_a_plan(self):
        verdict = self.solve(racks(a=(1, 1)), group(w=2))
        self.assertEqual([], violations.find(self.problem, verdict.plan))
        self.assertFalse(verdict.is_infeasible)

    def test_infeasible_problem_is_proved_impossible(self):
        affinity = policy('affinity', 'rack')
        verdict = self.solve(racks(a=(1,), b=(1,)), group([affinity], w=2))
        self.assertEqual(feasibility.Verdict(is_infeasible=True), verdict)

    def test_verdict_without_time_is_unknown(self):
        verdict = self.solve(racks(a=(1,)), group(w=2), seconds=0)
        self.assertEqual(feasibility.Verdict(), verdict)

    def test_verdict_on_a_too_large_model_is_unknown(self):
        hosts = [builders.host(f'h{number}') for number in range(1000)]
        member_sets = {f'w{number}': 1 for number in range(9)}
        verdict = self.solve(hosts, group(**member_sets), seconds=0.001)
        self.assertEqual(feasibility.Verdict(), verdict)
        self.assertTrue(self.budget.is_cut_short)

    def test_model_has_to_be_written_in_half_of_the_time(self):
        self.assertTrue(
            feasibility.has_time_for(1_000, time_budget.TimeBudget(60))
        )
        self.assertFalse(
            feasibility.has_time_for(1_000_000, time_budget.TimeBudget(60))
        )
