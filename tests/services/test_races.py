# SPDX-License-Identifier: Apache-2.0
"""Two things happen to a group at once, staged one by one.

``tests/protocol`` lets them meet in every order.
"""

from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.objects import transitions
from nova_groupext.scheduler.nova.servers import ServerOutcome
from nova_groupext.scheduler.reap import reaper
from tests.services import life
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

    def test_a_slow_redeem_finds_it_finished_by_the_reaper(self):
        self.at('before redeem.swap', self.life.reap)

        self.redeem()

        self.assertEqual(
            {'ACTIVE': 1, 'HELD': 2}, self.life.statuses(self.uuid)
        )
        self.assertIn(self.server, self.life.books())
        self.end()

    def test_who_dies_leaves_it_to_the_reaper(self):
        for point in ('before redeem.swap', 'after redeem.swap'):
            self.at(point, self.die)

            self.assertRaises(life.Died, self.redeem)
            self.life.fates[self.server] = ServerOutcome.COMING
            self.life.reap()

            self.assertEqual(
                {'ACTIVE': 1, 'HELD': 2}, self.life.statuses(self.uuid)
            )
            self.assertIn(self.server, self.life.books())
            # Nova has given up waiting.
            self.life.fates[self.server] = ServerOutcome.UNSCHEDULED
            self.life.reap()
            self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
            self.assertNotIn(self.server, self.life.books())

        self.end()

    @staticmethod
    def die():
        raise life.Died

    def test_what_a_late_swap_fills_of_a_deleted_server_is_emptied(self):
        hold = self.life.hold(self.uuid, 'm-0')
        self.redeem()
        self.life.fates[self.server] = ServerOutcome.DELETED
        self.life.remove(self.server)
        body = self.life.ledger().of_server(hold, life.PROJECT, 'user')

        self.life.ledger().fill(self.life.context, {self.server: body})
        self.life.reap()

        self.assertNotIn(self.server, self.life.books())
        self.assertEqual(
            {'RELEASED': 1, 'HELD': 2}, self.life.statuses(self.uuid)
        )
        self.end()

    def test_what_placement_refuses_for_good_is_given_back(self):
        """The host gives away no more than one at a time by now."""
        path = f'/resource_providers/{self.wide}/inventories/VCPU'
        inventory = self.life.admin.get(path).json()
        self.life.admin.put(path, json={**inventory, 'max_unit': 1})
        self.at('before redeem.swap', self.die)
        self.assertRaises(life.Died, self.redeem)

        self.life.reap()

        self.assertEqual(
            {'FAILED': 1, 'HELD': 2}, self.life.statuses(self.uuid)
        )
        self.assertEqual(2, len(self.life.books()))
        self.end()

    def test_what_was_taken_back_needs_no_cell_to_be_finished(self):
        """Whether Nova may still build the server was asked before."""
        self.redeem()
        self.life.fates[self.server] = ServerOutcome.UNSCHEDULED
        self.at('before swap.commit', self.die)
        self.assertRaises(life.Died, self.life.reap, 0)
        del self.life.fates[self.server]

        self.life.reap()

        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.end()

    def test_a_deleted_group_stays_until_its_servers_are_known(self):
        """One may own its place, and Nova says nothing of it yet."""
        self.redeem()
        self.life.fates[self.server] = ServerOutcome.UNKNOWN_TO_NOVA

        self.life.delete(self.uuid)
        self.life.reap()

        self.assertIsNotNone(self.life.find(self.uuid))
        self.assertIn(self.server, self.life.books())
        self.life.fates[self.server] = ServerOutcome.DELETED
        self.life.reap()
        self.assertIsNone(self.life.find(self.uuid))
        self.assertEqual({}, self.life.books())

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

        self.assertIn('only 1 of the 3 members', str(error))
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

    def test_when_one_of_several_is_finished_by_the_reaper_all_are(self):
        """The reaper has taken the request for dead, and came to one only."""
        created = [uuidutils.generate_uuid() for _each in range(2)]

        def finish_one():
            timeutils.advance_time_seconds(life.LATER)
            first, *_others = reaper.list_stuck_redeems(self.life.context)
            reaper.resolve_redeem(self.life.context, self.life.ledger(), first)

        self.at('before redeem.swap', finish_one)

        self.life.redeem_all(self.uuid, 'm', created)

        self.assertEqual(
            {'ACTIVE': 2, 'HELD': 1}, self.life.statuses(self.uuid)
        )
        self.assertEqual(set(created), set(created) & set(self.life.books()))

    def test_when_one_of_several_gets_nothing_all_are_held_again(self):
        """Nobody will build any of them, so no capacity may stay theirs."""
        created = [uuidutils.generate_uuid() for _each in range(2)]
        stranger = []

        def take():
            hold = self.life.hold(self.uuid, 'm-2')
            self.life.remove(hold.uuid)
            stranger.append(self.life.fill(self.narrow))

        self.life.give_up(self.uuid, 'm-0')
        self.life.release(self.uuid)
        self.at('before redeem.swap', take)

        error = self.assertRaises(
            nova_exc.NoValidHost,
            self.life.redeem_all,
            *(self.uuid, 'm', created),
        )

        self.assertIn('its hold is gone', str(error))
        self.life.reap()
        self.assertEqual(
            {'RELEASED': 1, 'HELD': 1, 'FAILED': 1},
            self.life.statuses(self.uuid),
        )
        self.assertEqual(set(), set(created) & set(self.life.books()))
        self.life.remove(*stranger)
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
