# SPDX-License-Identifier: Apache-2.0
"""What is found out about one server: is it said of the next one?

Whoever looks after many members has read them long before it comes to the
last of them. Another may have concluded, and a server may have come, by then.
"""

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import transitions
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import take_back
from nova_groupext.scheduler.reap import reaper
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
        member, hold = self.member('a'), self.hold()
        own = {server: (member, hold)}
        self.assertTrue(transitions.reserve(self.context, own))
        return member, hold

    def hold(self):
        return objects.VRTHold.get_by_member(self.context, self.member('a').id)

    def swap(self, server, hold):
        outcomes = redeem.swap(
            self.context, self.ledger, {server: hold}, self.project, 'somebody'
        )
        self.assertEqual({server: redeem.Outcome.SWAPPED}, outcomes)

    def close(self, member, hold):
        swapped = redeem.Outcome.SWAPPED
        redeem.close(self.context, member, hold, swapped)

    def state(self):
        member = self.member('a')
        return member.status, member.server_uuid, member.fault


class TestConclude(StaleCase):
    """A reaper comes to a create that another one has finished."""

    def test_the_next_server_does_not_get_what_the_first_one_asked_for(self):
        self.patch(redeem, 'OVERDUE', -1)
        member, hold = self.reserve(self.first)
        [stale] = reaper.list_stuck_redeems(self.context)
        self.swap(self.first, hold)
        self.close(member, hold)
        with self.leases.owning(
            self.context, self.ledger, member.group_id
        ) as lease:
            take_back.take_back(self.context, self.ledger, lease, self.hold())
        self.reserve(self.second)

        reaper.resolve_redeem(self.context, self.ledger, stale)

        self.assertEqual(('REDEEMING', self.second, None), self.state())
        self.assertEqual({}, self.ledger.allocations(self.context, self.first))
        reaper.resolve_redeem(self.context, self.ledger, self.member('a'))
        self.assertEqual(('ACTIVE', self.second, None), self.state())


class TestFollow(StaleCase):
    """A reaper comes to a server that another one has followed to its end."""

    def test_the_next_server_does_not_fail_its_member(self):
        self.override('rehold_after_server_end', True)
        buried = self.bury(self.uuid, 'a').id
        owns = self.ledger.allocations

        def owned(context, consumer):
            """Meanwhile all of it happens that may come next."""
            self.patch(self.ledger, 'allocations', owns)
            had = owns(context, consumer)
            self.ledger.empty_consumer(context, buried)
            follow.follow_servers(self.context, self.ledger, self.leases)
            self.assertEqual(('HELD', None, None), self.state())
            member, hold = self.reserve(self.second)
            self.swap(self.second, hold)
            self.close(member, hold)
            return had

        self.patch(self.ledger, 'allocations', owned)

        follow.follow_servers(self.context, self.ledger, self.leases)

        self.assertEqual(('ACTIVE', self.second, None), self.state())
