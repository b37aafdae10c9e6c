# SPDX-License-Identifier: Apache-2.0
"""Is a host kept from others when something on it is given back?

Whoever looks after fillers does not come by here: what is free stays free.
"""

import fixtures
from oslo_db import exception as db_exc

from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.follow import resizes
from tests import groups
from tests.services import life
from tests.services import placement
from tests.services import servers

ALONE = ({'type': 'exclusive', 'scope': 'host'},)


class GivingBackCase(life.LifeTestCase):
    SERVER = servers.SQLITE

    def held(self, *providers):
        """A group that has its hosts to itself."""
        uuid = self.life.describe(providers, ALONE)
        self.life.plan(uuid)
        self.assertEqual({'HELD': len(providers)}, self.life.statuses(uuid))
        return uuid

    def used(self, provider):
        """How many VCPUs of a provider are somebody's."""
        used = self.life.ledger().used(self.life.context, provider)
        return sum(amounts['VCPU'] for amounts in used.values())

    def empty(self):
        reaper.empty(self.life.context, self.life.ledger())

    def follow_holds(self):
        follow.follow_holds(
            self.life.context, self.life.ledger(), self.life.leases()
        )

    def remove_filler(self):
        holds = self.life.owners().holds
        self.life.remove(*(row.uuid for row in holds if row.is_filler))


class TestGivingBack(GivingBackCase):
    def test_a_group_that_was_revised_meanwhile_is_alone_as_it_is_now(self):
        first, second = sorted(self.life.make_provider(3) for _ in range(2))
        uuid = self.held(first, first, second)
        seats = {**dict.fromkeys(('m-0', 'm-1', 'm-2'), first), 'm-3': second}
        draft = self.life.revise(uuid, seats, ALONE)
        self.life.give_up(uuid, 'm-1', 'm-2')
        self.at('after release.forget', lambda: self.plan_and_die(draft))

        self.empty()

        self.assertEqual(seats, self.life.seats(uuid))
        self.assertEqual((6, 6), (self.used(first), self.used(second)))

    def plan_and_die(self, draft):
        """A planner takes what has left just now for what still stands."""
        self.at('after revise.commit', self.die)
        with fixtures.MonkeyPatch(
            'nova_groupext.scheduler.hold.exclusive.give_back',
            lambda *_args: None,
        ):
            self.assertRaises(life.Died, self.life.plan, draft)

    @staticmethod
    def die():
        raise life.Died

    def test_trouble_with_one_group_is_none_of_the_others(self):
        first, second = self.life.make_provider(1), self.life.make_provider(1)
        bad, other = self.held(first), self.held(second)
        for uuid in (bad, other):
            self.life.give_up(uuid, 'm-0')
        bad_id = self.life.group(bad).id
        find = objects.VRTGroup.find_alone

        def fail(context, group_id):
            if group_id == bad_id:
                raise db_exc.DBConnectionError
            return find(context, group_id)

        with fixtures.MockPatchObject(objects.VRTGroup, 'find_alone', fail):
            self.empty()

        self.assertEqual((2, 0), (self.used(first), self.used(second)))

    def test_what_somebody_has_left_of_a_growth_is_filled(self):
        provider = self.life.make_provider(4)
        uuid = self.held(provider, provider)
        self.life.redeem(uuid, 'm-0')
        growth = self.grow(uuid, provider)
        self.life.remove(growth.uuid)
        placement.claim(self.life.admin, provider, growth.uuid, VCPU=1)
        self.life.keep()

        resizes.follow_growths(
            self.life.context, self.life.ledger(), self.life.leases()
        )

        self.assertEqual(8, self.used(provider))

    def grow(self, uuid, provider):
        """Hold something for the resize of the first member's server."""
        context = self.life.context
        member = self.life.member(uuid, 'm-0')
        growth = objects.VRTHold.growth(member, groups.seat(provider, 2))
        growth.create(context)
        self.remove_filler()
        self.life.ledger().hold(context, [growth])
        transitions.promise(context, self.life.group(uuid), [growth])
        self.life.keep()
        [growth] = objects.VRTHold.list_by_uuids(context, [growth.uuid])
        return growth

    def test_fillers_that_another_planner_takes_for_left_overs_stay(self):
        """As long as the next ones take to be written, at least."""
        provider = self.life.make_provider(3)
        uuid = self.held(provider, provider)
        self.life.give_up(uuid, 'm-1')

        self.take_for_left_overs(self.life.keep, provider)

    def take_for_left_overs(self, work, provider):
        """Retire what is being written by some work: the host stays full."""
        seen = {}

        def look(point):
            seen[point] = self.used(provider)

        def retire():
            context = self.life.context
            rows = objects.VRTHold.list_by_status(context, states.Hold.WRITING)
            objects.VRTHold.retire(context, rows)
            faultpoints.trap = look

        self.at('before fill.commit', retire)
        work()

        self.assertIn('after fill.commit', seen)
        self.assertEqual({6}, set(seen.values()))
        self.life.reap()
        self.assert_at_rest()

    def test_who_fills_a_host_that_shrinks_meanwhile_leaves_nothing(self):
        """It had stopped for very long; what it fills is wanted no more."""
        provider = self.life.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()

        def release():
            self.life.give_up(uuid)
            self.life.reap()
            self.at('before fill.commit', shrink)

        def shrink():
            self.life.resize(provider, 0)

        self.at('before hold.post', release)
        self.life.keep()

        self.assertEqual({}, self.life.books())

    def test_a_member_gets_what_another_planner_has_just_filled(self):
        provider = self.life.make_provider(2)
        uuid = self.held(provider, provider)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        self.at('before hold.post', self.life.keep)

        self.follow_holds()

        self.assertEqual({'HELD': 2}, self.life.statuses(uuid))
        self.life.reap()
        self.assert_at_rest()

    def test_of_two_reapers_the_slower_gives_back_to_its_group(self):
        provider = self.life.make_provider(3)
        uuid = self.held(provider, provider)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        self.at('before again.prepare', self.follow_holds)

        self.follow_holds()

        self.assertEqual({'HELD': 2}, self.life.statuses(uuid))
        self.assertEqual(6, self.used(provider))


