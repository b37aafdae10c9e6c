# SPDX-License-Identifier: Apache-2.0
"""Two things happen to a group at once, staged one by one.

``tests/long`` lets each thing happen at every point of each other thing.
"""

import functools

from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.objects import transitions
from nova_groupext.scheduler.follow import reaper
from tests.services import life
from tests.services import players
from tests.services import races


class TestStaged(races.RaceCase):
    """What the protocol of holds was made for, one by one."""

    def setUp(self):
        super().setUp()
        self.begin()
        self.server = uuidutils.generate_uuid()

    def redeem(self, **kwargs):
        return self.life.redeem(self.uuid, 'm-0', self.server, **kwargs)

    def refusal(self, **kwargs):
        error = self.assertRaises(nova_exc.NoValidHost, self.redeem, **kwargs)
        return str(error)

    def servers(self):
        return {self.server}

    def test_a_slow_redeem_finds_its_hold_moved(self):
        self.at('before redeem.swap', self.life.reap)

        self.refusal()

        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.assertNotIn(self.server, self.life.books())
        self.redeem()
        self.end()

    def test_a_slow_redeem_finds_its_member_redeemed_by_another(self):
        other = uuidutils.generate_uuid()

        def reap_and_redeem():
            self.life.reap()
            self.life.redeem(self.uuid, 'm-0', other)

        self.at('before redeem.swap', reap_and_redeem)

        self.refusal()

        self.assertEqual(other, self.life.member(self.uuid, 'm-0').server_uuid)
        self.assertIn(other, self.life.books())
        self.assertNotIn(self.server, self.life.books())
        self.life.remove(other)

    def test_who_concludes_slowly_takes_what_the_next_has_moved(self):
        """The next one moved the hold and died."""

        def die():
            raise Died

        def reap():
            self.at('before move.commit', die)
            self.life.reap()

        self.at('before move.post', reap)

        self.refusal(scheduler=players.Refusing)

        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.end()

    def test_what_was_left_behind_does_not_replace_a_hold_that_stands(self):
        """A swap under way would give the member a second owner."""
        self.life.give_up(self.uuid, 'm-1')
        self.life.release(self.uuid)
        hold = self.life.hold(self.uuid, 'm-0')
        left = hold.again()
        left.create(self.life.context)
        self.life.ledger().hold(self.life.context, [left])
        swap = functools.partial(
            self.life.ledger().swap,
            *(self.life.context, {self.server: hold}, life.PROJECT, 'user'),
        )
        self.at('before move.commit', swap)

        self.refusal(scheduler=players.Refusing)

        self.assert_one_owner()
        self.assertNotIn(self.server, self.life.books())
        self.end()

    def test_of_two_planners_one_holds_and_the_other_leaves_nothing(self):
        """One has stopped for so long that the other has taken over."""
        self.life.delete(self.uuid)
        for point in (
            'before hold.post',
            'after hold.post',
            'before hold.commit',
        ):
            self.begin(is_held=False)
            timeutils.advance_time_seconds(life.LATER)
            self.at(point, self.life.reap)

            self.life.plan(self.uuid)

            self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
            self.assertEqual(3, len(self.life.books()))
            self.end()

    def test_a_release_wins_over_a_later_redeem(self):
        self.at(
            'before redeem.reserve',
            lambda: self.life.give_up(self.uuid, 'm-0'),
        )

        self.assertIn('it is RELEASED', self.refusal())

        self.end()

    def test_a_redeem_wins_over_a_later_release(self):
        def give_up():
            self.assertRaises(
                exception.MemberStateConflict,
                transitions.give_up,
                *arguments,
            )

        group = self.life.group(self.uuid)
        arguments = self.life.context, group, [group.members[0]]
        self.at('before redeem.swap', give_up)

        self.redeem()

        self.assertIn(self.server, self.life.books())
        self.end()

    def redeem_all(self, count):
        """Create several servers with one request; returns their uuids."""
        created = [uuidutils.generate_uuid() for _each in range(count)]
        self.life.redeem_all(self.uuid, 'm', created)
        return created

    def test_two_that_are_created_at_once_take_different_members(self):
        faster = []
        self.at(
            'before redeem.reserve', lambda: faster.extend(self.redeem_all(1))
        )

        slower = self.redeem_all(2)

        self.assertEqual({*faster, *slower}, set(self.life.books()))
        self.assertEqual({'ACTIVE': 3}, self.life.statuses(self.uuid))

    def test_of_two_that_want_the_same_members_one_gets_all(self):
        faster = []
        self.at(
            'before redeem.reserve', lambda: faster.extend(self.redeem_all(2))
        )

        error = self.assertRaises(nova_exc.NoValidHost, self.redeem_all, 2)

        self.assertIn('names 1 of 3 can become one', str(error))
        self.assertEqual(
            {'ACTIVE': 2, 'HELD': 1}, self.life.statuses(self.uuid)
        )
        self.assertLessEqual(set(faster), set(self.life.books()))

    def test_several_that_are_delivered_twice_are_redeemed_once(self):
        created = [uuidutils.generate_uuid() for _each in range(2)]

        def deliver():
            self.life.redeem_all(self.uuid, 'm', created)

        for point in (
            'before redeem.reserve',
            'before redeem.swap',
            'before redeem.close',
            'after redeem.close',
        ):
            self.at(point, deliver)

            deliver()
            deliver()

            self.assertEqual(
                {'ACTIVE': 2, 'HELD': 1}, self.life.statuses(self.uuid)
            )
            self.assertLessEqual(set(created), set(self.life.books()))
            self.life.delete(self.uuid)
            for server in created:
                self.life.remove(server)
            self.begin()

    def test_when_one_of_several_is_concluded_none_is_swapped(self):
        """The reaper has taken the request for dead, and came to one only."""
        created = [uuidutils.generate_uuid() for _each in range(2)]

        def conclude_one():
            timeutils.advance_time_seconds(life.LATER)
            first, *_others = reaper.to_conclude(self.life.context)
            reaper.conclude(self.life.context, self.life.ledger(), first)

        self.at('before redeem.swap', conclude_one)

        self.assertRaises(
            nova_exc.NoValidHost,
            self.life.redeem_all,
            *(self.uuid, 'm', created),
        )

        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.assertEqual(set(), set(created) & set(self.life.books()))
        self.end()

    def test_the_reaper_does_not_disturb_a_slow_redeem(self):
        for point in ('before redeem.swap', 'after redeem.swap'):
            self.at(point, lambda: self.life.reap(0))
            self.redeem()
            self.assertEqual(
                {'HELD': 2, 'ACTIVE': 1}, self.life.statuses(self.uuid)
            )
            self.end()
            self.life.remove(self.server)
            self.begin()


class Died(Exception):
    """A process that ends without cleaning up."""
