# SPDX-License-Identifier: Apache-2.0
"""What becomes of holds that change places, whatever goes wrong?

All places are taken, and the first member changes places with the third.
"""

import fixtures
from nova import exception as nova_exc
from oslo_utils import timeutils

from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.redeem import reserve
from tests.services import life
from tests.services import races

APART = {'type': 'anti-affinity', 'scope': 'host'}


class SwapCase(races.RaceCase):
    def setUp(self):
        super().setUp()
        self.begin()
        self.old = self.life.seats(self.uuid)
        self.new = {**self.old, 'm-0': self.narrow, 'm-2': self.wide}

    def revise(self):
        self.life.plan(self.life.revise(self.uuid, self.new))

    def assert_ends(self, seats):
        """All is at rest, and the members are where they should be."""
        self.life.reap()
        self.assert_at_rest()
        self.assertEqual(seats, self.life.seats(self.uuid))
        self.end()

    def die(self):
        raise life.Died

    def die_at(self, point):
        self.at(point, self.die)
        self.assertRaises(life.Died, self.revise)

    def posts(self, work):
        """Return the consumers of each POST that some work sends."""
        bodies = []
        post = placement_client.PlacementClient._post

        def note(books, context, body):
            bodies.append({*body})
            return post(books, context, body)

        with fixtures.MonkeyPatch(
            'nova_groupext.scheduler.placement.placement_client.PlacementClient._post',
            note,
        ):
            work()
        return bodies


class TestSwap(SwapCase):
    def test_it_is_one_request_for_those_who_need_anothers_room(self):
        before = {h.uuid: h for h in self.life.owners().holds}

        [body] = self.posts(self.revise)

        moved = [h for h in before.values() if h.uuid in body]
        self.assertEqual(2, len(moved))
        self.assertEqual(4, len(body))
        self.assert_ends(self.new)

    def test_who_has_room_beside_is_none_of_them(self):
        spare = self.life.make_provider(seats=1)
        self.new['m-1'] = spare

        [beside, swap] = self.posts(self.revise)

        # Its old hold makes room for another one: that is emptied with them.
        self.assertEqual((1, 5), (len(beside), len(swap)))
        self.assert_ends(self.new)

    def test_an_answer_that_was_lost_is_found_out(self):
        self.at('after revise.prepare', self.life.lose_answer)

        self.revise()

        self.assertEqual(self.new, self.life.seats(self.uuid))
        self.assert_ends(self.new)

    def test_one_that_was_not_sent_is_turned_back_and_made_anew(self):
        self.die_at('before swap.apply')
        timeutils.advance_time_seconds(life.LATER)
        self.at('after swap.turn_back', self.check_turned_back)

        self.life.reap(0)

        self.assertIsNone(faultpoints.trap)
        self.assert_ends(self.new)

    def check_turned_back(self):
        self.assertEqual(self.old, self.life.seats(self.uuid))
        self.assert_one_owner()

    def test_one_that_was_sent_counts(self):
        self.die_at('after swap.apply')
        timeutils.advance_time_seconds(life.LATER)
        asked = self.posts(lambda: self.life.reap(0))

        self.assertEqual([], asked)
        self.assert_ends(self.new)

    def test_who_comes_too_late_changes_nothing(self):
        """Another one has taken the lease, and turned it back."""
        self.at('before swap.apply', self.take_over)

        [_taken_over, late, _again] = self.posts(self.revise)

        self.assertTrue(self.turned_back)
        self.assertFalse(set(late) & set(self.life.books()))
        self.assert_ends(self.new)

    def take_over(self):
        timeutils.advance_time_seconds(life.LATER)
        group = self.life.group(self.uuid)
        books, leases = self.life.ledger(), self.life.leases()
        with leases.owning(self.life.context, books, group.id) as lease:
            self.assertIsNotNone(lease)
        self.turned_back = self.old == self.life.seats(self.uuid)

    def test_of_a_hold_whose_place_is_taken_the_member_fails_alone(self):
        """Somebody has removed it, and a stranger was faster."""
        stranger = self.lose_one_to_a_stranger()

        self.assertEqual(
            {'HELD': 2, 'FAILED': 1}, self.life.statuses(self.uuid)
        )
        self.assertIn(stranger, self.life.books())
        self.assert_one_owner()

    def test_member_whose_hold_a_swap_has_lost_is_held_again(self):
        self.life.remove(self.lose_one_to_a_stranger())

        self.life.reap()

        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.end()

    def lose_one_to_a_stranger(self):
        self.die_at('before swap.apply')
        [lost] = [
            hold.uuid
            for hold in self.life.owners().holds
            if hold.status == 'EXCHANGING'
            and hold.provider_uuid == self.narrow
        ]
        self.life.remove(lost)
        stranger = self.life.fill(self.narrow)

        timeutils.advance_time_seconds(life.LATER)
        self.at('after swap.turn_back', self.die)
        self.assertRaises(life.Died, self.life.reap, 0)
        return stranger

    def test_a_group_that_is_deleted_meanwhile_leaves_nothing(self):
        self.at('before swap.apply', lambda: self.life.mark_deleted(self.uuid))

        self.revise()
        self.life.reap()

        self.assertEqual({}, self.life.books())
        self.assertEqual({}, self.life.rows())

    def test_a_group_that_is_deleted_once_it_is_revised_is_no_trouble(self):
        self.at(
            'after revise.commit', lambda: self.life.mark_deleted(self.uuid)
        )
        failed = self.useFixture(
            fixtures.MockPatchObject(planner.Planner, '_fail')
        )

        self.revise()

        failed.mock.assert_not_called()
        self.end()


