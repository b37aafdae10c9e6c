# SPDX-License-Identifier: Apache-2.0
"""Swaps of holds, with failures and with concurrent operations.

All capacity is used, and the first and third member exchange their hosts.
"""

import fixtures
from nova import exception as nova_exc
from oslo_utils import timeutils

from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.scheduler import serve
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.placement import http
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.redeem import reserve
from tests.services import deployment
from tests.services import races

APART = {'type': 'anti-affinity', 'scope': 'host'}


class SwapCase(races.RaceTestCase):
    def setUp(self):
        super().setUp()
        self.create_group()
        self.old = self.deployment.held_providers(self.uuid)
        self.new = {
            **self.old,
            'm-0': self.small_provider,
            'm-2': self.large_provider,
        }

    def revise(self):
        self.deployment.plan(self.deployment.revise(self.uuid, self.new))

    def assert_ends(self, providers):
        """Expect that no operation is open and members are on these hosts."""
        self.deployment.reap()
        self.assert_at_rest()
        self.assertEqual(providers, self.deployment.held_providers(self.uuid))
        self.delete_and_check()

    def die(self):
        raise deployment.ProcessKilled

    def die_at(self, point):
        self.call_at(point, self.die)
        self.assertRaises(deployment.ProcessKilled, self.revise)

    def posts(self, work):
        """Return the consumers of each POST of ``work`` that fills any."""
        bodies = []
        post = http.Connection.post

        def note(connection, context, body):
            if any(each['allocations'] for each in body.values()):
                bodies.append({*body})
            return post(connection, context, body)

        with fixtures.MonkeyPatch(
            'nova_groupext.scheduler.placement.http.Connection.post',
            note,
        ):
            work()
        return bodies


class TestSwap(SwapCase):
    def test_exchange_of_hosts_is_one_request(self):
        before = {h.uuid: h for h in self.deployment.ownership().holds}

        [body] = self.posts(self.revise)

        moved = [h for h in before.values() if h.uuid in body]
        self.assertEqual(2, len(moved))
        self.assertEqual(4, len(body))
        self.assert_ends(self.new)

    def test_member_with_other_capacity_is_held_before_the_swap(self):
        spare = self.deployment.make_provider(slots=1)
        self.new['m-1'] = spare

        [beside, swap] = self.posts(self.revise)

        # The old hold is in the way of the exchange, so the swap empties it.
        self.assertEqual((1, 5), (len(beside), len(swap)))
        self.assert_ends(self.new)

    def test_swap_whose_answer_was_lost_is_committed(self):
        self.call_at('after revise.prepare', self.deployment.lose_next_answer)

        self.revise()

        self.assertEqual(self.new, self.deployment.held_providers(self.uuid))
        self.assert_ends(self.new)

    def test_unsent_swap_is_compensated_and_repeated(self):
        self.die_at('before swap.apply')
        timeutils.advance_time_seconds(deployment.LATER)
        self.call_at('after revise.compensate', self.check_turned_back)

        self.deployment.reap(0)

        self.assertIsNone(faultpoints.handler)
        self.assert_ends(self.new)

    def check_turned_back(self):
        self.assertEqual(self.old, self.deployment.held_providers(self.uuid))
        self.assert_one_owner()

    def test_applied_swap_is_committed_without_a_request(self):
        self.die_at('after swap.apply')
        timeutils.advance_time_seconds(deployment.LATER)
        asked = self.posts(lambda: self.deployment.reap(0))

        self.assertEqual([], asked)
        self.assert_ends(self.new)

    def test_late_apply_of_a_compensated_swap_changes_nothing(self):
        """Another planner has taken the lease and compensated the swap."""
        self.call_at('before swap.apply', self.take_over)

        [_taken_over, late, _again] = self.posts(self.revise)

        self.assertTrue(self.turned_back)
        self.assertFalse(set(late) & set(self.deployment.allocations()))
        self.assert_ends(self.new)

    def take_over(self):
        timeutils.advance_time_seconds(deployment.LATER)
        group = self.deployment.group(self.uuid)
        books, leases = (
            self.deployment.placement_client(),
            self.deployment.leases(),
        )
        with leases.owning(self.deployment.context, books, group.id) as lease:
            self.assertIsNotNone(lease)
        self.turned_back = self.old == self.deployment.held_providers(
            self.uuid
        )

    def test_compensation_fails_only_the_member_of_a_lost_hold(self):
        """The hold was removed, and a foreign consumer has its capacity."""
        stranger = self.lose_one_to_a_stranger()

        self.assertEqual(
            {'HELD': 2, 'FAILED': 1}, self.deployment.status_counts(self.uuid)
        )
        self.assertIn(stranger, self.deployment.allocations())
        self.assert_one_owner()

    def test_member_of_a_hold_lost_in_a_swap_gets_a_successor(self):
        self.deployment.delete_allocations(self.lose_one_to_a_stranger())

        self.deployment.reap()

        self.assertEqual({'HELD': 3}, self.deployment.status_counts(self.uuid))
        self.delete_and_check()

    def lose_one_to_a_stranger(self):
        self.die_at('before swap.apply')
        [lost] = [
            hold.uuid
            for hold in self.deployment.ownership().holds
            if hold.status == 'EXCHANGING'
            and hold.provider_uuid == self.small_provider
        ]
        self.deployment.delete_allocations(lost)
        stranger = self.deployment.fill(self.small_provider)

        timeutils.advance_time_seconds(deployment.LATER)
        self.call_at('after revise.compensate', self.die)
        self.assertRaises(deployment.ProcessKilled, self.deployment.reap, 0)
        return stranger

    def test_group_deleted_during_a_swap_leaves_nothing(self):
        self.call_at(
            'before swap.apply',
            lambda: self.deployment.mark_deleted(self.uuid),
        )

        self.revise()
        self.deployment.reap()

        self.assertEqual({}, self.deployment.allocations())
        self.assertEqual({}, self.deployment.row_counts())

    def test_group_deleted_after_its_commit_is_no_failure(self):
        self.call_at(
            'after revise.commit',
            lambda: self.deployment.mark_deleted(self.uuid),
        )
        failed = self.useFixture(fixtures.MockPatchObject(serve, '_fail'))

        self.revise()

        failed.mock.assert_not_called()
        self.delete_and_check()


