# SPDX-License-Identifier: Apache-2.0
"""Groups whose planning time limit is reached: neither held nor refused."""

import time
import types

from nova_groupext.scheduler.decide import decisions
from nova_groupext.scheduler.decide import rehearsal
from nova_groupext.scheduler.placement import client
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.solve import decide
from tests.functional import base
from tests.functional import changing_cloud

LIMIT = 60
TOPOLOGY = {'members': {'a': base.member(count=8)}}


class TestTimeLimit(changing_cloud.ChangingCloudTestCase):
    def setUp(self):
        super().setUp()
        self.set_option('holds_per_request', 2)
        self.ahead = 0
        ours = types.SimpleNamespace(
            monotonic=lambda: time.monotonic() + self.ahead
        )
        self.patch(time_budget, 'time', ours)

    def slow_down(self, where, name):
        """Make a step exceed the time limit; returns the step's calls."""
        step, calls = getattr(where, name), []

        def slowly(*args, **kwargs):
            calls.append(args)
            self.ahead += LIMIT
            return step(*args, **kwargs)

        self.patch(where, name, slowly)
        return calls

    def assert_undecided(self, **group):
        before = self.free()
        found = self.describe(TOPOLOGY, **group)

        self.assertEqual('UNDECIDED', found['status'], found)
        self.assertIn('time limit of 60 seconds', found['fault']['message'])
        self.assertIsNone(found['refusal'])
        self.assertEqual(before, self.free())
        self.assertEqual([], self.holds_of(found['id']))

    def test_time_limit_reached_while_reading_the_cloud_is_undecided(self):
        asked = self.slow_down(client.PlacementClient, 'candidates')
        topology = {
            'members': {
                name: base.member(flavor)
                for name, flavor in (('a', 'm1.tiny'), ('b', 'm1.small'))
            }
        }
        found = self.describe(topology)

        self.assertEqual('UNDECIDED', found['status'], found)
        self.assertEqual(1, len(asked))

    def test_time_limit_reached_while_deciding_is_undecided(self):
        self.slow_down(decisions, 'store')
        self.assert_undecided()

    def test_time_limit_reached_while_rehearsing_is_undecided(self):
        self.slow_down(rehearsal, '_try')
        self.assert_undecided(hold=False)

    def test_time_limit_reached_while_holding_is_undecided(self):
        asked = self.slow_down(client.PlacementClient, 'hold')
        self.assert_undecided()
        self.assertEqual(1, len(asked))

    def test_time_limit_reached_while_holding_a_revision_keeps_the_plan(self):
        self.hold(2)
        before = self.planned_hosts(self.uuid)
        asked = self.slow_down(client.PlacementClient, 'hold')
        body = {
            'generation': self.group(self.uuid)['generation'],
            'topology': TOPOLOGY,
        }
        self.api().put(f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body})

        group = self.eventually(
            self.group,
            lambda now: now['revision']['status'] != 'PLANNING',
            self.uuid,
        )

        self.assertEqual('UNDECIDED', group['revision']['status'])
        self.assertIn('time limit', group['revision']['fault']['message'])
        self.assertEqual(1, len(asked))
        self.assertEqual(before, self.planned_hosts(self.uuid))
        self.assert_nothing_lost()

    def test_solver_time_limit_leaves_time_for_holding(self):
        limits = []
        solve = decide.decide

        def note(problem, engine):
            limits.append((problem.time_limit, problem.deadline))
            return solve(problem, engine)

        self.patch(decide, 'decide', note)
        self.hold(2)
        seconds, deadline = limits[0]
        self.assertEqual(LIMIT / 3, seconds)
        self.assertLess(30, deadline)
        self.assertLess(deadline, 40)
        # And the lease does not end meanwhile.
        self.set_option('operation_lease', 30)
        self.describe(TOPOLOGY)
        self.assertEqual((15, 15), limits[1])