class TestMeanwhile(SwapCase):
    """Things that happen between prepare and commit."""

    def setUp(self):
        super().setUp()
        self.waited = []
        self.useFixture(
            fixtures.MockPatchObject(reserve.time, 'sleep', self.waited.append)
        )

    def test_who_changes_places_is_told_to_try_again_after_5_seconds(self):
        told = []

        def redeem():
            told.append(
                self.assertRaises(
                    nova_exc.NoValidHost, self.life.redeem, self.uuid, 'm-0'
                )
            )

        self.at('before swap.apply', redeem)

        self.revise()

        self.assertIn(reserve.BEING_REVISED, str(told[0]))
        self.assertEqual(5, sum(self.waited))
        self.assert_ends(self.new)

    def test_who_stays_is_redeemed(self):
        servers = []
        self.at(
            'before swap.apply',
            lambda: servers.append(self.life.redeem(self.uuid, 'm-1')),
        )

        self.revise()
        self.life.reap()

        self.assert_at_rest(servers)
        self.assertEqual(
            {'HELD': 2, 'ACTIVE': 1}, self.life.statuses(self.uuid)
        )

    def test_what_expires_is_given_back_when_it_is_over(self):
        def expire():
            self.life.expire(self.uuid)
            reaper.expire(self.life.context)

        self.at('before swap.apply', expire)

        self.revise()

        # A revision is held for as long as a new group.
        self.assert_ends({p: s for p, s in self.new.items() if p != 'm-1'})


class ApartCase(races.RaceCase):
    """A group whose two members are kept apart."""

    def setUp(self):
        super().setUp()
        self.uuid = self.life.describe([self.wide, self.narrow], (APART,))
        self.life.plan(self.uuid)

    def follow(self):
        follow.follow_holds(
            self.life.context, self.life.ledger(), self.life.leases()
        )

    def force(self, path, provider):
        """An admin moves a member's server past the scheduler."""
        server = self.life.redeem(self.uuid, path)
        self.life.remove(server)
        self.life.fill(provider, consumer=server)
        live = follow.ServerOutcome.LIVE
        self.life.fates[server] = live
        self.life.whereabouts[server] = provider
        follow.follow_servers(
            self.life.context, self.life.ledger(), self.life.leases()
        )


class TestJudged(ApartCase):
    def setUp(self):
        super().setUp()
        CONF.set_override('redeem_replacement_time_limit', 0, 'vrt')
        self.addCleanup(
            CONF.clear_override, 'redeem_replacement_time_limit', 'vrt'
        )

    def test_who_would_break_a_policy_is_not_redeemed(self):
        self.force('m-1', self.wide)

        self.assertRaises(
            nova_exc.NoValidHost, self.life.redeem, self.uuid, 'm-0'
        )

        self.assertEqual('HELD', self.life.member(self.uuid, 'm-0').status)


