# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/follow/server_changes.py``."""

import fixtures

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.nova import servers
from tests.unit.scheduler import base

ServerOutcome = servers.ServerOutcome


class FollowTestCase(base.ProtocolTestCase):
    """A member whose server has the only slot of a host."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider, self.server = self.redeemed()
        self.hold = self.deployment.hold(self.uuid, 'm-0')
        self.posts.clear()

    def follow(self, outcome=None, *, is_empty=False, has_leases=True):
        """Follow the server once it has an outcome; return who has to wait.

        :param is_empty: whether it owns nothing in Placement any more
        """
        if outcome is not None:
            self.deployment.server_outcomes[self.server] = outcome
        if is_empty:
            self.deployment.delete_allocations(self.server)
        return server_changes.follow_servers(
            *(self.context, self.deployment.placement_client()),
            self.deployment.leases() if has_leases else None,
        )

    def assert_state(self, member, hold, owner=None):
        """Expect the statuses and the only owner of the capacity."""
        self.assertEqual({'m-0': member}, self.statuses(self.uuid))
        self.assertEqual(hold, self.hold_statuses(self.uuid)[0])
        owners = [owner] if owner else []
        self.assertEqual(owners, [*self.deployment.allocations()])

    def assert_held_again(self):
        successor = self.deployment.hold(self.uuid, 'm-0')
        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        self.assertEqual([successor.uuid], [*self.deployment.allocations()])


class TestFollowServers(FollowTestCase):
    def test_live_server_keeps_its_member(self):
        self.assertEqual(set(), self.follow(ServerOutcome.LIVE))

        self.assert_state('ACTIVE', 'REDEEMED', self.server)
        self.assertEqual([], self.posts)

    def test_server_that_is_being_created_keeps_its_member(self):
        self.follow(ServerOutcome.CREATING)

        self.assert_state('ACTIVE', 'REDEEMED', self.server)

    def test_server_in_error_keeps_its_capacity(self):
        self.assertEqual(set(), self.follow(ServerOutcome.IN_ERROR))

        self.assert_state('ACTIVE', 'REDEEMED', self.server)

    def test_server_in_error_without_capacity_fails_its_member(self):
        self.follow(ServerOutcome.IN_ERROR, is_empty=True)

        self.assert_state('FAILED', 'RELEASED')

    def test_member_of_a_deleted_server_has_no_host(self):
        self.follow(ServerOutcome.DELETED, is_empty=True)

        self.assert_state('TENTATIVE', 'RELEASED')

    def test_late_allocation_of_a_deleted_server_is_emptied(self):
        self.follow(ServerOutcome.DELETED)

        self.assert_state('TENTATIVE', 'RELEASED')

    def test_capacity_of_an_unscheduled_server_is_taken_back(self):
        self.assertEqual(set(), self.follow(ServerOutcome.UNSCHEDULED))

        self.assert_held_again()

    def test_capacity_of_another_description_is_not_taken_back(self):
        [member] = self.deployment.group(self.uuid).members
        former = {**member.resolved_request, 'flavor_id': 'former'}
        member.update_row(self.context, server_request=former)

        self.follow(ServerOutcome.UNSCHEDULED)

        self.assert_state('FAILED', 'RELEASED')

    def test_capacity_is_not_taken_back_without_leases(self):
        self.follow(ServerOutcome.UNSCHEDULED, has_leases=False)

        self.assert_state('ACTIVE', 'REDEEMED', self.server)

    def test_unscheduled_server_of_a_released_group_is_emptied(self):
        self.deployment.mark_deleted(self.uuid)

        self.follow(ServerOutcome.UNSCHEDULED)

        self.assert_state('FAILED', 'RELEASED')

    def test_unknown_server_has_to_wait_for_the_deadline(self):
        waiting = self.follow(ServerOutcome.UNKNOWN_TO_NOVA)
        self.assertEqual({self.server}, waiting)
        self.assert_state('ACTIVE', 'REDEEMED', self.server)
        self.sleep(CONF.vrt.unknown_server_deadline + 1)

        self.assertEqual(set(), self.follow())

        self.assert_held_again()

    def test_server_that_gets_its_cell_meanwhile_keeps_its_capacity(self):
        """Nova maps it between the two reads of the server."""
        self.sleep(CONF.vrt.unknown_server_deadline + 1)

        def build(_label, _about):
            self.deployment.server_outcomes[self.server] = ServerOutcome.LIVE

        self.before_request = build
        self.follow(ServerOutcome.UNKNOWN_TO_NOVA)

        self.assert_state('ACTIVE', 'REDEEMED', self.server)

    def test_server_of_a_silent_cell_has_to_wait(self):
        del self.deployment.server_outcomes[self.server]

        self.assertEqual({self.server}, self.follow())

        self.assert_state('ACTIVE', 'REDEEMED', self.server)

    def test_server_has_to_wait_for_a_silent_placement(self):
        self.deployment.server_outcomes[self.server] = ServerOutcome.DELETED
        self.silence()

        self.assertEqual({self.server}, self.follow())

        self.before_request = None
        self.assert_state('ACTIVE', 'REDEEMED', self.server)

    def test_prepared_take_back_is_finished_by_the_next_owner(self):
        self.kill_at(
            'after take_back.apply', self.follow, ServerOutcome.UNSCHEDULED
        )

        self.take_over(self.uuid)

        self.assert_held_again()

    def test_emptied_server_is_followed_in_the_next_round(self):
        self.kill_at('after release.post', self.follow, ServerOutcome.DELETED)
        self.assert_state('ACTIVE', 'REDEEMED')

        self.follow()

        self.assert_state('TENTATIVE', 'RELEASED')

    def test_moves_without_a_member_are_deleted(self):
        group = self.deployment.group(self.uuid)
        VRTMove(
            group_id=group.id,
            member_id=group.members[0].id,
            server_uuid=self.hold.uuid,
            host=self.provider,
            node=self.provider,
        ).create(self.context)

        self.follow(ServerOutcome.LIVE)

        self.assertNotIn('vrt_moves', self.deployment.row_counts())


class TestHoldAgain(FollowTestCase):
    """The capacity of ended servers is held for others, if possible."""

    def setUp(self):
        super().setUp()
        self.set_option('rehold_after_server_end', True)

    def test_capacity_of_a_deleted_server_is_held_again(self):
        self.follow(ServerOutcome.DELETED, is_empty=True)

        self.assert_held_again()

    def test_capacity_of_a_failed_server_is_held_again(self):
        self.follow(ServerOutcome.IN_ERROR, is_empty=True)

        self.assert_held_again()

    def test_capacity_of_a_member_that_is_replaced_is_not_held_again(self):
        self.set_option('max_automatic_replacements', 1)

        self.follow(ServerOutcome.IN_ERROR, is_empty=True)

        self.assert_state('FAILED', 'RELEASED')

    def test_taken_capacity_is_not_held_again(self):
        self.deployment.delete_allocations(self.server)
        other = self.deployment.fill(self.provider)

        self.follow(ServerOutcome.DELETED)

        self.assert_state('TENTATIVE', 'RELEASING', other)

    def test_capacity_beyond_the_quota_is_not_held_again(self):
        def refuse(*_args):
            raise exception.LimitExceeded(reason='a test')

        self.useFixture(fixtures.MockPatchObject(quota, 'check', refuse))

        self.follow(ServerOutcome.DELETED, is_empty=True)

        self.assert_state('TENTATIVE', 'RELEASED')

    def test_capacity_of_another_flavor_is_not_held_again(self):
        other = self.deployment.make_provider(1)
        reservation = self.deployment.reserve_resize(self.uuid, other)

        self.follow(ServerOutcome.DELETED, is_empty=True)

        self.assert_state('TENTATIVE', 'RELEASED', reservation.uuid)

    def test_capacity_of_an_expired_group_is_not_held_again(self):
        self.deployment.expire(self.uuid)

        self.follow(ServerOutcome.DELETED, is_empty=True)

        self.assert_state('TENTATIVE', 'RELEASED')

    def test_leased_group_is_followed_in_the_next_round(self):
        lease = self.acquire_lease(self.uuid)
        self.follow(ServerOutcome.DELETED, is_empty=True)
        self.assert_state('ACTIVE', 'REDEEMED')
        lease.release(self.context)

        self.follow()

        self.assert_held_again()
