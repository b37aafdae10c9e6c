# SPDX-License-Identifier: Apache-2.0
"""Is a group kept alone when something around it changes?"""

import fixtures
from nova import objects as nova_objects
from nova.scheduler import host_manager

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import transitions
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.audit import heal
from nova_groupext.scheduler.filters import holistic_filter
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.protocol import exclusive_hosts
from tests.functional import exclusive_groups


class TestKeeping(exclusive_groups.KeepingCase):
    def test_nothing_changes_where_nothing_has_changed(self):
        before = {hold.uuid for hold in self.holds_of(self.uuid)}

        self.keep()

        self.assertEqual(
            before, {hold.uuid for hold in self.holds_of(self.uuid)}
        )
        self.assertEqual(set(), self.strangers)

    def test_fillers_leave_their_place_to_members_whose_holds_are_gone(
        self,
    ):
        for hold in self.holds_of(self.uuid):
            self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        self.assertEqual(self.empty(), self.free())

        self.keep()
        self.assertEqual(3 * 8, sum(self.free()[host] for host in self.ALONE))
        follow.follow_holds(self.context, self.ledger, self.leases)

        self.assert_alone()
        group = self.group(self.uuid, 'admin')
        self.assertEqual(
            ['HELD', 'HELD', 'HELD'],
            [member['status'] for member in group['members']],
        )
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        self.assertEqual('ACTIVE', server.status)

    def test_what_is_given_up_is_exchanged_not_freed(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        [first, *_] = group.members
        transitions.give_up(self.context, group, [first])

        self.keep()

        # Nobody has emptied the hold: the filler has taken its place.
        self.assert_alone()
        self.assertEqual(2, self.members_held())

    def test_a_stranger_is_told_of_once_and_left_alone(self):
        placeholder = self.filler_of('VCPU')
        self.cloud.placement.delete(f'/allocations/{placeholder.uuid}')
        self.fill(placeholder.host, VCPU=1)

        self.keep()

        [(group, host, _consumer)] = self.strangers
        self.assertEqual((self.uuid, placeholder.host), (group, host))
        self.assert_alone()

    def test_a_server_that_was_not_scheduled_is_no_stranger(self):
        self.bury(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        follow.follow_servers(self.context, self.ledger, self.leases)

        self.keep()

        self.assertEqual(set(), self.strangers)
        self.assert_alone()
        self.assertEqual('HELD', self.status_of('a-0'))
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def status_of(self, path):
        members = self.group(self.uuid, 'admin')['members']
        return {each['path']: each['status'] for each in members}[path]

    def test_a_smaller_host_keeps_its_members_and_less_of_the_rest(self):
        placeholder = self.filler_of('MEMORY_MB')
        provider = f'/resource_providers/{placeholder.provider_uuid}'
        path = f'{provider}/inventories/MEMORY_MB'
        inventory = self.cloud.placement.get(path).json()
        self.cloud.placement.put(path, json={**inventory, 'reserved': 1024})
        self.addCleanup(self.restore, path, inventory)

        self.keep()

        self.assert_alone()
        self.assertEqual(3, self.members_held())

    def restore(self, path, inventory):
        now = self.cloud.placement.get(path).json()
        generation = now['resource_provider_generation']
        self.cloud.placement.put(
            path,
            json={**inventory, 'resource_provider_generation': generation},
        )

    def test_a_host_out_of_service_is_let_go(self):
        self.disable('cmp-1', 'it is old')

        self.keep()

        self.assertEqual([], self.fillers_on('cmp-1'))
        self.assert_alone('cmp-2')

    def test_a_host_that_disables_itself_is_kept(self):
        before = self.fillers_on('cmp-1')
        self.disable('cmp-1', 'AUTO: Connection to libvirt lost: 1')

        self.keep()

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

    def test_a_plan_waits_for_a_cell_that_does_not_answer(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        plan = objects.VRTPlan.newest(self.context, group.id)
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova.objects.Service.get_by_compute_host',
                exclusive_groups.no_answer,
            )
        )

        self.assertRaises(
            exception.HoldFailed,
            exclusive_hosts.placeholders_for,
            self.context,
            self.ledger,
            group,
            plan,
        )

    def test_an_audit_finds_fillers_in_order_and_orphans_of_them(self):
        self.assertEqual([], audit.audit(self.context, self.ledger))

        placeholder = self.filler_of('VCPU')
        orphan = placeholder.again()
        self.ledger.hold(self.context, [orphan], instead_of=[placeholder])
        findings = audit.audit(self.context, self.ledger)
        heal.heal(self.context, self.ledger, findings, orphans=True)
        self.keep()

        self.assertEqual(
            {('missing', placeholder.uuid), ('orphan', orphan.uuid)},
            {(each.kind, each.consumer) for each in findings},
        )
        self.assertEqual([], audit.audit(self.context, self.ledger))
        self.assert_alone()

    def test_a_member_moves_only_when_its_group_cannot_be_read(self):
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        move = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )

        self.assertEqual([], self.filtered(move))
        self.hide('vrt_policies')
        self.assertEqual(['cmp-3'], self.filtered(move))

    def test_a_rebuild_is_no_move(self):
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        rebuild = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )
        rebuild.scheduler_hints['_nova_check_type'] = ['rebuild']

        self.assertEqual(['cmp-3'], self.filtered(rebuild))

    def filtered(self, spec):
        """Return the hosts that our filter lets pass."""
        host = host_manager.HostState('cmp-3', 'cmp-3', None)
        passed = holistic_filter.HolisticFilter().filter_all([host], spec)
        return [each.host for each in passed]
