# SPDX-License-Identifier: Apache-2.0
"""Maintenance of exclusive hosts after changes around the group."""

import fixtures
from nova import objects as nova_objects
from nova.scheduler import host_manager

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import releases
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.audit import heal
from nova_groupext.scheduler.filters import holistic_filter
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import exclusive_hosts
from tests.later import exclusive_groups


class TestMaintenance(exclusive_groups.MaintenanceTestCase):
    def test_maintenance_without_changes_writes_nothing(self):
        before = {hold.uuid for hold in self.holds_of(self.uuid)}

        self.maintain()

        self.assertEqual(
            before, {hold.uuid for hold in self.holds_of(self.uuid)}
        )
        self.assertEqual(set(), self.foreign_hosts)

    def test_placeholders_leave_the_capacity_of_lost_holds_free(self):
        for hold in self.holds_of(self.uuid):
            self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        self.assertEqual(self.total_vcpus(), self.free())

        self.maintain()
        self.assertEqual(
            3 * 8, sum(self.free()[host] for host in self.EXCLUSIVE_HOSTS)
        )
        hold_changes.follow_holds(
            self.context, self.placement_client, self.leases
        )

        self.assert_hosts_full()
        group = self.group(self.uuid, 'admin')
        self.assertEqual(
            ['HELD', 'HELD', 'HELD'],
            [member['status'] for member in group['members']],
        )
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        self.assertEqual('ACTIVE', server.status)

    def test_capacity_of_a_released_member_becomes_a_placeholder(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        [first, *_] = group.members
        releases.release_members(self.context, group, [first])

        self.maintain()

        # The placeholder has replaced the hold, which was not emptied before.
        self.assert_hosts_full()
        self.assertEqual(2, self.count_member_holds())

    def test_foreign_consumer_is_reported_once_and_kept(self):
        placeholder = self.placeholder_with('VCPU')
        self.cloud.placement.delete(f'/allocations/{placeholder.uuid}')
        self.fill(placeholder.host, VCPU=1)

        self.maintain()

        [(group, host, _consumer)] = self.foreign_hosts
        self.assertEqual((self.uuid, placeholder.host), (group, host))
        self.assert_hosts_full()

    def test_unscheduled_server_is_no_foreign_consumer(self):
        self.fail_build(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        server_changes.follow_servers(
            self.context, self.placement_client, self.leases
        )

        self.maintain()

        self.assertEqual(set(), self.foreign_hosts)
        self.assert_hosts_full()
        self.assertEqual('HELD', self.status_of('a-0'))
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def status_of(self, path):
        members = self.group(self.uuid, 'admin')['members']
        return {each['path']: each['status'] for each in members}[path]

    def test_shrunken_host_keeps_its_members_and_smaller_placeholders(self):
        placeholder = self.placeholder_with('MEMORY_MB')
        provider = f'/resource_providers/{placeholder.provider_uuid}'
        path = f'{provider}/inventories/MEMORY_MB'
        inventory = self.cloud.placement.get(path).json()
        self.cloud.placement.put(path, json={**inventory, 'reserved': 1024})
        self.addCleanup(self.restore, path, inventory)

        self.maintain()

        self.assert_hosts_full()
        self.assertEqual(3, self.count_member_holds())

    def restore(self, path, inventory):
        now = self.cloud.placement.get(path).json()
        generation = now['resource_provider_generation']
        self.cloud.placement.put(
            path,
            json={**inventory, 'resource_provider_generation': generation},
        )

    def test_placeholders_on_a_disabled_host_are_released(self):
        self.disable('cmp-1', 'it is old')

        self.maintain()

        self.assertEqual([], self.fillers_on('cmp-1'))
        self.assert_hosts_full('cmp-2')

    def test_placeholders_on_a_host_that_disables_itself_are_kept(self):
        before = self.fillers_on('cmp-1')
        self.disable('cmp-1', 'AUTO: Connection to libvirt lost: 1')

        self.maintain()

        self.assertEqual(before, self.fillers_on('cmp-1'))

    def disable(self, host, reason):
        services = self.cloud.nova('admin').services
        [service] = services.list(host=host, binary='nova-compute')
        services.disable_log_reason(service.id, reason)
        self.addCleanup(services.enable, service.id)

    def fillers_on(self, host):
        return [
            hold.uuid
            for hold in self.holds_of(self.uuid)
            if hold.is_placeholder and hold.host == host
        ]

    def test_hold_with_an_unavailable_cell_fails(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        plan = objects.VRTPlan.find_newest(self.context, group.id)
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova.objects.Service.get_by_compute_host',
                exclusive_groups.raise_connection_error,
            )
        )

        self.assertRaises(
            exception.HoldFailed,
            exclusive_hosts.placeholders_for,
            self.context,
            self.placement_client,
            group,
            plan,
        )

    def test_audit_finds_missing_and_orphaned_placeholders(self):
        self.assertEqual([], audit.audit(self.context, self.placement_client))

        placeholder = self.placeholder_with('VCPU')
        orphan = placeholder.duplicate()
        self.placement_client.hold(
            self.context, [orphan], instead_of=[placeholder]
        )
        findings = audit.audit(self.context, self.placement_client)
        heal.heal(self.context, self.placement_client, findings, orphans=True)
        self.maintain()

        self.assertEqual(
            {('missing', placeholder.uuid), ('orphan', orphan.uuid)},
            {(each.kind, each.consumer) for each in findings},
        )
        self.assertEqual([], audit.audit(self.context, self.placement_client))
        self.assert_hosts_full()

    def test_member_moves_only_if_its_group_cannot_be_read(self):
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        move = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )

        self.assertEqual([], self.filtered(move))
        self.rename_table('vrt_policies')
        self.assertEqual(['cmp-3'], self.filtered(move))

    def test_rebuild_passes_the_filter(self):
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        rebuild = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )
        rebuild.scheduler_hints['_nova_check_type'] = ['rebuild']

        self.assertEqual(['cmp-3'], self.filtered(rebuild))

    def filtered(self, spec):
        """Return the hosts that our filter accepts."""
        host = host_manager.HostState('cmp-3', 'cmp-3', None)
        passed = holistic_filter.HolisticFilter().filter_all([host], spec)
        return [each.host for each in passed]
