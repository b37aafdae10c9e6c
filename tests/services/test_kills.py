# SPDX-License-Identifier: Apache-2.0
"""Operations whose process is killed: done as a whole, or not at all.

The processes die where most is left to do; ``tests/protocol`` tries all other
points.
"""

from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.move import resize
from nova_groupext.scheduler.nova import servers
from tests.services import deployment
from tests.services import fake_nova
from tests.services import kills

ServerOutcome = servers.ServerOutcome


class TestRequests(kills.KillTestCase):
    """Requests whose planner or scheduler is killed."""

    def test_hold_is_finished_by_the_next_planner(self):
        """The planner dies after the first of two requests to Placement."""
        self.kill_and_reap(
            lambda: self.deployment.plan(self.uuid), 'after hold.post'
        )

        self.assertEqual(self.HELD, self.deployment.status_counts(self.uuid))
        self.delete_and_hold_another()

    def test_hold_without_capacity_is_retried(self):
        """The planner dies while it releases the chunk that was held."""
        stranger = self.deployment.fill(self.small_provider)
        self.kill_at(
            lambda: self.deployment.plan(self.uuid), 'after release.post'
        )
        self.deployment.delete_allocations(stranger)
        self.deployment.reap()

        self.assert_at_rest()
        self.assertEqual(self.HELD, self.deployment.status_counts(self.uuid))
        self.delete_and_hold_another()

    def test_added_member_is_held(self):
        """The new member needs no capacity of the other members."""
        self.deployment.plan(self.uuid)
        old = self.deployment.held_providers(self.uuid)
        new = {**old, 'm-3': self.deployment.make_provider(slots=1)}
        draft = self.deployment.revise(self.uuid, new)

        self.kill_at(lambda: self.deployment.plan(draft), 'after hold.post')
        self.assertEqual(old, self.deployment.held_providers(self.uuid))
        self.deployment.reap()

        self.assert_at_rest()
        self.assertEqual(new, self.deployment.held_providers(self.uuid))
        self.delete_and_hold_another()

    def test_revision_is_committed_once_its_swap_is_applied(self):
        draft, old, new = self.create_draft()

        self.kill_at(lambda: self.deployment.plan(draft), 'after swap.apply')
        self.assertEqual(old, self.deployment.held_providers(self.uuid))
        self.deployment.reap()

        self.assert_at_rest()
        self.assertEqual(new, self.deployment.held_providers(self.uuid))
        self.delete_and_hold_another()

    def test_exclusive_group_moves_to_another_host(self):
        self.hold_exclusive_host(members=2)
        other = self.deployment.make_provider(slots=3)
        new = dict.fromkeys(self.deployment.held_providers(self.uuid), other)
        draft = self.deployment.revise(self.uuid, new, [kills.EXCLUSIVE])

        self.kill_and_reap(
            lambda: self.deployment.plan(draft), 'after hold.post'
        )

        self.assertEqual(new, self.deployment.held_providers(self.uuid))
        used = [list(at) for at in self.deployment.allocations().values()]
        self.assertEqual(3 * [[other]], used)
        self.delete_and_hold_another()

    def test_redeem_is_finished(self):
        self.deployment.plan(self.uuid)

        self.kill_and_reap(
            lambda: self.deployment.redeem(self.uuid, 'm-0', self.server),
            'after redeem.transfer',
        )

        self.assertEqual(
            {'ACTIVE': 1, 'HELD': 2}, self.deployment.status_counts(self.uuid)
        )
        self.assertIn(self.server, self.deployment.allocations())
        self.delete_and_hold_another()

    def test_redeem_of_several_servers_is_finished(self):
        self.deployment.plan(self.uuid)
        created = [uuidutils.generate_uuid() for _each in range(3)]

        self.kill_and_reap(
            lambda: self.deployment.redeem_all(self.uuid, 'm', created),
            'after redeem.reserve',
        )

        self.assertEqual(
            {'ACTIVE': 3}, self.deployment.status_counts(self.uuid)
        )
        self.assertEqual(set(created), set(self.deployment.allocations()))
        self.deployment.delete_allocations(*created)
        self.delete_and_hold_another()

    def test_resize_gets_its_reservation(self):
        reservation = self.reserve_resize()
        self.deployment.delete_allocations(self.server)

        self.kill_at(
            lambda: resize.claim(
                *(self.deployment.context, self.deployment.placement_client()),
                *(reservation, self.server, *fake_nova.SERVER_OWNER),
            ),
            'after redeem.transfer',
        )
        self.deployment.reap()

        self.assertEqual(
            [], objects.VRTHold.list_reservations(self.deployment.context)
        )
        self.assertNotIn(reservation.uuid, self.deployment.allocations())
        self.assertEqual(
            [reservation.provider_uuid],
            [*self.deployment.allocations()[self.server]],
        )
        self.delete_and_hold_another()

    def test_unclaimed_move_is_removed(self):
        spare = self.redeem_one()

        self.kill_at(
            lambda: self.deployment.move_server(self.uuid, 'm-0', spare),
            'after moving.insert',
        )
        self.deployment.reap()

        self.assert_server_on(self.large_provider)
        self.delete_and_hold_another()

    def test_release_is_finished(self):
        self.deployment.plan(self.uuid)
        self.deployment.request_release(self.uuid, 'm-0', 'm-1')

        self.kill_and_reap(
            lambda: self.deployment.release(self.uuid), 'after release.post'
        )

        self.assertEqual(
            {'HELD': 1, 'RELEASED': 2},
            self.deployment.status_counts(self.uuid),
        )
        self.delete_and_hold_another()

    def test_delete_is_finished(self):
        self.deployment.plan(self.uuid)
        self.deployment.mark_deleted(self.uuid)

        self.kill_and_reap(
            lambda: self.deployment.release(self.uuid), 'after release.post'
        )

        self.assertEqual({}, self.deployment.row_counts())
        self.delete_and_hold_another()


