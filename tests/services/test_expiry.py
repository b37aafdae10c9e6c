# SPDX-License-Identifier: Apache-2.0
"""Extension and redeem that are concurrent to the expiry of a group."""

import datetime
import threading

import fixtures
from nova import context
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import releases
from nova_groupext.objects import states
from tests import fixtures as test_fixtures
from tests import groups
from tests.services import concurrency
from tests.services import databases
from tests.services import servers

ROUNDS = 5
SECOND = datetime.timedelta(seconds=1)
NOON = datetime.datetime(2026, 11, 1, 12)


@databases.on(*servers.DATABASES, servers.SNAPSHOTS)
class Expiry:
    """Calls with a clock of their own, as the clocks of processes differ."""

    def setUp(self):
        super().setUp()
        self.clock = threading.local()
        self.useFixture(test_fixtures.Clock())
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_utils.timeutils.utcnow',
                lambda: getattr(self.clock, 'now', NOON - SECOND),
            )
        )

    def held(self):
        """Return a held group that expires at noon."""
        requester = context.get_admin_context()
        group = groups.unstored()
        group.create(requester)
        groups.hold_all(
            requester, group, groups.create_holds(requester, group), NOON
        )
        return objects.VRTGroup.get(requester, group.uuid)

    def at(self, now, function, *args, **kwargs):
        """Return a call of a function whose clock is at ``now``."""

        def call():
            self.clock.now = now
            return function(context.get_admin_context(), *args, **kwargs)

        return call

    def test_concurrent_extension_and_expiry_exclude_each_other(self):
        for _round in range(ROUNDS):
            group = self.held()

            extended, expired = concurrency.call_concurrently(
                [
                    self.at(NOON - SECOND, group.extend, 60),
                    self.at(NOON + SECOND, releases.expire, group),
                ]
            )

            if expired:
                self.assertIsInstance(extended, exception.GroupStateConflict)
                self.assert_all(group, 'RELEASED', 'TENTATIVE', 'RELEASING')
            else:
                self.assertIsNone(extended)
                self.assert_all(group, 'HELD', 'HELD', 'HELD')

    def test_concurrent_redeem_and_expiry_exclude_each_other(self):
        for _round in range(ROUNDS):
            group = self.held()
            first = group.members[0]

            redeemed, expired, again = concurrency.call_concurrently(
                [
                    self.at(
                        NOON - SECOND,
                        first.change,
                        states.Member.REDEEMING,
                        server_uuid=uuidutils.generate_uuid(),
                    ),
                    self.at(NOON + SECOND, releases.expire, group),
                    self.at(NOON + SECOND, releases.expire, group),
                ]
            )

            self.assertTrue(expired or again)
            group, hold = self.stored(group)
            released = (states.Member.TENTATIVE, states.Hold.RELEASING)
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
        """Return the stored group, and {member id: status of its hold}."""
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
