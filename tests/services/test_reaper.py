# SPDX-License-Identifier: Apache-2.0
"""Does the reaper find what no row knows of, and repair what spans hosts?"""

import contextlib

import fixtures
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import hold_search
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.nova import servers as nova_servers
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.resize import reservations
from tests import fixtures as ours
from tests import groups
from tests import rounds
from tests.services import life
from tests.services import placement
from tests.services import servers


class ReaperCase(life.LifeTestCase):
    SERVER = servers.SQLITE

    def follow(self, step):
        """Take one step of the reaper."""
        step(self.life.context, self.life.ledger(), self.life.leases())

    def grow(self, uuid):
        """Let the member be a server, and hold something for its resize."""
        context = self.life.context
        self.life.redeem(uuid, 'm-0')
        member = self.life.member(uuid, 'm-0')
        db.compare_and_set(
            context,
            models.Member,
            models.Member.id == member.id,
            server_flavor={'name': 'small', 'vcpus': 1},
        )
        seat = groups.seat(self.life.make_provider(seats=1), life.AMOUNT)
        reservation = objects.VRTHold.reservation(member, seat)
        reservation.create(context)
        self.life.ledger().hold(context, [reservation])
        transitions.commit_placeholders(
            context, self.life.group(uuid), [reservation]
        )
        return reservation


class TestLate(ReaperCase):
    """A planner stops before it asks Placement, and dies after that."""

    def setUp(self):
        super().setUp()
        provider = self.life.make_provider(seats=4)
        self.uuid = self.life.describe([provider, provider])
        faultpoints.trap = self.stop
        self.assertRaises(life.Died, self.life.plan, self.uuid)
        faultpoints.trap = None
        self.reaper = self.life.planner()

    def stop(self, point):
        """Stop for so long that others give up its rows, and do its work."""
        if point == 'before hold.post':
            faultpoints.trap = None
            self.life.reap()
            faultpoints.trap = self.die

    @staticmethod
    def die(point):
        if point == 'after hold.post':
            raise life.Died

    def reap(self, seconds=0):
        timeutils.advance_time_seconds(seconds)
        rounds.reap(self.reaper, self.life.context)

    def strays(self):
        return set(self.life.books()) - set(self.life.owners().books())

    def ended(self):
        return objects.VRTHold.list_by_status(
            self.life.context, states.Hold.RELEASED
        )

    def test_what_it_has_filled_is_given_back(self):
        self.assertEqual(2, len(self.strays()))

        self.reap(hold_search.WATCHES[0] + 1)

        self.assertEqual(set(), self.strays())
        self.assert_at_rest()
        self.assertEqual({'HELD': 2}, self.life.statuses(self.uuid))

    def test_that_is_looked_for_again_and_again(self):
        [first, second] = sorted(self.strays())
        self.reap(hold_search.WATCHES[0] + 1)
        provider = self.life.seats(self.uuid)['m-0']
        for seconds, uuid in ((600, first), (3600, second), (86400, first)):
            placement.claim(self.life.admin, provider, uuid, VCPU=1)

            self.reap(seconds)

            self.assertEqual(set(), self.strays())

    def test_after_a_day_nobody_looks_any_more(self):
        for seconds in hold_search.WATCHES:
            self.reap(seconds + 1)
        with fixtures.MockPatchObject(
            placement_client.PlacementClient, 'empty'
        ) as asked:
            self.reap(hold_search.WATCHES[-1])

        asked.mock.assert_not_called()

    def test_what_our_tables_know_nothing_of_is_left_alone(self):
        """They are another installation's, or from before a backup."""
        self.reap(hold_search.WATCHES[0] + 1)
        books = self.life.books()
        self.assertNotEqual({}, books)
        ours.wipe()

        for seconds in hold_search.WATCHES:
            self.reap(seconds + 1)

        self.assertEqual(books, self.life.books())

    def test_ended_holds_are_forgotten_after_their_time(self):
        for seconds in hold_search.WATCHES:
            self.assertNotEqual([], self.ended())
            self.reap(seconds + 1)

        self.reap(CONF.vrt.tombstone_lifetime + 1)

        self.assertEqual([], self.ended())

    def test_one_that_is_watched_is_not_forgotten(self):
        CONF.set_override('tombstone_lifetime', 3600, 'vrt')
        self.addCleanup(CONF.clear_override, 'tombstone_lifetime', 'vrt')

        self.reap(7200)

        self.assertEqual(2, len(self.ended()))

    def test_others_in_the_books_are_left_alone(self):
        server = self.life.redeem(self.uuid, 'm-0')
        other = self.life.fill(self.life.make_provider(seats=1))

        self.reap(hold_search.WATCHES[0] + 1)

        self.assertEqual({other}, self.strays())
        self.assertIn(server, self.life.books())


