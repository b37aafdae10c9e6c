# SPDX-License-Identifier: Apache-2.0
"""Is each operation done as a whole, or not at all, if its process is killed?

Where its most is still to be done; ``tests/protocol`` tries all other places.
"""

from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.move import resize
from nova_groupext.scheduler.nova import servers
from tests.services import kills
from tests.services import life
from tests.services import played

ServerOutcome = servers.ServerOutcome


class TestRequests(kills.KillsCase):
    """A process dies that does what somebody asked for."""

    def test_hold_is_done_by_who_comes_next(self):
        """It dies after the first of two requests."""
        self.kill_and_reap(
            lambda: self.life.plan(self.uuid), 'after hold.post'
        )

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))
        self.finish()

    def test_hold_in_vain_is_tried_again(self):
        """It dies while it gives back what there was room for."""
        stranger = self.life.fill(self.narrow)
        self.kill(lambda: self.life.plan(self.uuid), 'after release.post')
        self.life.remove(stranger)
        self.life.reap()

        self.assert_at_rest()
        self.assertEqual(self.HELD, self.life.statuses(self.uuid))
        self.finish()

    def test_member_that_is_added_is_held(self):
        """Nobody needs another's room."""
        self.life.plan(self.uuid)
        old = self.life.seats(self.uuid)
        new = {**old, 'm-3': self.life.make_provider(seats=1)}
        draft = self.life.revise(self.uuid, new)

        self.kill(lambda: self.life.plan(draft), 'after hold.post')
        self.assertEqual(old, self.life.seats(self.uuid))
        self.life.reap()

        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))
        self.finish()

    def test_revision_counts_once_its_swap_is_made(self):
        draft, old, new = self.draft()

        self.kill(lambda: self.life.plan(draft), 'after swap.apply')
        self.assertEqual(old, self.life.seats(self.uuid))
        self.life.reap()

        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))
        self.finish()

    def test_exclusive_group_moves_to_another_host(self):
        self.be_alone(members=2)
        other = self.life.make_provider(seats=3)
        new = dict.fromkeys(self.life.seats(self.uuid), other)
        draft = self.life.revise(self.uuid, new, [kills.ALONE])

        self.kill_and_reap(lambda: self.life.plan(draft), 'after hold.post')

        self.assertEqual(new, self.life.seats(self.uuid))
        used = [list(at) for at in self.life.books().values()]
        self.assertEqual(3 * [[other]], used)
        self.finish()

    def test_redeem_goes_forward(self):
        self.life.plan(self.uuid)

        self.kill_and_reap(
            lambda: self.life.redeem(self.uuid, 'm-0', self.server),
            'after redeem.swap',
        )

        self.assertEqual(
            {'ACTIVE': 1, 'HELD': 2}, self.life.statuses(self.uuid)
        )
        self.assertIn(self.server, self.life.books())
        self.finish()

    def test_redeem_of_several_goes_forward(self):
        self.life.plan(self.uuid)
        created = [uuidutils.generate_uuid() for _each in range(3)]

        self.kill_and_reap(
            lambda: self.life.redeem_all(self.uuid, 'm', created),
            'after redeem.reserve',
        )

        self.assertEqual({'ACTIVE': 3}, self.life.statuses(self.uuid))
        self.assertEqual(set(created), set(self.life.books()))
        self.life.remove(*created)
        self.finish()

    def test_resize_has_what_was_held_for_it(self):
        reservation = self.grow()
        self.life.remove(self.server)

        self.kill(
            lambda: resize.claim(
                *(self.life.context, self.life.ledger()),
                *(reservation, self.server, *played.OWNER),
            ),
            'after redeem.swap',
        )
        self.life.reap()

        self.assertEqual(
            [], objects.VRTHold.list_reservations(self.life.context)
        )
        self.assertNotIn(reservation.uuid, self.life.books())
        self.assertEqual(
            [reservation.provider_uuid], [*self.life.books()[self.server]]
        )
        self.finish()

    def test_move_that_is_not_claimed_is_forgotten(self):
        spare = self.live()

        self.kill(
            lambda: self.life.go(self.uuid, 'm-0', spare),
            'after moving.write_down',
        )
        self.life.reap()

        self.assert_rests(self.wide)
        self.finish()

    def test_release_is_done(self):
        self.life.plan(self.uuid)
        self.life.give_up(self.uuid, 'm-0', 'm-1')

        self.kill_and_reap(
            lambda: self.life.release(self.uuid), 'after release.post'
        )

        self.assertEqual(
            {'HELD': 1, 'RELEASED': 2}, self.life.statuses(self.uuid)
        )
        self.finish()

    def test_delete_is_done(self):
        self.life.plan(self.uuid)
        self.life.mark_deleted(self.uuid)

        self.kill_and_reap(
            lambda: self.life.release(self.uuid), 'after release.post'
        )

        self.assertEqual({}, self.life.rows())
        self.finish()


