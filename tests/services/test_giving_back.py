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
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.resize import reservations
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

    def follow_holds(self):
        follow.follow_holds(
            self.life.context, self.life.ledger(), self.life.leases()
        )

    def remove_filler(self):
        holds = self.life.owners().holds
        self.life.remove(*(row.uuid for row in holds if row.is_placeholder))


class TestGivingBack(GivingBackCase):
    def test_trouble_with_one_group_is_none_of_the_others(self):
        first, second = self.life.make_provider(2), self.life.make_provider(2)
        bad, other = self.held(first, first), self.held(second, second)
        for uuid in (bad, other):
            self.life.give_up(uuid, 'm-0')
        alone = exclusive_hosts.exclusive_groups_on

        def fail(context, group, seats):
            if group.uuid == bad:
                raise db_exc.DBConnectionError
            return alone(context, group, seats)

        with fixtures.MockPatchObject(
            exclusive_hosts, 'exclusive_groups_on', fail
        ):
            self.life.keep()

        self.assertEqual([1, 0], [self.leaving(bad), self.leaving(other)])
        self.assertEqual((4, 4), (self.used(first), self.used(second)))

    def leaving(self, uuid):
        """How many holds of a group are to be emptied still."""
        return len(
            objects.VRTHold.list_by_group(
                self.life.context,
                self.life.group(uuid).id,
                states.Hold.RELEASING,
            )
        )

    def test_what_somebody_has_left_of_a_growth_is_filled(self):
        provider = self.life.make_provider(4)
        uuid = self.held(provider, provider)
        self.life.redeem(uuid, 'm-0')
        reservation = self.grow(uuid, provider)
        self.life.remove(reservation.uuid)
        placement.claim(self.life.admin, provider, reservation.uuid, VCPU=1)
        self.life.keep()

        reservations.follow_reservations(
            self.life.context, self.life.ledger(), self.life.leases()
        )
        self.life.keep()

        self.assertEqual(8, self.used(provider))

    def grow(self, uuid, provider):
        """Hold something for the resize of the first member's server."""
        context = self.life.context
        member = self.life.member(uuid, 'm-0')
        reservation = objects.VRTHold.reservation(
            member, groups.seat(provider, 2)
        )
        reservation.create(context)
        self.remove_filler()
        self.life.ledger().hold(context, [reservation])
        transitions.commit_placeholders(
            context, self.life.group(uuid), [reservation]
        )
        self.life.keep()
        [reservation] = objects.VRTHold.list_by_uuids(
            context, [reservation.uuid]
        )
        return reservation

    def test_who_fills_a_host_that_shrinks_meanwhile_leaves_nothing(self):
        """It had stopped for very long; what it fills is wanted no more."""
        provider = self.life.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()

        def release():
            self.life.give_up(uuid)
            self.life.reap()
            self.at('before keep.commit', shrink)

        def shrink():
            self.life.resize(provider, 0)

        self.at('before hold.post', release)
        self.life.keep()
        self.life.reap()

        self.assertEqual({}, self.life.books())

    def test_what_a_deleted_server_has_left_is_filled_in_one_round(self):
        provider = self.life.make_provider(2)
        uuid = self.held(provider, provider)
        server = self.life.redeem(uuid, 'm-0')
        self.life.remove(server)
        self.life.fates[server] = follow.ServerOutcome.DELETED

        self.life.keep()

        self.assertEqual({'RELEASED': 1, 'HELD': 1}, self.life.statuses(uuid))
        self.assertEqual(4, self.used(provider))

    def test_servers_are_looked_at_only_if_one_owns_nothing(self):
        provider = self.life.make_provider(2)
        self.life.redeem(self.held(provider, provider), 'm-0')

        with fixtures.MockPatchObject(
            follow.servers, 'read', side_effect=AssertionError
        ):
            self.life.keep()

    def test_nobody_fills_the_place_of_a_member_whose_hold_is_missing(self):
        provider = self.life.make_provider(2)
        uuid = self.held(provider, provider)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)

        self.life.keep()
        self.assertEqual(2, self.used(provider))
        self.follow_holds()

        self.assertEqual({'HELD': 2}, self.life.statuses(uuid))
        self.life.reap()
        self.assert_at_rest()

    def test_fillers_make_room_for_a_member_where_a_stranger_has_come(self):
        provider = self.life.make_provider(3)
        uuid = self.held(provider, provider)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        stranger = self.life.fill(provider)

        self.follow_holds()

        self.assertEqual({'HELD': 2}, self.life.statuses(uuid))
        self.assertEqual(6, self.used(provider))
        self.life.reap()
        self.assert_at_rest(strangers=[stranger])

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

        self.at('before keep.write_down', delete)

        self.life.keep()

        self.assertNotIn('before hold.post', written)

    def test_who_fills_for_a_group_that_was_forgotten_leaves_nothing(self):
        """It had stopped for very long, and the host is free by now."""
        provider = self.life.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()
        self.at('before hold.post', lambda: self.forget(uuid))

        self.life.keep()
        self.life.reap()

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

    def test_nothing_is_held_again_of_a_group_that_was_forgotten(self):
        """What is filled without a row is nobody's."""
        provider = self.life.make_provider(2)
        uuid = self.held(provider)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        self.at('before again.prepare', lambda: self.forget(uuid))

        self.follow_holds()

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
        self.at('before keep.write_down', lambda: self.forget(bad))

        self.life.keep()

        self.assertEqual((0, 4), (self.used(first), self.used(second)))
        leaving = [row.status for row in self.life.owners().holds]
        self.assertNotIn(states.Hold.RELEASING, leaving)