class TestConcurrentOperations(SwapCase):
    """Operations between prepare and commit of a swap."""

    def setUp(self):
        super().setUp()
        self.waited = []
        self.useFixture(
            fixtures.MockPatchObject(reserve.time, 'sleep', self.waited.append)
        )

    def test_redeem_of_an_exchanging_member_fails_after_5_seconds(self):
        told = []

        def redeem():
            told.append(
                self.assertRaises(
                    nova_exc.NoValidHost,
                    self.deployment.redeem,
                    self.uuid,
                    'm-0',
                )
            )

        self.call_at('before swap.apply', redeem)

        self.revise()

        self.assertIn(reserve.BEING_REVISED, str(told[0]))
        self.assertEqual(5, sum(self.waited))
        self.assert_ends(self.new)

    def test_redeem_of_an_unmoved_member_succeeds(self):
        servers = []
        self.call_at(
            'before swap.apply',
            lambda: servers.append(self.deployment.redeem(self.uuid, 'm-1')),
        )

        self.revise()
        self.deployment.reap()

        self.assert_at_rest(servers)
        self.assertEqual(
            {'HELD': 2, 'ACTIVE': 1}, self.deployment.status_counts(self.uuid)
        )

    def test_hold_that_expires_during_a_swap_is_released(self):
        def expire():
            self.deployment.expire(self.uuid)
            reaper.expire(self.deployment.context)

        self.call_at('before swap.apply', expire)

        self.revise()

        # A revision expires as late as a new group.
        self.assert_ends({p: s for p, s in self.new.items() if p != 'm-1'})


class AntiAffinityCase(races.RaceTestCase):
    """A group of two members with strict anti-affinity."""

    def setUp(self):
        super().setUp()
        self.uuid = self.deployment.describe(
            [self.large_provider, self.small_provider], (APART,)
        )
        self.deployment.plan(self.uuid)

    def follow(self):
        hold_changes.follow_holds(
            self.deployment.context,
            self.deployment.placement_client(),
            self.deployment.leases(),
        )

    def force(self, path, provider):
        """Move a member's server past the scheduler, as an admin may."""
        server = self.deployment.redeem(self.uuid, path)
        self.deployment.delete_allocations(server)
        self.deployment.fill(provider, consumer=server)
        live = server_changes.ServerOutcome.LIVE
        self.deployment.server_outcomes[server] = live
        self.deployment.server_hosts[server] = provider
        server_changes.follow_servers(
            self.deployment.context,
            self.deployment.placement_client(),
            self.deployment.leases(),
        )


class TestPolicyCheck(AntiAffinityCase):
    def setUp(self):
        super().setUp()
        CONF.set_override('redeem_replacement_time_limit', 0, 'vrt')
        self.addCleanup(
            CONF.clear_override, 'redeem_replacement_time_limit', 'vrt'
        )

    def test_redeem_that_breaks_a_policy_is_refused(self):
        self.force('m-1', self.large_provider)

        self.assertRaises(
            nova_exc.NoValidHost, self.deployment.redeem, self.uuid, 'm-0'
        )

        self.assertEqual(
            'HELD', self.deployment.member(self.uuid, 'm-0').status
        )


