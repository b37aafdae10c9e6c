# SPDX-License-Identifier: Apache-2.0
"""Is nothing held, and nothing refused, when the time of planning is over?"""

import time
import types

from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import rehearsal
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.solver.model import time_budget
from tests.functional import base
from tests.functional import world

LIMIT = 60
TOPOLOGY = {'members': {'a': base.member(count=8)}}


class TestDeadline(world.WorldCase):
    def setUp(self):
        super().setUp()
        self.override('holds_per_request', 2)
        self.ahead = 0
        ours = types.SimpleNamespace(
            monotonic=lambda: time.monotonic() + self.ahead
        )
        self.patch(time_budget, 'time', ours)

    def slow_down(self, where, name):
        """Let a step take longer than there is time; returns its calls."""
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
        self.assertIn('may take 60 seconds here', found['fault']['message'])
        self.assertIsNone(found['refusal'])
        self.assertEqual(before, self.free())
        self.assertEqual([], self.holds_of(found['id']))

    def test_over_while_the_cloud_is_looked_at(self):
        asked = self.slow_down(placement_client.PlacementClient, 'candidates')
        topology = {
            'members': {
                name: base.member(flavor)
                for name, flavor in (('a', 'm1.tiny'), ('b', 'm1.small'))
            }
        }
        found = self.describe(topology)

        self.assertEqual('UNDECIDED', found['status'], found)
        self.assertEqual(1, len(asked))

    def test_over_when_it_is_decided(self):
        self.slow_down(planning.Planning, '_plan')
        self.assert_undecided()

    def test_over_while_it_is_rehearsed(self):
        self.slow_down(rehearsal, '_try')
        self.assert_undecided(hold=False)

    def test_over_while_it_is_held(self):
        asked = self.slow_down(placement_client.PlacementClient, 'hold')
        self.assert_undecided()
        self.assertEqual(1, len(asked))

    def test_over_while_a_revision_is_held(self):
        self.hold(2)
        before = self.planned(self.uuid)
        asked = self.slow_down(placement_client.PlacementClient, 'hold')
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
        self.assertIn('no time', group['revision']['fault']['message'])
        self.assertEqual(1, len(asked))
        self.assertEqual(before, self.planned(self.uuid))
        self.assert_nothing_lost()

    def test_decisions_leave_time_to_hold_them(self):
        limits = []
        solve = planning.solver_process.solve

        def note(problem):
            limits.append(problem.time_limit)
            return solve(problem)

        self.patch(planning.solver_process, 'solve', note)
        self.hold(2)
        self.assertLess(30, limits[0])
        self.assertLess(limits[0], 40)
        # And the lease does not end meanwhile.
        self.override('operation_lease', 30)
        self.describe(TOPOLOGY)
        self.assertEqual(15, limits[1])