class TestLateServers(ReaperCase):
    """A hold was removed; the request that fills its server anew is late.

    When it lands the server's member has been held for another, or failed.
    """

    def setUp(self):
        super().setUp()
        provider = self.life.make_provider(1)
        self.uuid = self.life.held([provider])
        self.server = self.life.redeem(self.uuid, 'm-0')
        self.life.remove(self.server)
        self.life.fates[self.server] = nova_servers.ServerOutcome.UNSCHEDULED
        self.life.reap()
        self.life.give_up(self.uuid, 'm-0')
        self.life.release(self.uuid)
        placement.claim(self.life.admin, provider, self.server, VCPU=1)

    def reap(self, fate, seconds):
        self.life.fates[self.server] = fate
        self.life.reap(seconds)
        return self.server in self.life.books()

    def test_who_is_in_cell0_gives_it_back(self):
        watch = hold_search.WATCHES[0] + 1

        is_there = self.reap(nova_servers.ServerOutcome.UNSCHEDULED, watch)

        self.assertFalse(is_there)
        self.assert_at_rest()

    def test_who_was_deleted_gives_it_back(self):
        watch = hold_search.WATCHES[0] + 1

        is_there = self.reap(nova_servers.ServerOutcome.DELETED, watch)

        self.assertFalse(is_there)

    def test_who_may_run_keeps_it(self):
        for fate in ('LIVE', 'BROKEN', 'COMING'):
            for watch in hold_search.WATCHES:
                is_there = self.reap(
                    nova_servers.ServerOutcome[fate], watch + 1
                )

                self.assertTrue(is_there, (fate, watch))

    def test_who_is_unknown_to_nova_keeps_it_until_the_deadline(self):
        unknown = nova_servers.ServerOutcome.UNKNOWN_TO_NOVA
        deadline = CONF.vrt.unknown_server_deadline

        before = self.reap(unknown, hold_search.WATCHES[0] + 1)
        after = self.reap(unknown, deadline + 1)
        at_last = self.reap(unknown, deadline + 1)

        self.assertEqual((True, True, False), (before, after, at_last))


class TestTakingBack(ReaperCase):
    """What a server in cell0 has is taken back, and the planner dies."""

    def test_what_was_begun_is_finished_and_never_free(self):
        provider = self.life.make_provider(1)
        uuid = self.life.held([provider])
        server = self.life.redeem(uuid, 'm-0')
        self.life.fates[server] = nova_servers.ServerOutcome.UNSCHEDULED
        self.at('before back.post', self.die)
        self.assertRaises(life.Died, self.life.reap, 0)
        # A stranger wants it as soon as anything is given back.
        self.at('after release.post', lambda: self.life.fill(provider))

        self.life.reap()

        self.assertEqual({'HELD': 1}, self.life.statuses(uuid))
        self.assert_at_rest()

    @staticmethod
    def die():
        raise life.Died


