# SPDX-License-Identifier: Apache-2.0
"""Rounds of the reaper: late requests, unknown servers and lost holds."""

import contextlib

import fixtures
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.nova import servers as nova_servers
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.placement import http
from nova_groupext.scheduler.resize import reservations
from tests import fixtures as test_fixtures
from tests import rounds
from tests.services import deployment
from tests.services import placement
from tests.services import servers


class ReaperCase(deployment.DeploymentTestCase):
    SERVER = servers.SQLITE

    def follow(self, step):
        """Run one step of the reaper."""
        step(
            self.deployment.context,
            self.deployment.placement_client(),
            self.deployment.leases(),
        )

    def grow(self, uuid):
        """Redeem the member, and hold a resize reservation for its server."""
        self.deployment.redeem(uuid, 'm-0')
        return self.deployment.reserve_resize(
            uuid, self.deployment.make_provider(slots=1)
        )


class TestLateRequests(ReaperCase):
    """A planner that pauses before a POST to Placement, and dies after it."""

    def setUp(self):
        super().setUp()
        provider = self.deployment.make_provider(slots=4)
        self.uuid = self.deployment.describe([provider, provider])
        faultpoints.handler = self.stop
        self.assertRaises(
            deployment.ProcessKilled, self.deployment.plan, self.uuid
        )
        faultpoints.handler = None
        self.reaper = self.deployment.planner()

    def stop(self, point):
        """Pause until another planner has abandoned its rows and planned."""
        if point == 'before hold.post':
            faultpoints.handler = None
            self.deployment.reap()
            faultpoints.handler = self.die

    @staticmethod
    def die(point):
        if point == 'after hold.post':
            raise deployment.ProcessKilled

    def reap(self, seconds=0):
        timeutils.advance_time_seconds(seconds)
        rounds.reap(self.reaper, self.deployment.context)

    def unexpected_consumers(self):
        return set(self.deployment.allocations()) - set(
            self.deployment.ownership().expected_allocations()
        )

    def ended(self):
        return objects.VRTHold.list_by_status(
            self.deployment.context, states.Hold.RELEASED
        )

    def test_late_allocations_are_released(self):
        self.assertEqual(2, len(self.unexpected_consumers()))

        self.reap(watched_holds.CHECK_DELAYS[0] + 1)

        self.assertEqual(set(), self.unexpected_consumers())
        self.assert_at_rest()
        self.assertEqual({'HELD': 2}, self.deployment.status_counts(self.uuid))

    def test_watched_holds_are_swept_repeatedly(self):
        [first, second] = sorted(self.unexpected_consumers())
        self.reap(watched_holds.CHECK_DELAYS[0] + 1)
        provider = self.deployment.held_providers(self.uuid)['m-0']
        for seconds, uuid in ((600, first), (3600, second), (86400, first)):
            placement.claim(self.deployment.admin, provider, uuid, VCPU=1)

            self.reap(seconds)

            self.assertEqual(set(), self.unexpected_consumers())

    def test_holds_are_not_watched_beyond_a_day(self):
        for seconds in watched_holds.CHECK_DELAYS:
            self.reap(seconds + 1)
        with fixtures.MockPatchObject(
            client.PlacementClient, 'empty'
        ) as asked:
            self.reap(watched_holds.CHECK_DELAYS[-1])

        asked.mock.assert_not_called()

    def test_allocations_without_rows_are_kept(self):
        """The allocations may be another installation's, or older ones."""
        self.reap(watched_holds.CHECK_DELAYS[0] + 1)
        books = self.deployment.allocations()
        self.assertNotEqual({}, books)
        test_fixtures.delete_all_rows()

        for seconds in watched_holds.CHECK_DELAYS:
            self.reap(seconds + 1)

        self.assertEqual(books, self.deployment.allocations())

    def test_released_holds_are_purged_after_the_tombstone_lifetime(self):
        for seconds in watched_holds.CHECK_DELAYS:
            self.assertNotEqual([], self.ended())
            self.reap(seconds + 1)

        self.reap(CONF.vrt.tombstone_lifetime + 1)

        self.assertEqual([], self.ended())

    def test_watched_hold_is_not_purged(self):
        CONF.set_override('tombstone_lifetime', 3600, 'vrt')
        self.addCleanup(CONF.clear_override, 'tombstone_lifetime', 'vrt')

        self.reap(7200)

        self.assertEqual(2, len(self.ended()))

    def test_allocations_of_servers_and_foreign_consumers_are_kept(self):
        server = self.deployment.redeem(self.uuid, 'm-0')
        other = self.deployment.fill(self.deployment.make_provider(slots=1))

        self.reap(watched_holds.CHECK_DELAYS[0] + 1)

        self.assertEqual({other}, self.unexpected_consumers())
        self.assertIn(server, self.deployment.allocations())