class TestForgotten(GivingBackCase):
    def test_nobody_fills_for_a_group_that_was_deleted(self):
        """What one does not write down, nobody has to wait for."""
        provider = self.life.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()
        written = []

        def delete():
            self.life.mark_deleted(uuid)
            faultpoints.trap = written.append

        self.at('before fill.write_down', delete)

        self.life.keep()

        self.assertNotIn('before hold.post', written)

    def test_who_fills_for_a_group_that_was_forgotten_leaves_nothing(self):
        """It had stopped for very long, and the host is free by now."""
        provider = self.life.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()
        self.at('before hold.post', lambda: self.forget(uuid))

        self.life.keep()

        self.assertEqual({}, self.life.rows())
        self.assertEqual({}, self.life.books())

    def test_a_member_of_a_group_that_was_deleted_is_not_held_again(self):
        provider = self.life.make_provider(2)
        uuid = self.held(provider)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        self.at('before again.prepare', lambda: self.life.mark_deleted(uuid))

        self.follow_holds()
        self.life.reap()

        self.assertEqual({}, self.life.rows())
        self.assertEqual({}, self.life.books())

    def forget(self, uuid):
        self.life.mark_deleted(uuid)
        self.life.reap()
        self.assertIsNone(self.life.find(uuid))

    def test_a_group_that_was_forgotten_is_no_trouble_of_the_others(self):
        """It was read before that, by who gives something back."""
        first, second = self.life.make_provider(2), self.life.make_provider(2)
        bad, other = self.held(first, first), self.held(second, second)
        for uuid in (bad, other):
            self.life.give_up(uuid, 'm-0')
        self.at('before fill.write_down', lambda: self.life.delete(bad))

        self.empty()

        self.assertEqual((0, 4), (self.used(first), self.used(second)))
        leaving = [row.status for row in self.life.owners().holds]
        self.assertNotIn(states.Hold.RELEASING, leaving)
