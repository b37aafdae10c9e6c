# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/follow/hold_changes.py``."""

import fixtures

from nova_groupext import exception
from nova_groupext.objects import swap_results
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import lost_holds
from nova_groupext.scheduler.placement import changed_providers
from nova_groupext.scheduler.placement import overcommitment
from tests.protocol import fake_placement
from tests.unit.scheduler import base


class FollowTestCase(base.ProtocolTestCase):
    """A group of two members on one host."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)
        self.first, self.second = self.holds(self.uuid)
        self.posts.clear()

    def follow_holds(self, changes=None):
        hold_changes.follow_holds(
            *(self.context, self.deployment.placement_client()),
            *(self.deployment.leases(), changes),
        )

    def follow_hosts(self):
        hold_changes.follow_hosts(self.context, None, None)

    def assert_held(self):
        """Expect both members with their capacity, and nothing unfinished."""
        self.assertEqual(
            {'m-0': 'HELD', 'm-1': 'HELD'}, self.statuses(self.uuid)
        )
        self.assertEqual(4, self.used(self.provider))
        self.assert_one_owner()

    def faults(self):
        members = self.deployment.group(self.uuid).members
        return [each.fault for each in members if each.status == 'FAILED']


class TestFollowHolds(FollowTestCase):
    def test_holds_that_match_their_rows_are_kept(self):
        self.follow_holds()

        self.assertEqual([], self.posts)
        self.assert_held()

    def test_missing_hold_gets_a_successor(self):
        self.deployment.delete_allocations(self.first.uuid)

        self.follow_holds()

        self.assert_held()
        self.assertNotIn(self.first.uuid, self.deployment.allocations())

    def test_holds_of_many_providers_are_read_in_parts(self):
        other, _provider = self.held()
        [third] = self.holds(other)
        for hold in (self.first, third):
            self.deployment.delete_allocations(hold.uuid)

        with fixtures.MockPatchObject(hold_changes, 'PROVIDERS_AT_ONCE', 1):
            self.follow_holds()

        self.assert_held()
        self.assertEqual({'m-0': 'HELD'}, self.statuses(other))
        self.assertNotIn(third.uuid, self.deployment.allocations())

    def test_changed_hold_gets_a_successor(self):
        self.placement.consumers[self.first.uuid].allocations = {
            self.provider: {'VCPU': 1}
        }

        self.follow_holds()

        self.assert_held()
        self.assertNotIn(self.first.uuid, self.deployment.allocations())

    def test_missing_hold_without_capacity_fails_its_member(self):
        self.deployment.delete_allocations(self.first.uuid)
        self.deployment.fill(self.provider)

        self.follow_holds()

        self.assertEqual([swap_results.IS_LOST], self.faults())
        self.assertEqual('HELD', self.statuses(self.uuid)['m-1'])

    def test_hold_beyond_capacity_fails_its_member(self):
        self.deployment.resize_provider(self.provider, 1)

        self.follow_holds()

        self.assertEqual([overcommitment.FAULT], self.faults())

    def test_holds_on_a_removed_provider_end(self):
        del self.placement.inventories[self.provider]

        self.follow_holds()

        self.assertEqual(2 * [hold_changes.HOST_IS_GONE], self.faults())

    def test_silent_placement_changes_nothing(self):
        self.deployment.delete_allocations(self.first.uuid)
        self.silence()

        self.follow_holds()

        self.assertEqual(['HELD', 'HELD'], self.hold_statuses(self.uuid))

    def test_404_of_a_proxy_is_no_missing_provider(self):
        for part in ('allocations', 'inventories'):
            path = f'/resource_providers/{self.provider}/{part}'
            self.answer_404(path)

            self.follow_holds()

            self.before_request = None
            self.assert_held()

    def answer_404(self, path):
        def answer(_label, about):
            if about == path:
                raise fake_placement.ProxyAnswer(404)

        self.before_request = answer

    def test_error_with_one_hold_does_not_stop_the_others(self):
        other, _provider = self.held()
        [third] = self.holds(other)
        for hold in (self.first, third):
            self.deployment.delete_allocations(hold.uuid)
        check = lost_holds.check_policies

        def fail_for_first(context, member):
            if member.id == self.first.member_id:
                raise exception.UnknownPolicyType(types='toy')
            check(context, member)

        with fixtures.MockPatchObject(
            lost_holds, 'check_policies', fail_for_first
        ):
            self.follow_holds()

        self.assertNotIn(third.uuid, self.deployment.allocations())
        self.assertEqual({'m-0': 'HELD'}, self.statuses(other))
        self.assertEqual(
            {'m-0': 'HELD', 'm-1': 'HELD'}, self.statuses(self.uuid)
        )

    def test_hold_of_a_leased_group_is_restored_in_the_next_round(self):
        changes = changed_providers.ChangedProviders()
        self.deployment.delete_allocations(self.first.uuid)
        lease = self.acquire_lease(self.uuid)
        for _round in range(2):
            changes.begin(self.context, self.deployment.placement_client())
            self.follow_holds(changes)
        self.assertEqual([], self.posts)
        lease.release(self.context)
        changes.begin(self.context, self.deployment.placement_client())

        self.follow_holds(changes)

        self.assert_held()

    def test_hold_that_is_released_meanwhile_gets_no_successor(self):
        self.deployment.delete_allocations(self.first.uuid)

        def release(_label, about):
            if about == f'/resource_providers/{self.provider}/allocations':
                self.before_request = None
                self.deployment.request_release(self.uuid, 'm-0')

        self.before_request = release
        self.follow_holds()

        self.assertEqual(
            {'m-0': 'RELEASED', 'm-1': 'HELD'}, self.statuses(self.uuid)
        )
        self.assertEqual([], self.posts)

    def test_prepared_successor_is_finished_by_the_next_owner(self):
        self.deployment.delete_allocations(self.first.uuid)
        self.kill_at('before swap.apply', self.follow_holds)

        self.take_over(self.uuid)

        self.assert_held()

    def test_unchanged_provider_is_not_read_again(self):
        changes = changed_providers.ChangedProviders()
        url = f'/resource_providers/{self.provider}/allocations'
        self.assertIn(url, self.read(changes))
        self.assertNotIn(url, self.read(changes))
        self.deployment.delete_allocations(self.first.uuid)

        self.assertIn(url, self.read(changes))

    def read(self, changes):
        """Follow holds; return what was read of Placement."""
        read = []
        self.before_request = lambda _label, about: read.append(about)
        changes.begin(self.context, self.deployment.placement_client())
        self.follow_holds(changes)
        self.before_request = None
        return read


class TestPolicies(base.ProtocolTestCase):
    def test_successor_that_violates_a_policy_is_not_filled(self):
        """The other server was moved past the scheduler."""
        first, second = (
            self.deployment.make_provider(2) for _each in range(2)
        )
        uuid = self.deployment.describe([first, second], [base.APART])
        self.deployment.plan(uuid)
        moved = self.deployment.redeem(uuid, 'm-1')
        self.deployment.delete_allocations(moved)
        self.deployment.fill(first, consumer=moved)
        self.deployment.server_hosts[moved] = first
        self.deployment.reap(0)
        lost = self.deployment.hold(uuid, 'm-0')
        self.deployment.delete_allocations(lost.uuid)

        hold_changes.follow_holds(
            *(self.context, self.deployment.placement_client()),
            self.deployment.leases(),
        )

        self.assertEqual('FAILED', self.statuses(uuid)['m-0'])
        self.assertEqual(2, self.used(first))


class TestFollowHosts(FollowTestCase):
    def test_holds_on_a_host_in_service_are_kept(self):
        self.follow_hosts()

        self.assert_held()

    def test_holds_on_a_disabled_host_end(self):
        self.deployment.disabled_hosts.add(self.provider)

        self.follow_hosts()

        self.assertEqual(2 * [hold_changes.HOST_IS_GONE], self.faults())

    def test_member_that_is_being_redeemed_is_skipped(self):
        self.kill_at(
            'after redeem.reserve',
            *(self.deployment.redeem, self.uuid, 'm-0'),
        )
        self.deployment.disabled_hosts.add(self.provider)

        self.follow_hosts()

        self.assertEqual(
            {'m-0': 'REDEEMING', 'm-1': 'FAILED'}, self.statuses(self.uuid)
        )