class TestRehold(AntiAffinityCase):
    def test_rehold_that_breaks_a_policy_fails_the_member(self):
        self.deployment.resize_provider(self.small_provider, 1)
        self.deployment.delete_allocations(
            self.deployment.hold(self.uuid, 'm-0').uuid
        )
        self.force('m-1', self.large_provider)

        self.follow()

        self.assertEqual(
            'FAILED', self.deployment.member(self.uuid, 'm-0').status
        )

    def test_removed_hold_gets_a_successor(self):
        removed = self.deployment.hold(self.uuid, 'm-0').uuid
        self.deployment.delete_allocations(removed)

        [refill, body] = self.posts_of_follow()

        self.assertEqual({'HELD': 2}, self.deployment.status_counts(self.uuid))
        self.assertEqual({removed}, refill)
        self.assertEqual(
            {removed, self.deployment.hold(self.uuid, 'm-0').uuid}, body
        )
        self.delete_and_check()

    def test_missing_record_does_not_cost_the_member_its_capacity(self):
        lost = self.deployment.hold(self.uuid, 'm-0').uuid
        stranger = self.deployment.fill(self.large_provider)
        self.lose_record(lost)

        self.follow()
        self.deployment.delete_allocations(stranger)

        self.assertEqual({'HELD': 2}, self.deployment.status_counts(self.uuid))
        self.assertNotIn(lost, self.deployment.allocations())
        self.delete_and_check()

    def posts_of_follow(self):
        return SwapCase.posts(self, self.follow)

    def test_remainder_of_a_changed_hold_is_released_by_the_swap(self):
        hold = self.deployment.hold(self.uuid, 'm-0')
        self.deployment.delete_allocations(hold.uuid)
        books = self.deployment.placement_client()
        half = {self.large_provider: {'resources': {'VCPU': 1}}}
        books.hold(
            self.deployment.context,
            [
                objects.VRTHold(
                    uuid=hold.uuid,
                    **{**hold.capacity_columns(), 'allocations': half},
                )
            ],
        )

        self.follow()

        self.assertNotIn(hold.uuid, self.deployment.allocations())
        self.assertEqual({'HELD': 2}, self.deployment.status_counts(self.uuid))
        self.delete_and_check()

    def test_rehold_of_a_leased_group_waits_for_the_next_round(self):
        hold = self.deployment.hold(self.uuid, 'm-0')
        self.deployment.delete_allocations(hold.uuid)
        group = self.deployment.group(self.uuid)
        busy = self.deployment.leases()

        with busy.owning(
            self.deployment.context,
            self.deployment.placement_client(),
            group.id,
        ):
            self.follow()
            self.assertEqual(
                hold.uuid, self.deployment.hold(self.uuid, 'm-0').uuid
            )

        self.follow()
        self.assertNotEqual(
            hold.uuid, self.deployment.hold(self.uuid, 'm-0').uuid
        )


class TestConcurrentMoves(races.RaceTestCase):
    """Moves that are checked against a prepared draft as well."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(reserve, 'MAX_ATTEMPTS', 1))
        CONF.set_override('redeem_replacement_time_limit', 0, 'vrt')
        self.addCleanup(
            CONF.clear_override, 'redeem_replacement_time_limit', 'vrt'
        )

    def test_move_to_the_next_host_of_another_member_is_refused(self):
        other = self.deployment.make_provider(slots=2)
        self.uuid = self.deployment.describe(
            [self.small_provider, self.large_provider, other]
        )
        self.deployment.plan(self.uuid)
        self.deployment.redeem(self.uuid, 'm-2')
        # The first two exchange hosts, and a strict anti-affinity is new.
        new = {
            'm-0': self.large_provider,
            'm-1': self.small_provider,
            'm-2': other,
        }
        draft = self.deployment.revise(self.uuid, new, (APART,))
        refused = []

        def move():
            """Move the third server to the next host of the first member."""
            self.assertIsNone(self.begin_move('m-2', self.large_provider))
            self.assertIsNotNone(self.begin_move('m-2', spare))
            refused.append('both were asked')

        spare = self.deployment.make_provider(slots=1)
        self.call_at('before swap.apply', move)
        self.deployment.plan(draft)

        self.assertEqual(['both were asked'], refused)

    def begin_move(self, path, provider):
        location = deployment.locations.Location(provider, provider)
        move = deployment.destinations.Move(
            *(self.deployment.context, self.deployment.group(self.uuid)),
            *(self.deployment.member(self.uuid, path), {location}),
        )
        return move.start(self.deployment.context, location)