class TestHoldAgain(ApartCase):
    def test_where_a_policy_would_be_broken_it_is_not(self):
        self.life.resize(self.narrow, 1)
        self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)
        self.force('m-1', self.wide)

        self.follow()

        self.assertEqual('FAILED', self.life.member(self.uuid, 'm-0').status)

    def test_where_none_is_it_is_held(self):
        removed = self.life.hold(self.uuid, 'm-0').uuid
        self.life.remove(removed)

        [refill, body] = self.posts_of_follow()

        self.assertEqual({'HELD': 2}, self.life.statuses(self.uuid))
        self.assertEqual({removed}, refill)
        self.assertEqual(
            {removed, self.life.hold(self.uuid, 'm-0').uuid}, body
        )
        self.end()

    def test_missing_record_does_not_cost_the_member_its_capacity(self):
        lost = self.life.hold(self.uuid, 'm-0').uuid
        stranger = self.life.fill(self.wide)
        self.lose_record(lost)

        self.follow()
        self.life.remove(stranger)

        self.assertEqual({'HELD': 2}, self.life.statuses(self.uuid))
        self.assertNotIn(lost, self.life.books())
        self.end()

    def posts_of_follow(self):
        return SwapCase.posts(self, self.follow)

    def test_what_is_left_of_it_is_emptied_with_that(self):
        hold = self.life.hold(self.uuid, 'm-0')
        self.life.remove(hold.uuid)
        books = self.life.ledger()
        half = {self.wide: {'resources': {'VCPU': 1}}}
        books.hold(
            self.life.context,
            [objects.VRTHold(**{**hold.place(), 'allocations': half})],
        )

        self.follow()

        self.assertNotIn(hold.uuid, self.life.books())
        self.assertEqual({'HELD': 2}, self.life.statuses(self.uuid))
        self.end()

    def test_a_group_that_is_worked_on_waits_for_the_next_round(self):
        hold = self.life.hold(self.uuid, 'm-0')
        self.life.remove(hold.uuid)
        group = self.life.group(self.uuid)
        busy = self.life.leases()

        with busy.owning(self.life.context, self.life.ledger(), group.id):
            self.follow()
            self.assertEqual(hold.uuid, self.life.hold(self.uuid, 'm-0').uuid)

        self.follow()
        self.assertNotEqual(hold.uuid, self.life.hold(self.uuid, 'm-0').uuid)


class TestMovesMeanwhile(races.RaceCase):
    """A draft that is prepared is judged like what is in force."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(reserve, 'PATIENCE', 1))
        CONF.set_override('redeem_replacement_time_limit', 0, 'vrt')
        self.addCleanup(
            CONF.clear_override, 'redeem_replacement_time_limit', 'vrt'
        )

    def test_a_move_to_where_another_comes_to_be_is_refused(self):
        other = self.life.make_provider(seats=2)
        self.uuid = self.life.describe([self.narrow, self.wide, other])
        self.life.plan(self.uuid)
        self.life.redeem(self.uuid, 'm-2')
        # The first two change places, and nobody is to be with another.
        new = {'m-0': self.wide, 'm-1': self.narrow, 'm-2': other}
        draft = self.life.revise(self.uuid, new, (APART,))
        refused = []

        def move():
            """The third one's server goes where the first one comes to be."""
            self.assertIsNone(self.begin_move('m-2', self.wide))
            self.assertIsNotNone(self.begin_move('m-2', spare))
            refused.append('both were asked')

        spare = self.life.make_provider(seats=1)
        self.at('before swap.apply', move)
        self.life.plan(draft)

        self.assertEqual(['both were asked'], refused)

    def begin_move(self, path, provider):
        seat = life.locations.Location(provider, provider)
        move = life.destinations.Move(
            *(self.life.context, self.life.group(self.uuid)),
            *(self.life.member(self.uuid, path), {seat}),
        )
        return move.begin(self.life.context, seat)
