# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/ownership.py``."""

import fixtures
from oslo_utils import uuidutils

from nova_groupext import notifications
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.protocol import ownership
from tests import groups
from tests.unit.scheduler import base

FAILED = {'status': states.Member.FAILED, 'fault': 'a test'}


class TestOwnership(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)
        self.notified = []
        self.useFixture(
            fixtures.MockPatchObject(
                notifications,
                'notify_member',
                lambda _context, event, member: self.notified.append(
                    (event, member.path)
                ),
            )
        )

    def pair(self, path='m-0'):
        """Return the hold of a member, and the member."""
        return (
            self.deployment.hold(self.uuid, path),
            self.deployment.member(self.uuid, path),
        )

    def reserve(self):
        hold, member = self.pair()
        servers = {uuidutils.generate_uuid(): (member, hold)}
        self.assertTrue(redeems.reserve(self.context, servers))
        return hold, member

    def states(self):
        hold = self.holds(self.uuid)[0]
        return self.statuses(self.uuid)['m-0'], hold.status

    def test_redeem_changes_hold_and_member_together(self):
        hold, member = self.reserve()

        self.assertTrue(ownership.redeem(self.context, hold, member))

        self.assertEqual(('ACTIVE', 'REDEEMED'), self.states())
        event = notifications.Event.REDEEM
        self.assertEqual([(event, 'm-0')], self.notified)

    def test_second_redeem_changes_nothing(self):
        hold, member = self.reserve()
        stale = hold.obj_clone(), member.obj_clone()
        ownership.redeem(self.context, hold, member)

        self.assertFalse(ownership.redeem(self.context, *stale))

        self.assertEqual(1, len(self.notified))

    def test_hold_and_member_end_together(self):
        hold, member = self.pair()

        self.assertTrue(ownership.end(self.context, hold, member, FAILED))

        self.assertEqual(('FAILED', 'RELEASING'), self.states())
        self.assertEqual('a test', member.fault)
        event = notifications.Event.LOSE_HOLD
        self.assertEqual([(event, 'm-0')], self.notified)

    def test_hold_of_a_concurrently_redeemed_member_does_not_end(self):
        stale = self.pair()
        self.reserve()

        self.assertFalse(ownership.end(self.context, *stale, FAILED))

        self.assertEqual(('REDEEMING', 'REDEEMING'), self.states())
        self.assertEqual([], self.notified)

    def test_end_that_no_member_may_make_changes_nothing(self):
        hold, member = self.pair()
        to_shelved = {'status': states.Member.SHELVED}

        self.assertFalse(ownership.end(self.context, hold, member, to_shelved))

        self.assertEqual(('HELD', 'HELD'), self.states())

    def test_end_of_a_server_is_no_lost_hold(self):
        hold, member = self.reserve()
        ownership.redeem(self.context, hold, member)
        self.notified.clear()

        self.assertTrue(ownership.end(self.context, hold, member, FAILED))

        self.assertEqual(('FAILED', 'RELEASED'), self.states())
        self.assertEqual([], self.notified)

    def test_hold_with_the_highest_uuid_overcommits(self):
        self.deployment.resize_provider(self.provider, 1)
        holds = sorted(self.holds(self.uuid), key=lambda hold: hold.uuid)

        ended = ownership.end_overcommitted(
            self.context, self.deployment.placement_client(), holds
        )

        self.assertEqual([holds[1].uuid], [hold.uuid for hold in ended])
        self.assertEqual(
            ['FAILED', 'HELD'], sorted(self.statuses(self.uuid).values())
        )
        # Placement still has both: the reaper empties RELEASING holds.
        self.assertEqual(4, self.used(self.provider))

    def test_overcommitting_placeholder_ends_without_a_member(self):
        uuid, provider = self.held_exclusive()
        self.deployment.resize_provider(provider, 1)

        [ended] = ownership.end_overcommitted(
            *(self.context, self.deployment.placement_client()),
            self.holds(uuid),
        )

        self.assertTrue(ended.is_placeholder)
        self.assertEqual(states.Hold.RELEASING, ended.status)
        self.assertEqual({'m-0': 'HELD'}, self.statuses(uuid))

    def test_redeemed_reservation_does_not_end(self):
        server = self.deployment.redeem(self.uuid, 'm-0')
        reservation = VRTHold.reservation(
            self.deployment.member(self.uuid, 'm-0'),
            groups.placement(self.provider, 2),
        )
        reservation.create(self.context)
        placeholder_holds.commit(
            self.context, self.deployment.group(self.uuid), [reservation]
        )
        [stale, current] = 2 * VRTHold.list_reservations(self.context)
        redeems.redeem_reservation(self.context, current.obj_clone(), server)

        ownership.end_reservation(self.context, stale, 'a test')

        [row] = VRTHold.list_by_uuids(self.context, [reservation.uuid])
        self.assertEqual(states.Hold.REDEEMING, row.status)
