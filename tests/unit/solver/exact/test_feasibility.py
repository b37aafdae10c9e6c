# SPDX-License-Identifier: Apache-2.0
"""Does the exact programme's verdict say what is known, and no more?"""

from oslotest import base

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestAsk(base.BaseTestCase):
    def ask(self, hosts, topology, seconds=60):
        self.problem = builders.problem(hosts, topology)
        self.budget = time_budget.TimeBudget(seconds)
        return feasibility.ask(self.problem, self.budget)

    def test_a_plan(self):
        verdict = self.ask(racks(a=(1, 1)), group(w=2))
        self.assertEqual([], violations.find(self.problem, verdict.plan))
        self.assertFalse(verdict.is_impossible)

    def test_a_proof_that_there_is_none(self):
        rule = policy('affinity', 'rack')
        verdict = self.ask(racks(a=(1,), b=(1,)), group([rule], w=2))
        self.assertEqual(feasibility.Verdict(is_impossible=True), verdict)

    def test_without_time_nothing_is_known(self):
        verdict = self.ask(racks(a=(1,)), group(w=2), seconds=0)
        self.assertEqual(feasibility.Verdict(), verdict)

    def test_what_takes_too_long_to_write_is_not_known(self):
        hosts = [builders.host(f'h{number}') for number in range(1000)]
        stems = {f'w{number}': 1 for number in range(9)}
        verdict = self.ask(hosts, group(**stems), seconds=0.005)
        self.assertEqual(feasibility.Verdict(), verdict)
        self.assertTrue(self.budget.is_cut_short)

    def test_there_is_time_for_what_is_written_in_half_of_it(self):
        self.assertTrue(
            feasibility.has_time_for(1_000, time_budget.TimeBudget(60))
        )
        self.assertFalse(
            feasibility.has_time_for(1_000_000, time_budget.TimeBudget(60))
        )
