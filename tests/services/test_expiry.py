# SPDX-License-Identifier: Apache-2.0
"""Is a group extended or does it expire, as a whole, if both come at once?"""

import datetime
import threading

import fixtures
from nova import context
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import fixtures as ours
from tests import groups
from tests.services import at_once
from tests.services import databases
from tests.services import servers

ROUNDS = 5
SECOND = datetime.timedelta(seconds=1)
NOON = datetime.datetime(2026, 11, 1, 12)


@databases.on(*servers.DATABASES, servers.SNAPSHOTS)
class Expiry:
    """Each call has its own clock: clocks of processes are never the same."""

    def setUp(self):
        super().setUp()
        self.clock = threading.local()
        self.useFixture(ours.Clock())
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_utils.timeutils.utcnow',
                lambda: getattr(self.clock, 'now', NOON - SECOND),
            )
        )

    def held(self):
        """Return a group that is held until noon."""
        requester = context.get_admin_context()
        group = groups.described()
        group.create(requester)
        groups.hold(requester, group, groups.holds(requester, group), NOON)
        return objects.VRTGroup.get(requester, group.uuid)

    def at(self, now, function, *args, **kwargs):
        """Return a call that is made when the clock says so."""

        def call():
            self.clock.now = now
            return function(context.get_admin_context(), *args, **kwargs)

        return call

    def test_it_is_extended_or_expires(self):
        for _round in range(ROUNDS):
            group = self.held()

            extended, expired = at_once.at_once(
                [
                    self.at(NOON - SECOND, group.extend, 60),
                    self.at(NOON + SECOND, transitions.expire, group),
                ]
            )

            if expired:
                self.assertIsInstance(extended, exception.GroupStateConflict)
                self.assert_all(group, 'RELEASED', 'RELEASED', 'RELEASING')
            else:
                self.assertIsNone(extended)
                self.assert_all(group, 'HELD', 'HELD', 'HELD')

    def test_a_member_is_redeemed_or_released(self):
        for _round in range(ROUNDS):
            group = self.held()
            first = group.members[0]

            redeemed, expired, again = at_once.at_once(
                [
                    self.at(
                        NOON - SECOND,
                        first.change,
                        states.Member.REDEEMING,
                        server_uuid=uuidutils.generate_uuid(),
                    ),
                    self.at(NOON + SECOND, transitions.expire, group),
                    self.at(NOON + SECOND, transitions.expire, group),
                ]
            )

            self.assertTrue(expired or again)
            group, hold = self.stored(group)
            released = (states.Member.RELEASED, states.Hold.RELEASING)
            found = [(m.status, hold[m.id]) for m in group.members]
            if redeemed is None:
                kept = (states.Member.REDEEMING, states.Hold.HELD)
                self.assertEqual([kept, released, released], found)
                self.assertEqual(states.Group.HELD, group.status)
            else:
                self.assertIsInstance(redeemed, exception.MemberStateConflict)
                self.assertEqual([released] * 3, found)
                self.assertEqual(states.Group.RELEASED, group.status)

    def stored(self, group):
        """Return the group as it is, and {member id: status of its hold}."""
        requester = context.get_admin_context()
        holds = objects.VRTHold.list_by_group(requester, group.id)
        return objects.VRTGroup.get(requester, group.uuid), {
            hold.member_id: hold.status for hold in holds
        }

    def assert_all(self, group, status, member_status, hold_status):
        now, holds = self.stored(group)
        self.assertEqual(
            (status, {member_status}, {hold_status}),
            (
                now.status,
                {member.status for member in now.members},
                set(holds.values()),
            ),
        )
        is_extended = status == states.Group.HELD
        self.assertEqual(
            NOON + 59 * SECOND if is_extended else NOON, now.expires_at
        )
