# SPDX-License-Identifier: Apache-2.0
"""Outdated decisions of a reaper about a member with another server since.

A reaper of many members reads them long before it handles the last of them.
Meanwhile another reaper may have decided, and a new server been created.
"""

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import redeems
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import take_back
from nova_groupext.scheduler.reap import reaper
from tests.functional import redeem_requests


class OutdatedCase(redeem_requests.RedeemTestCase):
    """A member ``a`` that two servers redeem one after the other."""

    def setUp(self):
        super().setUp()
        self.first, self.second = (
            uuidutils.generate_uuid() for _each in range(2)
        )
        for server in (self.first, self.second):
            self.delete_allocations_later(server)

    def reserve(self, server):
        """Reserve the member for a server; returns the member and its hold."""
        member, hold = self.member('a'), self.hold()
        own = {server: (member, hold)}
        self.assertTrue(redeems.reserve(self.context, own))
        return member, hold

    def hold(self):
        return objects.VRTHold.find_by_member(
            self.context, self.member('a').id
        )

    def transfer(self, server, hold):
        outcomes = redeem.transfer(
            self.context,
            self.placement_client,
            {server: hold},
            self.project,
            'somebody',
        )
        self.assertEqual({server: redeem.Outcome.TRANSFERRED}, outcomes)

    def close(self, member, hold):
        swapped = redeem.Outcome.TRANSFERRED
        redeem.commit(self.context, member, hold, swapped)

    def state(self):
        member = self.member('a')
        return member.status, member.server_uuid, member.fault


class TestResolve(OutdatedCase):
    """A reaper that resolves a redeem which another one has finished."""

    def test_outdated_redeem_is_not_resolved_for_the_next_server(self):
        self.patch(redeem, 'OVERDUE_FACTOR', -1)
        member, hold = self.reserve(self.first)
        [stale] = redeem.list_overdue(self.context)
        self.transfer(self.first, hold)
        self.close(member, hold)
        with self.leases.owning(
            self.context, self.placement_client, member.group_id
        ) as lease:
            take_back.take_back(
                self.context, self.placement_client, lease, self.hold()
            )
        self.reserve(self.second)

        reaper.resolve_redeem(self.context, self.placement_client, stale)

        self.assertEqual(('REDEEMING', self.second, None), self.state())
        self.assertEqual(
            {}, self.placement_client.allocations(self.context, self.first)
        )
        reaper.resolve_redeem(
            self.context, self.placement_client, self.member('a')
        )
        self.assertEqual(('ACTIVE', self.second, None), self.state())


class TestFollow(OutdatedCase):
    """A reaper that follows a server whose end another one has recorded."""

    def test_end_of_the_first_server_does_not_fail_the_next_one(self):
        self.set_option('rehold_after_server_end', True)
        buried = self.fail_build(self.uuid, 'a').id
        owns = self.placement_client.allocations

        def owned(context, consumer):
            """Follow the first server and redeem for the second meanwhile."""
            self.patch(self.placement_client, 'allocations', owns)
            had = owns(context, consumer)
            self.placement_client.empty(context, buried)
            server_changes.follow_servers(
                self.context, self.placement_client, self.leases
            )
            self.assertEqual(('HELD', None, None), self.state())
            member, hold = self.reserve(self.second)
            self.transfer(self.second, hold)
            self.close(member, hold)
            return had

        self.patch(self.placement_client, 'allocations', owned)

        server_changes.follow_servers(
            self.context, self.placement_client, self.leases
        )

        self.assertEqual(('ACTIVE', self.second, None), self.state())