class TestUnknownServers(ReaperCase):
    """Nova knows nothing of a server, and it has the capacity of a member.

    It was deleted before it was scheduled, or its conductor died.
    """

    def setUp(self):
        super().setUp()
        self.uuid = self.life.held([self.life.make_provider(1)])
        self.server = self.life.redeem(self.uuid, 'm-0')
        self.life.fates[self.server] = (
            nova_servers.ServerOutcome.UNKNOWN_TO_NOVA
        )

    def findings(self):
        found = audit.audit(self.life.context, self.life.ledger())
        return [(each.kind, each.consumer) for each in found]

    def test_after_a_deadline_the_member_is_held_again(self):
        self.life.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertEqual({'HELD': 1}, self.life.statuses(self.uuid))
        self.assertNotIn(self.server, self.life.books())
        self.assert_at_rest()
        self.assertEqual([], self.findings())

    def test_before_that_it_may_still_be_built(self):
        self.life.reap(CONF.vrt.unknown_server_deadline // 2)

        self.assertEqual({'ACTIVE': 1}, self.life.statuses(self.uuid))
        self.assertIn(self.server, self.life.books())
        self.assertEqual(
            [(audit.Kind.UNKNOWN_SERVER, self.server)], self.findings()
        )

    def test_one_that_gets_its_cell_at_that_moment_keeps_all(self):
        """Of its mapping Nova is asked first, of its build request then."""
        live = nova_servers.Server(nova_servers.ServerOutcome.LIVE)
        unknown = nova_servers.Server(
            nova_servers.ServerOutcome.UNKNOWN_TO_NOVA
        )
        answers = [live, unknown]
        timeutils.advance_time_seconds(CONF.vrt.unknown_server_deadline + 1)
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.nova.servers.read',
                lambda _context, uuids: dict.fromkeys(uuids, answers.pop()),
            )
        )

        self.follow(follow.follow_servers)

        self.assertEqual([], answers)
        self.assertEqual({'ACTIVE': 1}, self.life.statuses(self.uuid))
        self.assertIn(self.server, self.life.books())

    def test_a_deleted_group_is_kept_while_placement_is_silent_of_it(self):
        self.life.fates[self.server] = nova_servers.ServerOutcome.UNSCHEDULED
        self.life.mark_deleted(self.uuid)
        silence = exception.PlacementUnavailable(reason='a test')
        with fixtures.MockPatchObject(
            placement_client.PlacementClient,
            'allocations',
            side_effect=silence,
        ):
            self.life.release(self.uuid)

        self.life.reap()

        self.assertEqual({}, self.life.books())

    def test_a_deleted_group_is_kept_while_its_cell_is_silent(self):
        self.life.mark_deleted(self.uuid)
        fate = self.life.fates.pop(self.server)
        self.life.release(self.uuid)
        self.assertIsNotNone(self.life.find(self.uuid))
        self.life.fates[self.server] = fate

        self.life.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertEqual({}, self.life.books())
        self.assertIsNone(self.life.find(self.uuid))

    def test_a_server_that_waits_for_its_cell_is_let_wait(self):
        self.life.fates[self.server] = nova_servers.ServerOutcome.COMING

        self.life.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertIn(self.server, self.life.books())
        self.assertEqual([], self.findings())