class TestReapers(kills.KillTestCase):
    """Reapers that are killed, and whose work the next one finishes."""

    def test_expired_group_is_released(self):
        self.deployment.plan(self.uuid)
        self.deployment.expire(self.uuid)

        self.kill_reaper('after release.expire')

        self.assertEqual(
            {'TENTATIVE': 3}, self.deployment.status_counts(self.uuid)
        )
        self.assertEqual({}, self.deployment.allocations())
        self.delete_and_hold_another()

    def test_capacity_of_an_unscheduled_server_is_taken_back(self):
        self.redeem_one()
        self.deployment.server_outcomes[self.server] = (
            ServerOutcome.UNSCHEDULED
        )

        self.kill_reaper('after take_back.apply')

        self.assertEqual(self.HELD, self.deployment.status_counts(self.uuid))
        self.assertNotIn(self.server, self.deployment.allocations())
        self.delete_and_hold_another()

    def test_member_of_a_deleted_server_has_no_host(self):
        self.delete_server()

        self.kill_reaper('after release.end')

        self.assertEqual(
            {'HELD': 2, 'TENTATIVE': 1},
            self.deployment.status_counts(self.uuid),
        )
        self.delete_and_hold_another()

    def test_member_of_a_deleted_server_gets_a_successor_hold(self):
        CONF.set_override('rehold_after_server_end', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')
        self.delete_server()

        self.kill_reaper('after hold_again.prepare')

        self.assertEqual(self.HELD, self.deployment.status_counts(self.uuid))
        self.delete_and_hold_another()

    def delete_server(self):
        """Redeem a member, and delete its server."""
        self.redeem_one()
        self.deployment.server_outcomes[self.server] = ServerOutcome.DELETED
        self.deployment.delete_allocations(self.server)

    def test_removed_hold_gets_a_successor(self):
        self.deployment.plan(self.uuid)
        self.deployment.delete_allocations(
            self.deployment.hold(self.uuid, 'm-0').uuid
        )

        self.kill_reaper('after swap.apply')

        self.assertEqual(self.HELD, self.deployment.status_counts(self.uuid))
        self.delete_and_hold_another()

    def test_removed_resize_reservation_gets_a_successor(self):
        self.deployment.delete_allocations(self.reserve_resize().uuid)

        self.kill_reaper('after swap.apply')

        [reservation] = objects.VRTHold.list_reservations(
            self.deployment.context
        )
        self.assertIn(reservation.uuid, self.deployment.allocations())
        self.delete_and_hold_another()

    def test_unsent_swap_is_compensated(self):
        """The planner of the revision has died before the swap."""
        draft, old, new = self.create_draft()
        self.kill_at(lambda: self.deployment.plan(draft), 'before swap.apply')

        timeutils.advance_time_seconds(deployment.LATER)
        self.kill_at(lambda: self.deployment.reap(0), 'after swap.compensate')
        self.assertEqual(old, self.deployment.held_providers(self.uuid))
        self.deployment.reap()

        self.assert_at_rest()
        self.assertEqual(new, self.deployment.held_providers(self.uuid))
        self.delete_and_hold_another()

    def test_moved_server_is_followed(self):
        spare = self.redeem_one()
        self.deployment.move_server(self.uuid, 'm-0', spare)
        self.deployment.clear_provider(spare)
        self.deployment.delete_allocations(self.server)
        self.deployment.fill(spare, consumer=self.server)
        self.deployment.server_hosts[self.server] = spare

        self.kill_reaper('after moving.store_location')

        self.assert_server_on(spare)
        self.delete_and_hold_another()

    def test_capacity_of_a_released_member_is_filled(self):
        self.hold_exclusive_host(members=2)
        self.deployment.request_release(self.uuid, 'm-0')

        self.kill_and_reap(
            self.deployment.maintain_exclusive, 'after hold.post'
        )

        self.assert_full()
        self.delete_and_hold_another()

    def test_placeholders_yield_to_a_successor_hold(self):
        self.hold_exclusive_host(members=1)
        self.deployment.delete_allocations(
            self.deployment.hold(self.uuid, 'm-0').uuid
        )
        self.deployment.maintain_exclusive()

        self.kill_and_reap(self.follow_holds, 'after swap.apply')

        self.assertEqual({'HELD': 1}, self.deployment.status_counts(self.uuid))
        self.assert_full()
        self.delete_and_hold_another()

    def follow_holds(self):
        hold_changes.follow_holds(
            self.deployment.context,
            self.deployment.placement_client(),
            self.deployment.leases(),
        )