class TestReapers(kills.KillsCase):
    """A reaper dies: does the next one finish what it has begun?"""

    def test_expired_group_is_released(self):
        self.life.plan(self.uuid)
        self.life.expire(self.uuid)

        self.kill_reaper('after release.expire')

        self.assertEqual({'RELEASED': 3}, self.life.statuses(self.uuid))
        self.assertEqual({}, self.life.books())
        self.finish()

    def test_what_a_server_has_that_nobody_builds_is_taken_back(self):
        self.live()
        self.life.fates[self.server] = ServerOutcome.UNSCHEDULED

        self.kill_reaper('after back.post')

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))
        self.assertNotIn(self.server, self.life.books())
        self.finish()

    def test_member_of_a_deleted_server_is_released(self):
        self.delete_server()

        self.kill_reaper('after release.end')

        self.assertEqual(
            {'HELD': 2, 'RELEASED': 1}, self.life.statuses(self.uuid)
        )
        self.finish()

    def test_member_of_a_deleted_server_is_held_again(self):
        CONF.set_override('rehold_after_server_end', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')
        self.delete_server()

        self.kill_reaper('after again.prepare')

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))
        self.finish()

    def delete_server(self):
        """A member was a server."""
        self.live()
        self.life.fates[self.server] = ServerOutcome.DELETED
        self.life.remove(self.server)

    def test_hold_that_somebody_has_removed_is_held_again(self):
        self.life.plan(self.uuid)
        self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)

        self.kill_reaper('after swap.apply')

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))
        self.finish()

    def test_growth_that_somebody_has_removed_is_held_again(self):
        self.life.remove(self.grow().uuid)

        self.kill_reaper('after swap.apply')

        [reservation] = objects.VRTHold.list_reservations(self.life.context)
        self.assertIn(reservation.uuid, self.life.books())
        self.finish()

    def test_swap_that_was_not_sent_is_compensated(self):
        """Who revised has died, when holds were to change places."""
        draft, old, new = self.draft()
        self.kill(lambda: self.life.plan(draft), 'before swap.apply')

        timeutils.advance_time_seconds(life.LATER)
        self.kill(lambda: self.life.reap(0), 'after swap.compensate')
        self.assertEqual(old, self.life.seats(self.uuid))
        self.life.reap()

        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))
        self.finish()

    def test_server_that_has_moved_is_followed(self):
        spare = self.live()
        self.life.go(self.uuid, 'm-0', spare)
        self.life.leave(spare)
        self.life.remove(self.server)
        self.life.fill(spare, consumer=self.server)
        self.life.whereabouts[self.server] = spare

        self.kill_reaper('after moving.follow')

        self.assert_rests(spare)
        self.finish()

    def test_what_a_member_has_left_is_filled(self):
        self.be_alone(members=2)
        self.life.give_up(self.uuid, 'm-0')

        self.kill_and_reap(self.life.keep, 'after hold.post')

        self.assert_full()
        self.finish()

    def test_member_is_held_again_where_fillers_give_way(self):
        self.be_alone(members=1)
        self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)
        self.life.keep()

        self.kill_and_reap(self.follow_holds, 'after swap.apply')

        self.assertEqual({'HELD': 1}, self.life.statuses(self.uuid))
        self.assert_full()
        self.finish()

    def follow_holds(self):
        follow.follow_holds(
            self.life.context, self.life.ledger(), self.life.leases()
        )