class TestIdle(ReaperCase):
    """Nothing has happened since the last round of the same planner."""

    def setUp(self):
        super().setUp()
        self.wide, self.narrow = map(self.life.make_provider, (3, 1))
        self.uuid = self.life.held([self.wide, self.narrow])
        self.grow(self.life.held([self.wide]))
        self.asked = []
        ask = placement_client.PlacementClient._ask

        def note(books, context, url):
            self.asked.append(url.partition('?')[0])
            return ask(books, context, url)

        self.useFixture(
            fixtures.MonkeyPatch(
                f'{placement_client.__name__}.PlacementClient._ask', note
            )
        )
        self.reaper = self.life.planner()
        # By the second one it has read what the first one has done.
        for _round in range(2):
            self.reap()

    def reap(self):
        """Make a round; return what is asked of Placement."""
        self.asked.clear()
        timeutils.advance_time_seconds(1)
        rounds.reap(self.reaper, self.life.context)
        return self.asked

    def test_two_requests_tell_so(self):
        self.assertEqual(['/usages', '/resource_providers'], self.reap())

    def test_a_hold_that_somebody_has_removed_is_held_again(self):
        removed = self.life.hold(self.uuid, 'm-1').uuid
        self.life.remove(removed)

        self.reap()

        self.assertNotEqual(removed, self.life.hold(self.uuid, 'm-1').uuid)
        self.assertNotIn(removed, self.life.books())

    def test_a_growth_that_somebody_has_removed_is_held_again(self):
        [removed] = objects.VRTHold.list_reservations(self.life.context)
        self.life.remove(removed.uuid)

        self.reap()

        [reservation] = objects.VRTHold.list_reservations(self.life.context)
        self.assertNotEqual(removed.uuid, reservation.uuid)
        self.assertIn(reservation.uuid, self.life.books())

    def test_what_cannot_be_held_again_now_is_in_the_next_round(self):
        hold = self.life.hold(self.uuid, 'm-1')
        [reservation] = objects.VRTHold.list_reservations(self.life.context)
        self.life.remove(hold.uuid, reservation.uuid)
        lent = [
            self.life.leases().acquire(
                self.life.context, each.group_id, leaves_word=False
            )
            for each in (hold, reservation)
        ]
        self.reap()
        self.assertEqual(hold.uuid, self.life.hold(self.uuid, 'm-1').uuid)
        for lease in lent:
            lease.release(self.life.context)

        self.reap()

        self.assertIn(self.life.hold(self.uuid, 'm-1').uuid, self.life.books())
        [reservation] = objects.VRTHold.list_reservations(self.life.context)
        self.assertIn(reservation.uuid, self.life.books())

    def test_only_a_provider_that_has_changed_is_read(self):
        self.life.resize(self.narrow, 0)

        asked = self.reap()

        self.assertIn(f'/resource_providers/{self.narrow}/allocations', asked)
        self.assertNotIn(f'/resource_providers/{self.wide}/allocations', asked)
        self.assertEqual(
            {'HELD': 1, 'FAILED': 1}, self.life.statuses(self.uuid)
        )

    def test_who_was_not_answered_reads_all_in_the_next_round(self):
        self.life.remove(self.life.hold(self.uuid, 'm-1').uuid)
        unavailable = exception.PlacementUnavailable(reason='a test')
        with fixtures.MockPatchObject(
            placement_client.PlacementClient,
            'generations',
            side_effect=unavailable,
        ):
            self.reap()

        self.reap()

        self.assertIn(self.life.hold(self.uuid, 'm-1').uuid, self.life.books())


class TestDeciding(ReaperCase):
    """All that a planner may decide at once is being decided."""

    def setUp(self):
        super().setUp()
        provider = self.life.make_provider(seats=2)
        self.expired = self.life.held([provider])
        self.life.expire(self.expired)
        self.abandoned = self.life.describe([provider])
        self.reaper = self.life.planner()
        self.busy = contextlib.ExitStack()
        self.addCleanup(self.busy.close)
        group = objects.VRTGroup.get(self.life.context, self.abandoned)
        for _decision in range(CONF.vrt.max_concurrent_plans):
            self.busy.enter_context(self.reaper._slots.taken(group.project_id))

    def test_what_others_began_is_finished_all_the_same(self):
        self.useFixture(fixtures.Timeout(30, gentle=True))

        self.reaper.reap(self.life.context)

        self.assertEqual({'RELEASED': 1}, self.life.statuses(self.expired))
        self.assertEqual({'TENTATIVE': 1}, self.life.statuses(self.abandoned))

    def test_what_is_left_to_plan_is_planned_once_there_is_time(self):
        self.reaper.serve_waiting(self.life.context)
        self.assertEqual({'TENTATIVE': 1}, self.life.statuses(self.abandoned))

        self.busy.close()
        self.reaper.serve_waiting(self.life.context)

        self.assertEqual({'HELD': 1}, self.life.statuses(self.abandoned))