class TestLateServers(ReaperCase):
    """Late requests that fill a server whose hold was removed.

    By then the server's member is held for another server, or has failed.
    """

    def setUp(self):
        super().setUp()
        provider = self.deployment.make_provider(1)
        self.uuid = self.deployment.hold_group([provider])
        self.server = self.deployment.redeem(self.uuid, 'm-0')
        self.deployment.delete_allocations(self.server)
        self.deployment.server_outcomes[self.server] = (
            nova_servers.ServerOutcome.UNSCHEDULED
        )
        self.deployment.reap()
        self.deployment.request_release(self.uuid, 'm-0')
        self.deployment.release(self.uuid)
        placement.claim(self.deployment.admin, provider, self.server, VCPU=1)

    def reap(self, outcome, seconds):
        self.deployment.server_outcomes[self.server] = outcome
        self.deployment.reap(seconds)
        return self.server in self.deployment.allocations()

    def test_late_allocation_of_an_unscheduled_server_is_released(self):
        watch = watched_holds.CHECK_DELAYS[0] + 1

        is_there = self.reap(nova_servers.ServerOutcome.UNSCHEDULED, watch)

        self.assertFalse(is_there)
        self.assert_at_rest()

    def test_late_allocation_of_a_deleted_server_is_released(self):
        watch = watched_holds.CHECK_DELAYS[0] + 1

        is_there = self.reap(nova_servers.ServerOutcome.DELETED, watch)

        self.assertFalse(is_there)

    def test_late_allocation_of_a_server_that_may_run_is_kept(self):
        for outcome in ('LIVE', 'IN_ERROR', 'CREATING'):
            for watch in watched_holds.CHECK_DELAYS:
                is_there = self.reap(
                    nova_servers.ServerOutcome[outcome], watch + 1
                )

                self.assertTrue(is_there, (outcome, watch))

    def test_late_allocation_of_an_unknown_server_is_kept_until_deadline(self):
        unknown = nova_servers.ServerOutcome.UNKNOWN_TO_NOVA
        deadline = CONF.vrt.unknown_server_deadline

        before = self.reap(unknown, watched_holds.CHECK_DELAYS[0] + 1)
        after = self.reap(unknown, deadline + 1)
        at_last = self.reap(unknown, deadline + 1)

        self.assertEqual((True, True, False), (before, after, at_last))


class TestTakeBack(ReaperCase):
    """Take-backs from a server in cell0 whose planner dies."""

    def test_interrupted_take_back_is_finished_without_freeing_capacity(self):
        provider = self.deployment.make_provider(1)
        uuid = self.deployment.hold_group([provider])
        server = self.deployment.redeem(uuid, 'm-0')
        self.deployment.server_outcomes[server] = (
            nova_servers.ServerOutcome.UNSCHEDULED
        )
        self.call_at('before take_back.apply', self.die)
        self.assertRaises(deployment.ProcessKilled, self.deployment.reap, 0)
        # A foreign consumer claims the capacity as soon as it is free.
        self.call_at(
            'after release.post', lambda: self.deployment.fill(provider)
        )

        self.deployment.reap()

        self.assertEqual({'HELD': 1}, self.deployment.status_counts(uuid))
        self.assert_at_rest()

    @staticmethod
    def die():
        raise deployment.ProcessKilled


