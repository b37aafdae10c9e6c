# SPDX-License-Identifier: Apache-2.0
"""Planners that keep their lease during long operations."""

from oslo_utils import timeutils

from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from tests.services import races


class TestLongWork(races.RaceTestCase):
    """Operations whose steps take more than half of a lease each."""

    def setUp(self):
        super().setUp()
        CONF.set_override('holds_per_request', 1, 'vrt')
        self.addCleanup(CONF.clear_override, 'holds_per_request', 'vrt')
        self.addCleanup(setattr, faultpoints, 'handler', None)
        self.uuid = self.deployment.describe(
            [self.large_provider, self.large_provider, self.small_provider]
        )
        self.steps = []

    def let_time_pass(self, *points):
        """Advance the clock at fault points, and try to acquire the lease."""
        another = self.deployment.leases()
        group_id = self.deployment.group(self.uuid).id

        def wait(point):
            if point in points:
                timeutils.advance_time_seconds(CONF.vrt.operation_lease * 0.6)
                lease = another.acquire(
                    self.deployment.context, group_id, wakes_owner=False
                )
                self.steps.append((point, lease))

        faultpoints.handler = wait

    def assert_alone(self, *points):
        faultpoints.handler = None
        self.assertEqual([(point, None) for point in points], self.steps)
        self.assertEqual({'HELD': 3}, self.deployment.status_counts(self.uuid))

    def test_lease_is_kept_while_holding_in_chunks(self):
        self.let_time_pass('before hold.post')

        self.deployment.plan(self.uuid)

        self.assert_alone(*3 * ['before hold.post'])

    def test_lease_is_kept_during_a_swap(self):
        self.deployment.plan(self.uuid)
        places = self.deployment.held_providers(self.uuid)
        draft = self.deployment.revise(
            self.uuid,
            {**places, 'm-0': self.small_provider, 'm-2': self.large_provider},
        )
        points = ('before revise.prepare', 'before swap.apply')
        self.let_time_pass(*points)

        self.deployment.plan(draft)

        self.assert_alone(*points)
