# SPDX-License-Identifier: Apache-2.0
"""Releases on exclusive hosts: their capacity goes to placeholders.

No maintenance of placeholders runs on its own here, so that capacity which a
release leaves free stays free.
"""

import fixtures
from oslo_db import exception as db_exc

from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects import states
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.resize import reservations
from tests import groups
from tests.services import deployment
from tests.services import placement
from tests.services import servers

ALONE = ({'type': 'exclusive', 'scope': 'host'},)


class ExclusiveCase(deployment.DeploymentTestCase):
    SERVER = servers.SQLITE

    def held(self, *providers):
        """Hold a group with exclusive hosts; returns its uuid."""
        uuid = self.deployment.describe(providers, ALONE)
        self.deployment.plan(uuid)
        self.assertEqual(
            {'HELD': len(providers)}, self.deployment.status_counts(uuid)
        )
        return uuid

    def held_without_allocation(self):
        """Hold a group whose hold Placement has lost; returns its uuid."""
        uuid = self.held(self.deployment.make_provider(2))
        self.deployment.delete_allocations(
            self.deployment.hold(uuid, 'm-0').uuid
        )
        return uuid

    def used(self, provider):
        """Return the number of used VCPUs of a provider."""
        used = self.deployment.placement_client().usages(
            self.deployment.context, provider
        )
        return sum(amounts['VCPU'] for amounts in used.values())

    def follow_holds(self):
        hold_changes.follow_holds(
            self.deployment.context,
            self.deployment.placement_client(),
            self.deployment.leases(),
        )

    def remove_filler(self):
        holds = self.deployment.ownership().holds
        self.deployment.delete_allocations(
            *(row.uuid for row in holds if row.is_placeholder)
        )


class TestReleases(ExclusiveCase):
    def test_failure_of_one_group_does_not_affect_other_groups(self):
        first, second = (
            self.deployment.make_provider(2),
            self.deployment.make_provider(2),
        )
        bad, other = self.held(first, first), self.held(second, second)
        for uuid in (bad, other):
            self.deployment.request_release(uuid, 'm-0')
        find_hosts = exclusive_hosts.find_hosts

        def fail(context, group, locations):
            if group.uuid == bad:
                raise db_exc.DBConnectionError
            return find_hosts(context, group, locations)

        with fixtures.MockPatchObject(exclusive_hosts, 'find_hosts', fail):
            self.deployment.maintain_exclusive()

        self.assertEqual([1, 0], [self.leaving(bad), self.leaving(other)])
        self.assertEqual((4, 4), (self.used(first), self.used(second)))

    def leaving(self, uuid):
        """Return the number of a group's holds in RELEASING."""
        return len(
            objects.VRTHold.list_by_group(
                self.deployment.context,
                self.deployment.group(uuid).id,
                states.Hold.RELEASING,
            )
        )

    def test_capacity_of_a_changed_resize_reservation_is_filled(self):
        provider = self.deployment.make_provider(4)
        uuid = self.held(provider, provider)
        self.deployment.redeem(uuid, 'm-0')
        reservation = self.grow(uuid, provider)
        self.deployment.delete_allocations(reservation.uuid)
        placement.claim(
            self.deployment.admin, provider, reservation.uuid, VCPU=1
        )
        self.deployment.maintain_exclusive()

        reservations.follow_reservations(
            self.deployment.context,
            self.deployment.placement_client(),
            self.deployment.leases(),
        )
        self.deployment.maintain_exclusive()

        self.assertEqual(8, self.used(provider))

    def grow(self, uuid, provider):
        """Hold a resize reservation for the first member's server."""
        context = self.deployment.context
        member = self.deployment.member(uuid, 'm-0')
        reservation = objects.VRTHold.reservation(
            member, groups.placement(provider, 2)
        )
        reservation.create(context)
        self.remove_filler()
        self.deployment.placement_client().hold(context, [reservation])
        placeholder_holds.commit(
            context, self.deployment.group(uuid), [reservation]
        )
        self.deployment.maintain_exclusive()
        [reservation] = objects.VRTHold.list_by_uuids(
            context, [reservation.uuid]
        )
        return reservation

    def test_late_placeholder_on_a_shrunken_host_is_released(self):
        """The planner resumes after its group has released the host."""
        provider = self.deployment.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()

        def release():
            self.deployment.request_release(uuid)
            self.deployment.reap()
            self.call_at('before placeholder.commit', shrink)

        def shrink():
            self.deployment.resize_provider(provider, 0)

        self.call_at('before hold.post', release)
        self.deployment.maintain_exclusive()
        self.deployment.reap()

        self.assertEqual({}, self.deployment.allocations())

    def test_capacity_of_a_deleted_server_is_filled_in_one_round(self):
        provider = self.deployment.make_provider(2)
        uuid = self.held(provider, provider)
        server = self.deployment.redeem(uuid, 'm-0')
        self.deployment.delete_allocations(server)
        self.deployment.server_outcomes[server] = (
            server_changes.ServerOutcome.DELETED
        )

        self.deployment.maintain_exclusive()

        self.assertEqual(
            {'TENTATIVE': 1, 'HELD': 1}, self.deployment.status_counts(uuid)
        )
        self.assertEqual(4, self.used(provider))

    def test_servers_are_read_only_if_one_has_no_allocation(self):
        provider = self.deployment.make_provider(2)
        self.deployment.redeem(self.held(provider, provider), 'm-0')

        with fixtures.MockPatchObject(
            server_changes.servers, 'read', side_effect=AssertionError
        ):
            self.deployment.maintain_exclusive()

    def test_capacity_of_a_missing_hold_is_not_filled(self):
        provider = self.deployment.make_provider(2)
        uuid = self.held(provider, provider)
        self.deployment.delete_allocations(
            self.deployment.hold(uuid, 'm-0').uuid
        )

        self.deployment.maintain_exclusive()
        self.assertEqual(2, self.used(provider))
        self.follow_holds()

        self.assertEqual({'HELD': 2}, self.deployment.status_counts(uuid))
        self.deployment.reap()
        self.assert_at_rest()

    def test_placeholders_yield_to_a_successor_hold(self):
        provider = self.deployment.make_provider(3)
        uuid = self.held(provider, provider)
        self.deployment.delete_allocations(
            self.deployment.hold(uuid, 'm-0').uuid
        )
        stranger = self.deployment.fill(provider)

        self.follow_holds()

        self.assertEqual({'HELD': 2}, self.deployment.status_counts(uuid))
        self.assertEqual(6, self.used(provider))
        self.deployment.reap()
        self.assert_at_rest(foreign=[stranger])

    def test_concurrent_reapers_rehold_once_and_keep_the_host_full(self):
        provider = self.deployment.make_provider(3)
        uuid = self.held(provider, provider)
        self.deployment.delete_allocations(
            self.deployment.hold(uuid, 'm-0').uuid
        )
        self.call_at('before hold_again.prepare', self.follow_holds)

        self.follow_holds()

        self.assertEqual({'HELD': 2}, self.deployment.status_counts(uuid))
        self.assertEqual(6, self.used(provider))


