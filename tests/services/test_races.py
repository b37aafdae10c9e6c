# SPDX-License-Identifier: Apache-2.0
"""Two things happen to a group at once: is all of it owned once afterwards?

One process stops at a point of ``nova_groupext.faultpoints``, as long as
another one needs for all that it does; then it goes on. So every run is the
same.
"""

import contextlib
import functools
import itertools

from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
from testtools import content

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.follow import servers as nova_servers
from tests.services import life
from tests.services import players
from tests.services import servers


class RaceCase(life.LifeTestCase):
    # Nothing runs side by side here: the smallest database does.
    SERVER = servers.SQLITE
    POLICIES = ()
    SEATS = 2

    def setUp(self):
        super().setUp()
        self.wide = self.life.make_provider(self.SEATS)
        self.narrow = self.life.make_provider(seats=1)

    def begin(self, is_held=True):
        """Describe a group of three, of which two share a provider."""
        self.uuid = self.life.describe(
            [self.wide, self.wide, self.narrow], self.POLICIES
        )
        if is_held:
            self.life.plan(self.uuid)
            self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))

    def end(self):
        """Reap, delete the group, and see that servers have the rest."""
        self.life.reap()
        # A server outlives its group.
        self.assert_at_rest(self.servers())
        if self.life.find(self.uuid) is not None:
            with contextlib.suppress(exception.GenerationConflict):
                self.life.mark_deleted(self.uuid)
            self.life.release(self.uuid)
        self.assertEqual({}, self.life.rows())
        self.assertLessEqual(set(self.life.books()), self.servers())

    def servers(self):
        return set()


class PairsCase(RaceCase):
    """Each thing that happens, at every point of each other thing."""

    # {(class, what happens): its points}; the same for whatever else does.
    _known_points = {}

    def race(self, one, other):
        for point in self.points(one):
            self.addDetail('at', content.text_content(point))
            self.set_up(one)
            self.at(point, lambda: self.do(other))
            self.do(one)
            faultpoints.trap = None
            self.end()
            self.check_servers()

    def points(self, one):
        """Return where to stop: before each write and after the last."""
        key = type(self), one
        if key not in self._known_points:
            self._known_points[key] = self._find_points(one)
        return self._known_points[key]

    def _find_points(self, one):
        """Note the points of one thing that happens alone.

        None while a row is locked: all others wait for that to be over.
        """
        self.set_up(one)
        reached = []

        def note(point):
            if not db._is_inside.get():
                reached.append(point)

        faultpoints.trap = note
        self.do(one)
        faultpoints.trap = None
        self.end()
        self.check_servers()
        before = [each for each in reached if each.startswith('before')]
        return [*dict.fromkeys(before), reached[-1]]

    def set_up(self, one):
        self.granted, self.refused, self.deleted = set(), set(), set()
        self.begin(is_held=one != 'hold')
        if one == 'follow':
            self.do_redeem()
            self.delete_server()
        if one == 'restore':
            self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)

    def do(self, name):
        with contextlib.suppress(*life.REFUSALS):
            getattr(self, f'do_{name}')()
        self.assert_one_owner()

    def do_hold(self):
        """Plan, in place of a planner that seems to have died."""
        timeutils.advance_time_seconds(life.LATER)
        self.life.plan(self.uuid)

    def do_redeem(self):
        server = uuidutils.generate_uuid()
        try:
            self.life.redeem(self.uuid, 'm-0', server)
        except nova_exc.NoValidHost:
            self.refused.add(server)
            raise
        self.granted.add(server)

    def do_redeem_all(self):
        created = {uuidutils.generate_uuid() for _each in range(2)}
        try:
            self.life.redeem_all(self.uuid, 'm', [*created])
        except nova_exc.NoValidHost:
            self.refused |= created
            raise
        self.granted |= created

    def do_turn_back(self):
        self.life.redeem(self.uuid, 'm-0', scheduler=players.Refusing)

    def do_release(self):
        self.life.give_up(self.uuid, 'm-0')
        self.life.release(self.uuid)

    def do_delete(self):
        self.life.delete(self.uuid)

    def do_expire(self):
        self.life.expire(self.uuid)
        self.life.reap(0)

    def do_reap(self):
        self.life.reap(0)

    def do_reap_late(self):
        self.life.reap()

    do_restore = do_reap

    def do_follow(self):
        self.delete_server()
        self.life.reap(0)

    def delete_server(self):
        """Delete the server of a member, as Nova does."""
        member = self.life.member(self.uuid, 'm-0')
        if member.status == states.Member.ACTIVE:
            server = member.server_uuid
            self.life.fates[server] = nova_servers.Fate.DELETED
            self.life.remove(server)
            self.deleted.add(server)

    def servers(self):
        return self.granted

    def check_servers(self):
        """Who was told to have a place has it; who was refused, has none."""
        books = self.life.books()
        self.assertEqual(set(), self.refused & set(books))
        self.assertEqual(self.granted - self.deleted, set(books))
        for server in books:
            self.life.remove(server)


def add_pairs(case, ones, others):
    """Give a PairsCase a test for each of some things during others."""
    for one, other in itertools.product(ones, others):

        def test(self, one=one, other=other):
            self.race(one, other)

        setattr(case, f'test_{other}_during_{one}', test)


class TestPairs(PairsCase):
    """Whatever can happen to a group without fillers."""


add_pairs(
    TestPairs,
    (
        'hold',
        'redeem',
        'redeem_all',
        'turn_back',
        'delete',
        'follow',
        'restore',
    ),
    (
        'hold',
        'redeem',
        'redeem_all',
        'release',
        'delete',
        'expire',
        'follow',
        'reap',
        'reap_late',
    ),
)
# What leaves then leaves as when a group is deleted: this is about who may
# have it, or gives it up as well.
add_pairs(TestPairs, ('release',), ('redeem', 'delete', 'expire'))
add_pairs(TestPairs, ('expire',), ('redeem', 'release', 'reap_late'))


class TestStaged(RaceCase):
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
