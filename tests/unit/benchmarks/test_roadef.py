# SPDX-License-Identifier: Apache-2.0
"""Instances of the machine reassignment challenge, as problems."""

from oslotest import base

from nova_groupext.solver.model import problems
from tests.benchmarks.planner import roadef

#: Two resources; three machines, each with neighborhood, location, capacities,
#: safety capacities and costs of moves; two services, each with its spread and
#: its dependencies; four processes, each with service, requirements and cost.
MODEL = """
2
0 10
1 10
3
0 0 9 5 8 4 0 1 1
0 0 9 5 8 4 1 0 1
0 1 9 5 8 4 1 1 0
2
2 0
0 1 0
4
0 3 1 1
0 3 0 1
1 4 2 1
0 2 2 1
0
1 1 1
"""


class TestRoadef(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.content = roadef.read(MODEL, '0 2 0 1')

    def test_services_of_several_processes_are_subgroups(self):
        topology = self.content['topology']
        service = topology['groups']['s0']

        self.assertEqual({'p2': {'class': 'p2'}}, topology['members'])
        self.assertEqual({'p0', 'p1', 'p3'}, {*service['members']})
        self.assertEqual(
            [
                {'type': 'anti-affinity', 'scope': 'host'},
                {
                    **{'type': 'spread', 'scope': 'zone'},
                    **{'min_domains': 2, 'max_skew': 3},
                },
            ],
            service['policies'],
        )

    def test_machines_are_hosts_and_the_assignment_is_current(self):
        self.assertEqual(
            {
                'id': 'm2',
                'domains': {'zone': 'l1'},
                'free': {'R0': 9, 'R1': 5},
            },
            self.content['hosts'][2],
        )
        self.assertEqual({'R0': 3}, self.content['classes']['p1']['request'])
        self.assertEqual(
            {'s0/p0': 'm0', 's0/p1': 'm2', 'p2': 'm0', 's0/p3': 'm1'},
            self.content['current'],
        )

    def test_a_process_on_a_failed_machine_has_to_move(self):
        self.content['hosts'] = self.content['hosts'][1:]
        topology = self.content['topology']['groups']['s0']
        del topology['members']['p0']

        line = roadef.measure(self.content, 20)

        self.assertEqual(('placed', 3), (line['status'], line['members']))
        self.assertEqual((1, 0), (line['must move'], line['moved']))

    def test_a_share_of_the_machines_fails(self):
        failed = roadef.fail(self.content, 1 / 3, 0)

        self.assertEqual(2, len(problems.parse(failed).hosts))
        self.assertEqual(3, len(self.content['hosts']))
