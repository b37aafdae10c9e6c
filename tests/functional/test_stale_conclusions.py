# SPDX-License-Identifier: Apache-2.0
"""What is found out about one server: is it said of the next one?

Whoever looks after many members has read them long before it comes to the
last of them. Another may have concluded, and a server may have come, by then.
"""

import datetime

from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import changing_hands
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.redeem import concluding
from tests.functional import door


class StaleCase(door.DoorCase):
    """Two servers become member ``a``, one after the other."""

    def setUp(self):
        super().setUp()
        self.first, self.second = (
            uuidutils.generate_uuid() for _each in range(2)
        )
        for server in (self.first, self.second):
            self.empty_later(server)

    def reserve(self, server):
        """Write a server to the member; returns the member and its hold."""
        member = self.member('a')
        self.assertTrue(changing_hands.reserve(self.context, {server: member}))
        return member, self.hold()

    def hold(self):
        return objects.VRTHold.get_by_member(self.context, self.member('a').id)

    def swap(self, server, hold):
        self.assertTrue(
            self.ledger.swap(
                self.context, {server: hold}, self.project, 'somebody'
            )
        )

    def close(self, member, hold):
        return concluding.close(self.context, self.ledger, member, hold)

    def state(self):
        member = self.member('a')
        return member.status, member.server_uuid, member.fault


class TestConclude(StaleCase):
    """A reaper comes to a create that another one has concluded."""

    def setUp(self):
        super().setUp()
        self.reserve(self.first)
        self.be_stuck()
        [self.stale] = reaper.to_conclude(self.context)
        self.conclude()
        self.assertEqual(('HELD', None, None), self.state())

    def be_stuck(self):
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.id == self.member('a').id,
            updated_at=timeutils.utcnow() - datetime.timedelta(hours=1),
        )

    def conclude(self):
        reaper.conclude(self.context, self.ledger, self.stale.obj_clone())

    def test_a_server_that_has_swapped_meanwhile_stays_the_member(self):
        member, hold = self.reserve(self.second)
        self.swap(self.second, hold)

        self.conclude()

        self.assertTrue(self.close(member, hold))
        self.assertEqual(('ACTIVE', self.second, None), self.state())
        self.assertTrue(self.ledger.allocations(self.context, self.second))

    def test_a_server_that_is_about_to_swap_finds_its_hold(self):
        member, hold = self.reserve(self.second)

        self.conclude()

        self.swap(self.second, hold)
        self.assertTrue(self.close(member, hold))
        self.assertEqual(('ACTIVE', self.second, None), self.state())

    def test_what_comes_in_between_is_left_to_the_next_round(self):
        """Another one concludes, right after it was looked at."""
        self.reserve(self.first)
        self.be_stuck()
        [stale] = reaper.to_conclude(self.context)
        first_hold = self.hold()
        self.conclude()
        _member, hold = self.reserve(self.second)
        self.swap(self.second, hold)

        for each in (first_hold, hold):
            concluding.conclude(
                self.context, self.ledger, stale.obj_clone(), each
            )

        self.assertEqual(('REDEEMING', self.second, None), self.state())
        self.be_stuck()
        [self.stale] = reaper.to_conclude(self.context)
        self.age_hold()
        self.conclude()
        self.assertEqual(('ACTIVE', self.second, None), self.state())

    def age_hold(self):
        db.compare_and_set(
            self.context,
            models.Hold,
            models.Hold.id == self.hold().id,
            updated_at=timeutils.utcnow() - datetime.timedelta(hours=1),
        )


class TestPrevails(StaleCase):
    """A swap was accepted; the rows say whether it counts."""

    def test_it_does_not_for_a_member_that_has_failed(self):
        member, hold = self.reserve(self.first)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        concluding.conclude(self.context, self.ledger, self.member('a'), hold)
        self.assertEqual('FAILED', self.member('a').status)
        self.assertEqual(self.first, self.member('a').server_uuid)
        self.own(self.first, hold)

        self.assertFalse(
            concluding.prevails(self.context, self.ledger, member)
        )

        self.assertEqual({}, self.ledger.allocations(self.context, self.first))

    def own(self, server, hold):
        """Let a server own what its hold has owned, as if it had swapped."""
        written = {
            'allocations': hold.allocations,
            'project_id': self.project,
            'user_id': 'somebody',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        }
        self.cloud.placement.put(f'/allocations/{server}', json=written)
        self.assertTrue(self.ledger.allocations(self.context, server))

    def test_it_does_when_another_delivery_has_said_so(self):
        member, hold = self.reserve(self.first)
        self.swap(self.first, hold)
        self.close(self.member('a'), self.hold())

        self.assertTrue(concluding.prevails(self.context, self.ledger, member))

        self.assertTrue(self.ledger.allocations(self.context, self.first))


class TestFollow(StaleCase):
    """A reaper comes to a server that another one has followed to its end."""

    def test_the_next_server_does_not_fail_its_member(self):
        self.override('hold_again', True)
        buried = self.bury(self.uuid, 'a').id
        owns = self.ledger.allocations

        def owned(context, consumer):
            """Meanwhile all of it happens that may come next."""
            self.patch(self.ledger, 'allocations', owns)
            had = owns(context, consumer)
            self.ledger.empty_consumer(context, buried)
            follow.follow_servers(self.context, self.ledger)
            self.assertEqual(('HELD', None, None), self.state())
            member, hold = self.reserve(self.second)
            self.swap(self.second, hold)
            self.close(member, hold)
            return had

        self.patch(self.ledger, 'allocations', owned)

        follow.follow_servers(self.context, self.ledger)

        self.assertEqual(('ACTIVE', self.second, None), self.state())
