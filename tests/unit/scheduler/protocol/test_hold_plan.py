# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/hold_plan.py``."""

from nova_groupext import faultpoints
from tests.unit.scheduler import base


class TestHoldPlan(base.ProtocolTestCase):
    def test_held_group_has_the_capacity_of_all_members(self):
        _uuid, provider = self.held(slots=3, members=3)

        self.assertEqual(6, self.used(provider))

    def test_holds_that_were_never_sent_cost_no_request(self):
        """The second of four requests is refused; each has two holds."""
        self.set_option('holds_per_request', 2)
        self.set_option('planning_attempts', 1)
        provider = self.deployment.make_provider(3)
        self.posts.clear()

        uuid = self.deployment.hold_group([provider] * 8)

        self.assertEqual('UNDECIDED', self.deployment.group(uuid).status)
        self.assertEqual(0, self.used(provider))
        self.assertEqual(['RELEASED'] * 8, self.hold_statuses(uuid))
        filled, refused, *emptied = self.posts
        self.assertEqual([2, 2], [len(filled), len(refused)])
        self.assertLessEqual(set().union(*emptied), filled | refused)

    def test_plan_beyond_capacity_is_released(self):
        """The host loses capacity after Placement has accepted the holds."""
        provider = self.deployment.make_provider(2)

        def shrink(point):
            if point == 'after hold.post':
                self.placement.inventories[provider]['VCPU']['total'] = 3

        faultpoints.handler = shrink

        uuid = self.deployment.hold_group([provider] * 2)

        self.assertEqual('UNDECIDED', self.deployment.group(uuid).status)
        self.assertEqual(0, self.used(provider))
