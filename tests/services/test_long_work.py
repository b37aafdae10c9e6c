# SPDX-License-Identifier: Apache-2.0
"""Does a planner keep its lease while what it does takes long?"""

from oslo_utils import timeutils

from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from tests.services import races


class TestLongWork(races.RaceCase):
    """Between any two steps more than half of a lease passes."""

    def setUp(self):
        super().setUp()
        CONF.set_override('holds_per_request', 1, 'vrt')
        self.addCleanup(CONF.clear_override, 'holds_per_request', 'vrt')
        self.addCleanup(setattr, faultpoints, 'trap', None)
        self.uuid = self.life.describe([self.wide, self.wide, self.narrow])
        self.steps = []

    def let_time_pass(self, *points):
        """Let it pass at some points, and let another planner try then."""
        another = self.life.leases()
        group_id = self.life.group(self.uuid).id

        def wait(point):
            if point in points:
                timeutils.advance_time_seconds(CONF.vrt.operation_lease * 0.6)
                lease = another.acquire(
                    self.life.context, group_id, leaves_word=False
                )
                self.steps.append((point, lease))

        faultpoints.trap = wait

    def assert_alone(self, *points):
        faultpoints.trap = None
        self.assertEqual([(point, None) for point in points], self.steps)
        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))

    def test_who_holds_in_parts_is_alone_all_the_time(self):
        self.let_time_pass('before hold.post')

        self.life.plan(self.uuid)

        self.assert_alone(*3 * ['before hold.post'])

    def test_who_exchanges_is_alone_all_the_time(self):
        self.life.plan(self.uuid)
        places = self.life.seats(self.uuid)
        draft = self.life.revise(
            self.uuid, {**places, 'm-0': self.narrow, 'm-2': self.wide}
        )
        points = ('before revise.prepare', 'before swap.apply')
        self.let_time_pass(*points)

        self.life.plan(draft)

        self.assert_alone(*points)
