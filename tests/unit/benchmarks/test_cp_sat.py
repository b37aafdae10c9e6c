# SPDX-License-Identifier: Apache-2.0
"""CP-SAT gets a problem as numbers, and its answer becomes a plan."""

import json
import os
import stat
import sys

import fixtures
from oslotest import base

from nova_groupext.solver.model import equivalence
from tests.benchmarks.planner import cp_sat
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

#: A Python that gives an answer, whatever the program.
_PYTHON = """#!{python}
import json, pathlib, sys
pathlib.Path({given!r}).write_text(sys.stdin.read())
json.dump({answer!r}, sys.stdout)
"""


class TestCpSat(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        folder = self.useFixture(fixtures.TempDir())
        self.python, self.given = folder.join('python'), folder.join('given')

    def measure(self, problem, counts):
        """Measure with a Python whose answer is known; keep what it is given.

        :param counts: by class, [[host, members]]
        """
        with open(self.python, 'w') as file:
            file.write(
                _PYTHON.format(
                    python=sys.executable,
                    given=self.given,
                    answer={'counts': counts, 'seconds': 0.5},
                )
            )
        with open(self.python) as file:
            os.fchmod(file.fileno(), stat.S_IRWXU)
        seconds = cp_sat.measure(problem, 7, self.python)
        with open(self.given) as file:
            return seconds, json.load(file)

    def test_hosts_members_and_strict_policies_are_described(self):
        problem = builders.problem(
            racks(a=(4,), b=(2, 0)),
            group(
                [policy('affinity', 'rack'), policy('spread', 'zone', False)],
                w=2,
            ),
        )

        seconds, given = self.measure(problem, [[[0, 2]]])

        self.assertEqual(0.5, seconds)
        self.assertEqual(
            {
                'seconds': 7,
                'free': [{'VCPU': 4}, {'VCPU': 2}, {'VCPU': 0}],
                'classes': [
                    {
                        'count': 2,
                        'request': {'VCPU': 1},
                        'hosts': [[0, 2], [1, 2]],
                    }
                ],
                'member_sets': [[2, [0]]],
                'policies': [
                    {'type': 'affinity', 'classes': [0], 'domains': [0, 1, 1]}
                ],
            },
            given,
        )

    def test_optional_members_are_counted_by_set(self):
        topology = group(w=3)
        topology['members']['w'] = {'class': 'one', 'count': 3, 'min_count': 1}
        problem = builders.problem(racks(a=(4,)), topology)

        _, given = self.measure(problem, [[[0, 1]]])

        self.assertEqual([[1, [0]]], given['member_sets'])
        self.assertEqual(1, len(equivalence.equivalence_classes(problem)))

    def test_wrong_plan_is_an_error(self):
        problem = builders.problem(
            racks(a=(4,), b=(4,)), group([policy('affinity', 'rack')], w=2)
        )

        self.assertRaises(
            ValueError, self.measure, problem, [[[0, 1], [1, 1]]]
        )

    def test_no_plan_has_no_time(self):
        problem = builders.problem(racks(a=(4,)), group(w=2))

        self.assertIsNone(self.measure(problem, None)[0])

    def test_policy_without_rows_is_an_error(self):
        problem = builders.problem(
            racks(a=(4,)), group([policy('exclusive', 'host')], w=2)
        )

        self.assertRaises(ValueError, self.measure, problem, None)
