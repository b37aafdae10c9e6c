# SPDX-License-Identifier: Apache-2.0
"""Exchange of released capacity on exclusive hosts for placeholders."""

import fixtures

from nova_groupext import objects
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.reap import reaper
from tests.later import exclusive_groups


class TestExchange(exclusive_groups.MaintenanceTestCase):
    def vrt_group(self):
        return objects.VRTGroup.get(self.context, self.uuid)

    def release(self, *wanted):
        """Release members, before the reaper empties their holds."""
        group = self.vrt_group()
        members = [each for each in group.members if each.path in wanted]
        releases.release_members(self.context, group, members)

    def leaving(self):
        return [
            hold
            for hold in self.holds_of(self.uuid)
            if hold.status == states.Hold.RELEASING
        ]

    def never_free(self):
        """Fail if the rack has free capacity after a request of ours."""

        def handler(point):
            if point in ('after hold.post', 'after release.post'):
                self.assert_hosts_full()

        return fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        )

    def test_capacity_of_released_members_becomes_placeholders(self):
        self.release('a-0', 'a-1')

        with self.never_free():
            self.maintain()

        self.assert_hosts_full()
        self.assertEqual(1, self.count_member_holds())
        self.assertEqual([], self.leaving())

    def test_capacity_of_a_failed_member_becomes_a_placeholder(self):
        [member, *_] = self.vrt_group().members
        hold = objects.VRTHold.find_by_member(self.context, member.id)

        with self.never_free():
            ownership.end(
                *(self.context, hold, member),
                {'status': states.Member.FAILED, 'fault': 'a test'},
            )
            self.maintain()

        self.assert_hosts_full()
        self.assertEqual([], self.leaving())

    def test_capacity_of_a_deleted_group_is_free(self):
        self.release('a-0')
        reaper.release_ending(self.context, self.placement_client)
        self.assert_hosts_full()
        self.vrt_group().mark_deleted(self.context)

        reaper.release_ending(self.context, self.placement_client)

        self.assertEqual([], self.leaving())
        self.assertEqual(16 + 8, sum(self.free().values()))
        planner.Planner('a').serve_group(self.context, self.uuid)
        self.assertEqual(self.total_vcpus(), self.free())

    def test_capacity_released_on_a_disabled_host_is_free(self):
        host = self.hold_of('a-0').host
        services = self.cloud.nova('admin').services
        [service] = services.list(host=host, binary='nova-compute')
        services.disable(service.id)
        self.addCleanup(services.enable, service.id)
        others = [self.hold_of(path).host for path in ('a-1', 'a-2')]
        self.release('a-0')

        self.maintain()

        self.assertEqual([], self.leaving())
        used = 8 * others.count(host)
        self.assertEqual(self.total_vcpus()[host] - used, self.free()[host])

    def hold_of(self, path):
        [member] = [m for m in self.vrt_group().members if m.path == path]
        return objects.VRTHold.find_by_member(self.context, member.id)

    def test_hold_on_an_unavailable_host_is_kept_until_it_answers(self):
        self.release('a-0')

        with fixtures.MockPatchObject(
            hosts, 'nodes', exclusive_groups.raise_connection_error
        ):
            self.maintain()
        self.assertEqual(1, len(self.leaving()))
        self.assert_hosts_full()

        self.maintain()
        self.assertEqual([], self.leaving())
        self.assert_hosts_full()

    def test_refused_placeholders_do_not_block_the_release(self):
        self.release('a-0')
        fill_free_capacity = placeholders.fill_free_capacity

        def too_much(*args):
            holds = fill_free_capacity(*args)
            for hold in holds:
                hold.allocations[hold.provider_uuid]['resources'] = {'VCPU': 9}
            return holds

        with fixtures.MockPatchObject(
            placeholders, 'fill_free_capacity', too_much
        ):
            self.maintain()
        self.assertEqual([], self.leaving())

        self.maintain()
        self.assert_hosts_full()

    def test_rehold_of_a_removed_hold_leaves_no_free_capacity(self):
        removed = self.hold_of('a-0')
        self.cloud.placement.delete(f'/allocations/{removed.uuid}')

        with self.never_free():
            hold_changes.follow_holds(
                self.context, self.placement_client, self.leases
            )

        self.assert_hosts_full()
        self.assertNotEqual(removed.uuid, self.hold_of('a-0').uuid)
        self.assertEqual(3, self.count_member_holds())
