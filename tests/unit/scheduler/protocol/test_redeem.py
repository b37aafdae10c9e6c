# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/redeem.py``."""

import time

from keystoneauth1 import exceptions as ks_exc
from oslo_utils import uuidutils

from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import bodies
from nova_groupext.scheduler.placement import http
from nova_groupext.scheduler.protocol import redeem
from tests.protocol import fake_placement
from tests.services import deployment
from tests.unit.scheduler import base

ServerOutcome = servers.ServerOutcome


class TestRedeem(base.ProtocolTestCase):
    """A host that is full with the hold of one member."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(slots=1)
        self.server = uuidutils.generate_uuid()
        self.hold = self.deployment.hold(self.uuid, 'm-0')
        self.posts.clear()

    def redeem(self):
        self.deployment.redeem(self.uuid, 'm-0', self.server)

    def finish(self):
        """Finish the redeem as the reaper does, much later."""
        self.sleep(deployment.LATER)
        [member] = redeem.list_overdue(self.context)
        redeem.finish(
            *(self.context, self.deployment.placement_client(), member),
            VRTHold.find_by_member(self.context, member.id),
        )

    def begin(self, outcome=ServerOutcome.LIVE):
        """Reserve the member for a server that Nova then knows as this."""
        self.kill_at('after redeem.reserve', self.redeem)
        self.deployment.server_outcomes[self.server] = outcome

    def assert_redeemed(self):
        self.assertEqual({'m-0': 'ACTIVE'}, self.statuses(self.uuid))
        self.assertEqual(['REDEEMED'], self.hold_statuses(self.uuid))
        self.assertEqual([self.server], [*self.deployment.allocations()])
        self.assertEqual(2, self.used(self.provider))

    def assert_lost(self):
        self.assertEqual({'m-0': 'FAILED'}, self.statuses(self.uuid))
        self.assertEqual(['RELEASED'], self.hold_statuses(self.uuid))

    def test_swap_is_one_request_between_two_transactions(self):
        writes = self.points(self.redeem)

        self.assertEqual(
            ['redeem.reserve', 'redeem.transfer', 'redeem.commit'], writes
        )
        self.assertEqual([{self.hold.uuid, self.server}], self.posts)
        self.assert_redeemed()

    def test_amounts_of_a_lost_hold_are_not_in_its_servers_way(self):
        """Placement has lost the consumer's record, not its usage."""
        self.placement.consumers[self.hold.uuid].generation = None
        watched_holds.mark_lost(self.context, self.hold)

        self.redeem()

        self.assert_redeemed()

    def test_reserved_redeem_is_finished_by_the_reaper(self):
        self.begin()

        self.finish()

        self.assert_redeemed()

    def test_swapped_redeem_is_committed_by_the_reaper(self):
        self.kill_at('after redeem.transfer', self.redeem)
        self.deployment.server_outcomes[self.server] = ServerOutcome.LIVE

        self.finish()

        self.assert_redeemed()

    def test_redeem_is_finished_by_another_delivery(self):
        self.begin()

        self.redeem()

        self.assert_redeemed()

    def test_swap_that_lands_between_the_reads_is_seen(self):
        """A slow scheduler swaps while the reaper finishes the redeem."""
        self.begin(ServerOutcome.DELETED)
        reads = []

        def land(label, about):
            if label == 'POST':
                reads.clear()
                raise fake_placement.Conflict('consumer: a test')
            reads.append(about)
            if len(reads) == 2:
                self.before_request = None
                self.transfer()

        self.before_request = land
        self.finish()

        self.assert_redeemed()

    def transfer(self):
        client = self.deployment.placement_client()
        body = bodies.for_server(self.hold, 'project', 'user')
        client.transfer(
            self.context, {self.server: self.hold}, {self.server: body}
        )

    def test_recent_redeem_is_left_to_its_scheduler(self):
        self.begin()

        self.assertEqual([], redeem.list_overdue(self.context))

    def test_swap_without_an_answer_is_sent_again(self):
        self.deployment.lose_next_answer()

        self.redeem()

        self.assert_redeemed()

    def test_allocation_of_a_removed_hold_is_filled_again(self):
        self.begin()
        self.deployment.delete_allocations(self.hold.uuid)

        self.finish()

        self.assert_redeemed()

    def test_hold_whose_capacity_was_taken_is_lost(self):
        self.begin()
        self.deployment.delete_allocations(self.hold.uuid)
        self.deployment.fill(self.provider)

        self.finish()

        self.assert_lost()

    def test_ended_server_gets_no_allocation(self):
        self.begin(ServerOutcome.DELETED)
        self.deployment.delete_allocations(self.hold.uuid)

        self.finish()

        self.assert_lost()
        self.assertEqual({}, self.deployment.allocations())

    def test_unknown_outcome_changes_no_row(self):
        """Neither has the capacity, and the server may be elsewhere."""
        self.begin()
        self.deployment.moving_servers.add(self.server)
        self.deployment.delete_allocations(self.hold.uuid)

        self.finish()

        self.assertEqual({'m-0': 'REDEEMING'}, self.statuses(self.uuid))
        self.assertEqual(['REDEEMING'], self.hold_statuses(self.uuid))

    def test_hold_of_an_ended_server_is_emptied_while_swaps_are_refused(self):
        self.begin(ServerOutcome.DELETED)
        # A consumer of the server's name: Placement fills only new ones.
        other = self.deployment.make_provider(1)
        self.deployment.fill(other, consumer=self.server)

        self.finish()

        self.assertEqual(0, self.used(self.provider))
        self.assertEqual({'m-0': 'REDEEMING'}, self.statuses(self.uuid))

    def test_hold_of_an_ended_server_stays_while_placement_is_silent(self):
        self.begin(ServerOutcome.DELETED)
        self.fail_changes(ks_exc.ConnectFailure('a test'), 2)

        self.finish()

        self.assertEqual({'m-0': 'REDEEMING'}, self.statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))
        self.finish()
        self.assert_redeemed()

    def test_hold_of_an_ended_server_stays_while_its_host_is_changed(self):
        self.begin(ServerOutcome.DELETED)
        self.fail_changes(
            fake_placement.Conflict('the provider'), 2 * http.MAX_ATTEMPTS
        )

        self.finish()

        self.assertEqual({'m-0': 'REDEEMING'}, self.statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))

    def holds_of_servers(self, number):
        """Return {server uuid: hold} of a group on so many providers."""
        uuid = self.deployment.hold_group(
            [self.deployment.make_provider(1) for _each in range(number)]
        )
        return {
            uuidutils.generate_uuid(): hold
            for hold in self.holds(uuid, states.Hold.HELD)
        }

    def test_servers_of_one_request_wait_together_for_placement(self):
        holds = self.holds_of_servers(3)
        self.silence()
        began = time.monotonic()

        outcomes = redeem.transfer(
            *(self.context, self.deployment.placement_client(), holds),
            *('project', 'user'),
        )

        self.assertEqual({redeem.Outcome.UNKNOWN}, {*outcomes.values()})
        self.assertLess(
            time.monotonic() - began, redeem.TIME_LIMIT + 3 * http.MAX_PAUSE
        )

    def test_redeem_that_was_finished_meanwhile_is_left_alone(self):
        self.begin()
        self.sleep(deployment.LATER)
        [member] = redeem.list_overdue(self.context)
        self.redeem()
        self.posts.clear()

        redeem.finish(
            *(self.context, self.deployment.placement_client(), member),
            self.deployment.hold(self.uuid, 'm-0'),
        )

        self.assertEqual([], self.posts)
        self.assert_redeemed()

    def test_redeem_of_a_finished_member_changes_nothing(self):
        self.begin()
        [member] = self.deployment.group(self.uuid).members
        hold = VRTHold.find_by_member(self.context, member.id)
        self.redeem()
        self.posts.clear()

        redeem.commit(self.context, member, hold, redeem.Outcome.LOST)

        self.assert_redeemed()

    def test_reservation_of_a_taken_member_is_refused(self):
        member = self.deployment.member(self.uuid, 'm-0')
        self.redeem()

        other = {uuidutils.generate_uuid(): (member, self.hold)}
        self.assertFalse(redeems.reserve(self.context, other))

        self.assert_redeemed()

    def test_outcome_is_known_although_one_of_several_is_refused(self):
        holds = self.holds_of_servers(2)
        [removed, _other] = holds
        self.deployment.delete_allocations(holds[removed].uuid)
        self.deployment.server_outcomes[removed] = ServerOutcome.DELETED

        outcomes = redeem.transfer(
            *(self.context, self.deployment.placement_client(), holds),
            *('project', 'user'),
        )

        self.assertEqual(
            [redeem.Outcome.LOST, redeem.Outcome.TRANSFERRED],
            [*outcomes.values()],
        )