class TestUnknownServers(ReaperCase):
    """A server that is unknown to Nova and has the capacity of a member.

    It was deleted before it was scheduled, or its conductor died.
    """

    def setUp(self):
        super().setUp()
        self.uuid = self.deployment.hold_group(
            [self.deployment.make_provider(1)]
        )
        self.server = self.deployment.redeem(self.uuid, 'm-0')
        self.deployment.server_outcomes[self.server] = (
            nova_servers.ServerOutcome.UNKNOWN_TO_NOVA
        )

    def findings(self):
        found = audit.audit(
            self.deployment.context, self.deployment.placement_client()
        )
        return [(each.kind, each.consumer) for each in found]

    def test_capacity_is_taken_back_after_the_deadline(self):
        self.deployment.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertEqual({'HELD': 1}, self.deployment.status_counts(self.uuid))
        self.assertNotIn(self.server, self.deployment.allocations())
        self.assert_at_rest()
        self.assertEqual([], self.findings())

    def test_capacity_is_kept_and_reported_before_the_deadline(self):
        self.deployment.reap(CONF.vrt.unknown_server_deadline // 2)

        self.assertEqual(
            {'ACTIVE': 1}, self.deployment.status_counts(self.uuid)
        )
        self.assertIn(self.server, self.deployment.allocations())
        self.assertEqual(
            [(audit.Kind.UNKNOWN_SERVER, self.server)], self.findings()
        )

    def test_server_that_gets_its_cell_concurrently_keeps_its_capacity(self):
        """The reaper reads the server's mapping before its build request."""
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

        self.follow(server_changes.follow_servers)

        self.assertEqual([], answers)
        self.assertEqual(
            {'ACTIVE': 1}, self.deployment.status_counts(self.uuid)
        )
        self.assertIn(self.server, self.deployment.allocations())

    def test_deleted_group_is_kept_while_placement_does_not_answer(self):
        self.deployment.server_outcomes[self.server] = (
            nova_servers.ServerOutcome.UNSCHEDULED
        )
        self.deployment.mark_deleted(self.uuid)
        silence = exception.PlacementUnavailable(reason='a test')
        with fixtures.MockPatchObject(
            client.PlacementClient,
            'allocations',
            side_effect=silence,
        ):
            self.deployment.release(self.uuid)

        self.deployment.reap()

        self.assertEqual({}, self.deployment.allocations())

    def test_deleted_group_is_kept_while_the_cell_does_not_answer(self):
        self.deployment.mark_deleted(self.uuid)
        outcome = self.deployment.server_outcomes.pop(self.server)
        self.deployment.release(self.uuid)
        self.assertIsNotNone(self.deployment.find_group(self.uuid))
        self.deployment.server_outcomes[self.server] = outcome

        self.deployment.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertEqual({}, self.deployment.allocations())
        self.assertIsNone(self.deployment.find_group(self.uuid))

    def test_server_that_will_be_built_keeps_its_capacity(self):
        self.deployment.server_outcomes[self.server] = (
            nova_servers.ServerOutcome.CREATING
        )

        self.deployment.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertIn(self.server, self.deployment.allocations())
        self.assertEqual([], self.findings())


class TestIdle(ReaperCase):
    """Rounds of one planner without changes between them."""

    def setUp(self):
        super().setUp()
        self.large_provider, self.small_provider = map(
            self.deployment.make_provider, (3, 1)
        )
        self.uuid = self.deployment.hold_group(
            [self.large_provider, self.small_provider]
        )
        self.grow(self.deployment.hold_group([self.large_provider]))
        self.asked = []
        ask = http.Connection.send_get

        def note(connection, context, url):
            self.asked.append(url.partition('?')[0])
            return ask(connection, context, url)

        self.useFixture(
            fixtures.MonkeyPatch(f'{http.__name__}.Connection.send_get', note)
        )
        self.reaper = self.deployment.planner()
        # The second round has read the changes of the first one.
        for _round in range(2):
            self.reap()

    def reap(self):
        """Run a round; returns the URLs that it reads from Placement."""
        self.asked.clear()
        timeutils.advance_time_seconds(1)
        rounds.reap(self.reaper, self.deployment.context)
        return self.asked

    def test_idle_round_sends_two_requests(self):
        self.assertEqual(['/usages', '/resource_providers'], self.reap())

    def test_removed_hold_gets_a_successor(self):
        removed = self.deployment.hold(self.uuid, 'm-1').uuid
        self.deployment.delete_allocations(removed)

        self.reap()

        self.assertNotEqual(
            removed, self.deployment.hold(self.uuid, 'm-1').uuid
        )
        self.assertNotIn(removed, self.deployment.allocations())

    def test_removed_resize_reservation_gets_a_successor(self):
        [removed] = objects.VRTHold.list_reservations(self.deployment.context)
        self.deployment.delete_allocations(removed.uuid)

        self.reap()

        [reservation] = objects.VRTHold.list_reservations(
            self.deployment.context
        )
        self.assertNotEqual(removed.uuid, reservation.uuid)
        self.assertIn(reservation.uuid, self.deployment.allocations())

    def test_lost_hold_of_a_leased_group_is_replaced_in_the_next_round(self):
        hold = self.deployment.hold(self.uuid, 'm-1')
        [reservation] = objects.VRTHold.list_reservations(
            self.deployment.context
        )
        self.deployment.delete_allocations(hold.uuid, reservation.uuid)
        lent = [
            self.deployment.leases().acquire(
                self.deployment.context, each.group_id, wakes_owner=False
            )
            for each in (hold, reservation)
        ]
        self.reap()
        self.assertEqual(
            hold.uuid, self.deployment.hold(self.uuid, 'm-1').uuid
        )
        for lease in lent:
            lease.release(self.deployment.context)

        self.reap()

        self.assertIn(
            self.deployment.hold(self.uuid, 'm-1').uuid,
            self.deployment.allocations(),
        )
        [reservation] = objects.VRTHold.list_reservations(
            self.deployment.context
        )
        self.assertIn(reservation.uuid, self.deployment.allocations())

    def test_only_changed_providers_are_read(self):
        self.deployment.resize_provider(self.small_provider, 0)

        asked = self.reap()

        self.assertIn(
            f'/resource_providers/{self.small_provider}/allocations', asked
        )
        self.assertNotIn(
            f'/resource_providers/{self.large_provider}/allocations', asked
        )
        self.assertEqual(
            {'HELD': 1, 'FAILED': 1}, self.deployment.status_counts(self.uuid)
        )

    def test_round_after_a_failed_read_reads_all_providers(self):
        self.deployment.delete_allocations(
            self.deployment.hold(self.uuid, 'm-1').uuid
        )
        unavailable = exception.PlacementUnavailable(reason='a test')
        with fixtures.MockPatchObject(
            client.PlacementClient,
            'generations',
            side_effect=unavailable,
        ):
            self.reap()

        self.reap()

        self.assertIn(
            self.deployment.hold(self.uuid, 'm-1').uuid,
            self.deployment.allocations(),
        )


class TestFullSlots(ReaperCase):
    """Rounds of a planner whose planning slots are all taken."""

    def setUp(self):
        super().setUp()
        provider = self.deployment.make_provider(slots=2)
        self.expired = self.deployment.hold_group([provider])
        self.deployment.expire(self.expired)
        self.abandoned = self.deployment.describe([provider])
        self.reaper = self.deployment.planner()
        self.busy = contextlib.ExitStack()
        self.addCleanup(self.busy.close)
        group = objects.VRTGroup.get(self.deployment.context, self.abandoned)
        for _decision in range(CONF.vrt.max_concurrent_plans):
            self.busy.enter_context(
                self.reaper._server._slots.take(group.project_id)
            )

    def test_expiry_needs_no_planning_slot(self):
        self.useFixture(fixtures.Timeout(30, gentle=True))

        self.reaper.reap(self.deployment.context)

        self.assertEqual(
            {'TENTATIVE': 1}, self.deployment.status_counts(self.expired)
        )
        self.assertEqual(
            {'TENTATIVE': 1}, self.deployment.status_counts(self.abandoned)
        )

    def test_abandoned_group_is_planned_once_a_slot_is_free(self):
        self.reaper.serve_waiting(self.deployment.context)
        self.assertEqual(
            {'TENTATIVE': 1}, self.deployment.status_counts(self.abandoned)
        )

        self.busy.close()
        self.reaper.serve_waiting(self.deployment.context)

        self.assertEqual(
            {'HELD': 1}, self.deployment.status_counts(self.abandoned)
        )


class TestPurgedGroups(ReaperCase):
    """Rounds in which a group is purged after the reaper has read it."""

    # SQLite would take rows of a group that is gone.
    SERVER = servers.MARIADB

    def setUp(self):
        super().setUp()
        places = sorted(
            self.deployment.make_provider(slots=1) for _ in range(3)
        )
        self.first, self.bad, self.last = (
            self.deployment.hold_group([place]) for place in places
        )

    def test_lost_holds_of_other_groups_get_successors(self):
        for uuid in (self.first, self.last):
            self.deployment.delete_allocations(
                self.deployment.hold(uuid, 'm-0').uuid
            )
        self.call_at(
            'before hold_again.prepare',
            lambda: self.deployment.delete(self.bad),
        )

        self.follow(hold_changes.follow_holds)

        self.assert_at_rest()
        self.assertEqual({'HELD': 1}, self.deployment.status_counts(self.last))

    def test_lost_resize_reservations_of_other_groups_get_successors(self):
        grown = [self.grow(uuid) for uuid in (self.bad, self.last)]
        self.deployment.delete_allocations(
            *(reservation.uuid for reservation in grown)
        )
        self.call_at(
            'before hold_again.prepare',
            lambda: self.deployment.delete(self.bad),
        )

        self.follow(reservations.follow_reservations)

        [reservation] = objects.VRTHold.list_reservations(
            self.deployment.context
        )
        self.assertIn(reservation.uuid, self.deployment.allocations())

    def test_purge_during_a_read_does_not_affect_other_reservations(self):
        grown = [self.grow(uuid) for uuid in (self.bad, self.last)]
        self.deployment.delete_allocations(grown[-1].uuid)
        found = objects.VRTMember.list_by_ids

        def delete_and_find(context, ids):
            if self.deployment.find_group(self.bad) is not None:
                self.deployment.delete(self.bad)
            return found(context, ids)

        with fixtures.MockPatchObject(
            objects.VRTMember, 'list_by_ids', delete_and_find
        ):
            self.follow(reservations.follow_reservations)

        [reservation] = objects.VRTHold.list_reservations(
            self.deployment.context
        )
        self.assertIn(reservation.uuid, self.deployment.allocations())

    def test_purge_during_a_rehold_does_not_affect_other_groups(self):
        CONF.set_override('rehold_after_server_end', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')
        for uuid in (self.bad, self.last):
            server = self.deployment.redeem(uuid, 'm-0')
            self.deployment.delete_allocations(server)
            self.deployment.server_outcomes[server] = (
                nova_servers.ServerOutcome.DELETED
            )
        is_current, deletes = objects.VRTGroup.is_redeemable, [self.bad]

        def ask_and_delete(context, group_id):
            answer = is_current(context, group_id)
            while deletes:
                self.deployment.delete(deletes.pop())
            return answer

        with fixtures.MockPatchObject(
            objects.VRTGroup, 'is_redeemable', ask_and_delete
        ):
            self.follow(server_changes.follow_servers)

        self.assertEqual({'HELD': 1}, self.deployment.status_counts(self.last))


class TestConcurrentEnd(ReaperCase):
    """A hold that ends between two reads of the reaper."""

    def setUp(self):
        super().setUp()
        self.uuid = self.deployment.hold_group(
            [self.deployment.make_provider(slots=1)]
        )

    def test_hold_of_a_concurrently_released_member_gets_no_successor(self):
        def release():
            self.deployment.request_release(self.uuid)
            self.deployment.release(self.uuid)

        self.assertNotIn('before swap.apply', self.followed_while(release))
        self.assert_at_rest()

    def test_concurrently_redeemed_hold_gets_no_successor(self):
        def redeem():
            self.deployment.redeem(self.uuid, 'm-0')

        self.assertNotIn('before swap.apply', self.followed_while(redeem))
        self.assert_at_rest()

    def followed_while(self, something):
        """Follow holds; returns the fault points after ``something``."""
        reached = []
        asking = fixtures.MockPatchObject(client.PlacementClient, 'usages')

        def happen_and_ask(*args):
            asking.cleanUp()
            something()
            faultpoints.handler = reached.append
            return self.deployment.placement_client().usages(*args)

        with asking:
            asking.mock.side_effect = happen_and_ask
            self.follow(hold_changes.follow_holds)
        return reached


class TestTwoProviders(ReaperCase):
    """A member whose hold spans a host and its child provider."""

    def test_hold_that_spans_two_providers_gets_one_successor(self):
        providers = [self.deployment.make_provider(slots=3) for _ in range(2)]
        uuid = self.deployment.describe(providers[:1])
        self.span(uuid, providers)
        self.deployment.plan(uuid)
        self.deployment.delete_allocations(
            self.deployment.hold(uuid, 'm-0').uuid
        )
        reached = []
        faultpoints.handler = reached.append

        self.follow(hold_changes.follow_holds)

        self.assertEqual(1, reached.count('before swap.apply'))
        self.assert_at_rest()
        self.assertEqual({'HELD': 1}, self.deployment.status_counts(uuid))

    def span(self, uuid, providers):
        member = self.deployment.member(uuid, 'm-0')
        part = {'resources': {'VCPU': deployment.MEMBER_VCPUS}}
        both = dict.fromkeys(providers, part)
        description = member.described.description
        description['placements'][member.path]['allocations'] = both
        member.described.update_row(
            self.deployment.context, description=description
        )