class TestForgotten(ReaperCase):
    """A group is deleted and forgotten after it was read."""

    # SQLite would take rows of a group that is gone.
    SERVER = servers.MARIADB

    def setUp(self):
        super().setUp()
        places = sorted(self.life.make_provider(seats=1) for _ in range(3))
        self.first, self.bad, self.last = (
            self.life.held([place]) for place in places
        )

    def test_what_others_have_lost_is_held_again(self):
        for uuid in (self.first, self.last):
            self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        self.at('before again.prepare', lambda: self.life.delete(self.bad))

        self.follow(follow.follow_holds)

        self.assert_at_rest()
        self.assertEqual({'HELD': 1}, self.life.statuses(self.last))

    def test_what_others_hold_for_resizes_is_held_again(self):
        grown = [self.grow(uuid) for uuid in (self.bad, self.last)]
        self.life.remove(*(reservation.uuid for reservation in grown))
        self.at('before again.prepare', lambda: self.life.delete(self.bad))

        self.follow(reservations.follow_reservations)

        [reservation] = objects.VRTHold.list_reservations(self.life.context)
        self.assertIn(reservation.uuid, self.life.books())

    def test_others_are_followed_if_it_goes_while_growths_are_read(self):
        grown = [self.grow(uuid) for uuid in (self.bad, self.last)]
        self.life.remove(grown[-1].uuid)
        found = objects.VRTMember.list_by_ids

        def delete_and_find(context, ids):
            if self.life.find(self.bad) is not None:
                self.life.delete(self.bad)
            return found(context, ids)

        with fixtures.MockPatchObject(
            objects.VRTMember, 'list_by_ids', delete_and_find
        ):
            self.follow(reservations.follow_reservations)

        [reservation] = objects.VRTHold.list_reservations(self.life.context)
        self.assertIn(reservation.uuid, self.life.books())

    def test_others_are_followed_if_it_goes_while_it_is_held_again(self):
        CONF.set_override('rehold_after_server_end', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')
        for uuid in (self.bad, self.last):
            server = self.life.redeem(uuid, 'm-0')
            self.life.remove(server)
            self.life.fates[server] = nova_servers.ServerOutcome.DELETED
        is_current, deletes = objects.VRTGroup.is_current, [self.bad]

        def ask_and_delete(context, group_id):
            answer = is_current(context, group_id)
            while deletes:
                self.life.delete(deletes.pop())
            return answer

        with fixtures.MockPatchObject(
            objects.VRTGroup, 'is_current', ask_and_delete
        ):
            self.follow(follow.follow_servers)

        self.assertEqual({'HELD': 1}, self.life.statuses(self.last))


class TestGivenUp(ReaperCase):
    """A hold ends, as it should, between two questions about it."""

    def setUp(self):
        super().setUp()
        self.uuid = self.life.held([self.life.make_provider(seats=1)])

    def test_it_is_not_held_again_when_its_member_was_released(self):
        def release():
            self.life.give_up(self.uuid)
            self.life.release(self.uuid)

        self.assertNotIn('before swap.apply', self.followed_while(release))
        self.assert_at_rest()

    def test_it_is_not_held_again_when_its_member_became_a_server(self):
        def redeem():
            self.life.redeem(self.uuid, 'm-0')

        self.assertNotIn('before swap.apply', self.followed_while(redeem))
        self.assert_at_rest()

    def followed_while(self, something):
        """Follow holds; return what was done after something happened."""
        reached = []
        asking = fixtures.MockPatchObject(
            placement_client.PlacementClient, 'used'
        )

        def happen_and_ask(*args):
            asking.cleanUp()
            something()
            faultpoints.trap = reached.append
            return self.life.ledger().used(*args)

        with asking:
            asking.mock.side_effect = happen_and_ask
            self.follow(follow.follow_holds)
        return reached


class TestTwoProviders(ReaperCase):
    """A member has something of a host, and something of a part of it."""

    def test_a_hold_of_both_is_held_again_once(self):
        providers = [self.life.make_provider(seats=3) for _ in range(2)]
        uuid = self.life.describe(providers[:1])
        self.span(uuid, providers)
        self.life.plan(uuid)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        reached = []
        faultpoints.trap = reached.append

        self.follow(follow.follow_holds)

        self.assertEqual(1, reached.count('before swap.apply'))
        self.assert_at_rest()
        self.assertEqual({'HELD': 1}, self.life.statuses(uuid))

    def span(self, uuid, providers):
        member = self.life.member(uuid, 'm-0')
        part = {'resources': {'VCPU': life.AMOUNT}}
        both = dict.fromkeys(providers, part)
        db.compare_and_set(
            self.life.context,
            models.Member,
            models.Member.id == member.id,
            description={
                **member.description,
                'seat': {**member.description['seat'], 'allocations': both},
            },
        )
