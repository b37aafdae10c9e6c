# SPDX-License-Identifier: Apache-2.0
"""Held groups in a cloud whose hosts and filters change."""

from nova.scheduler.filters import compute_filter

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.conf import CONF
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from tests import rounds
from tests.functional import base


class ChangingCloudTestCase(base.StepTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-3', 'r2', 'az1', vcpus=8),
        hosts.Host('cmp-4', 'r2', 'az1', vcpus=8),
        hosts.Host('cmp-5', 'r3', 'az2', vcpus=8),
        hosts.Host('cmp-6', 'r3', 'az2', vcpus=8),
    )

    def setUp(self):
        super().setUp()
        self.services = self.cloud.nova('admin').services
        self.planner = planner.Planner('another')

    def delete_group(self, uuid, user='demo'):
        """Delete a group and its draft, and wait for their release."""
        self.api(user).delete(f'{base.GROUPS}/{uuid}')

        def left():
            rounds.reap(self.planner, self.context)
            return self.holds_of(uuid)

        self.eventually(left, lambda holds: not holds)

    def hold(self, count, *policies, **more):
        """Hold ``count`` members ``a`` and store their hosts and holds."""
        self.hold_topology(
            {
                'members': {'a': base.member(count=count, **more)},
                'policies': list(policies),
            }
        )

    def hold_topology(self, topology):
        """Hold a group, and store its members' hosts and holds."""
        self.uuid = self.hold_group(topology)['id']
        self.before = self.planned_hosts(self.uuid)
        self.holds = self.hold_uuids()
        self.expires_at = self.group(self.uuid)['expires_at']

    def hold_uuids(self):
        """Return {path: uuid of the member's hold, redeemed or not}."""
        group = objects.VRTGroup.get(self.context, self.uuid)
        holds = {
            member.path: objects.VRTHold.find_by_member(
                self.context, member.id
            )
            for member in group.members
        }
        return {path: hold.uuid for path, hold in holds.items()}

    def set_option(self, name, value):
        CONF.set_override(name, value, 'vrt')
        self.addCleanup(CONF.clear_override, name, 'vrt')

    def service(self, host):
        [compute] = self.services.list(host=host, binary='nova-compute')
        return compute.id

    def disable(self, host):
        self.services.disable(self.service(host))
        self.addCleanup(self.services.enable, self.service(host))

    def force_down(self, host):
        self.services.force_down(self.service(host), True)
        self.addCleanup(self.services.force_down, self.service(host), False)

    def reject_hosts(self, is_rejected):
        """Make one of Nova's filters refuse hosts, as an operator's may.

        :param is_rejected: called with the name of a host and a RequestSpec
        """
        host_passes_by_nova = compute_filter.ComputeFilter.host_passes

        def host_passes(filter_, host_state, spec):
            if is_rejected(host_state.host, spec):
                return False
            return host_passes_by_nova(filter_, host_state, spec)

        self.patch(compute_filter.ComputeFilter, 'host_passes', host_passes)

    def assert_redeemed_elsewhere(self, path='a-0', **more):
        """Redeem a member, and expect its server on another host."""
        server = self.redeem(self.uuid, path, 'm1.tiny', **more)

        self.assertEqual('ACTIVE', server.status, vars(server))
        planned = self.planned_hosts(self.uuid)
        self.assertNotEqual(self.before[path], planned[path])
        self.assertEqual(planned[path], self.host_of(server))
        group = self.group(self.uuid)
        self.assertIsNone(group['revision'])
        self.assertEqual(self.expires_at, group['expires_at'])
        self.assert_nothing_lost()

    def assert_nothing_lost(self):
        statuses = {each['status'] for each in self.members()}
        self.assertLessEqual(statuses, {'HELD', 'ACTIVE'})
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def members(self):
        return self.group(self.uuid)['members']

    def assert_other_holds_kept(self, *moved):
        now = self.hold_uuids()
        for path in self.holds.keys() - set(moved):
            self.assertEqual(self.holds[path], now[path])