class TestPurgedGroups(ExclusiveCase):
    def test_placeholder_of_a_deleted_group_is_not_written(self):
        """No watched row of such a placeholder delays the purge."""
        provider = self.deployment.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()
        written = []

        def delete():
            self.deployment.mark_deleted(uuid)
            faultpoints.handler = written.append

        self.call_at('before placeholder.insert', delete)

        self.deployment.maintain_exclusive()

        self.assertNotIn('before hold.post', written)

    def test_late_placeholder_of_a_purged_group_is_released(self):
        """The planner resumes after the host has become free."""
        provider = self.deployment.make_provider(2)
        uuid = self.held(provider)
        self.remove_filler()
        self.call_at('before hold.post', lambda: self.forget(uuid))

        self.deployment.maintain_exclusive()
        self.deployment.reap()

        self.assertEqual({}, self.deployment.row_counts())
        self.assertEqual({}, self.deployment.allocations())

    def test_member_of_a_deleted_group_gets_no_successor_hold(self):
        uuid = self.held_without_allocation()
        self.call_at(
            'before hold_again.prepare',
            lambda: self.deployment.mark_deleted(uuid),
        )

        self.follow_holds()
        self.deployment.reap()

        self.assertEqual({}, self.deployment.row_counts())
        self.assertEqual({}, self.deployment.allocations())

    def test_member_of_a_purged_group_gets_no_successor_hold(self):
        """An allocation without a row would be an orphan."""
        uuid = self.held_without_allocation()
        self.call_at('before hold_again.prepare', lambda: self.forget(uuid))

        self.follow_holds()

        self.assertEqual({}, self.deployment.allocations())

    def forget(self, uuid):
        self.deployment.mark_deleted(uuid)
        self.deployment.reap()
        self.assertIsNone(self.deployment.find_group(uuid))

    def test_purged_group_does_not_affect_other_groups(self):
        """The planner that releases has read the group before its purge."""
        first, second = (
            self.deployment.make_provider(2),
            self.deployment.make_provider(2),
        )
        bad, other = self.held(first, first), self.held(second, second)
        for uuid in (bad, other):
            self.deployment.request_release(uuid, 'm-0')
        self.call_at('before placeholder.insert', lambda: self.forget(bad))

        self.deployment.maintain_exclusive()

        self.assertEqual((0, 4), (self.used(first), self.used(second)))
        leaving = [row.status for row in self.deployment.ownership().holds]
        self.assertNotIn(states.Hold.RELEASING, leaving)
