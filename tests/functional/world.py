# SPDX-License-Identifier: Apache-2.0
"""Groups that are held while hosts go, and filters change their minds."""

from nova.scheduler.filters import compute_filter

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.conf import CONF
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from tests import rounds
from tests.functional import base


class WorldCase(base.StepTestCase):
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
        """Its draft, if there is one, goes with it."""
        self.api(user).delete(f'{base.GROUPS}/{uuid}')

        def left():
            rounds.reap(self.planner, self.context)
            return self.holds_of(uuid)

        self.eventually(left, lambda holds: not holds)

    def hold(self, count, *policies, **more):
        """Hold so many members ``a``; remember where they are."""
        topology = {
            'members': {'a': base.member(count=count, **more)},
            'policies': list(policies),
        }
        self.uuid = self.held(topology)['id']
        self.before = self.planned(self.uuid)
        self.holds = self.held_now()
        self.expires_at = self.group(self.uuid)['expires_at']

    def held_now(self):
        """Return {path: uuid of what the member holds, or has redeemed}."""
        group = objects.VRTGroup.get(self.context, self.uuid)
        found = {
            member.path: objects.VRTHold.get_by_member(self.context, member.id)
            for member in group.members
        }
        return {path: hold.uuid for path, hold in found.items()}

    def override(self, name, value):
        CONF.set_override(name, value, 'vrt')
        self.addCleanup(CONF.clear_override, name, 'vrt')

    def service(self, host):
        [found] = self.services.list(host=host, binary='nova-compute')
        return found.id

    def disable(self, host):
        self.services.disable(self.service(host))
        self.addCleanup(self.services.enable, self.service(host))

    def put_down(self, host):
        self.services.force_down(self.service(host), True)
        self.addCleanup(self.services.force_down, self.service(host), False)

    def refuse(self, refuses):
        """Let a filter of Nova's refuse servers, as an operator's own may.

        :param refuses: called with the name of a host and a RequestSpec
        """
        passes = compute_filter.ComputeFilter.host_passes

        def host_passes(filter_, host_state, spec):
            if refuses(host_state.host, spec):
                return False
            return passes(filter_, host_state, spec)

        self.patch(compute_filter.ComputeFilter, 'host_passes', host_passes)

    def assert_elsewhere(self, path='a-0', **more):
        """The server comes, on another host; all holds that may stay do."""
        server = self.redeem(self.uuid, path, 'm1.tiny', **more)

        self.assertEqual('ACTIVE', server.status, vars(server))
        planned = self.planned(self.uuid)
        self.assertNotEqual(self.before[path], planned[path])
        self.assertEqual(planned[path], self.host_of(server))
        group = self.group(self.uuid)
        self.assertIsNone(group['revision'])
        self.assertEqual(self.expires_at, group['expires_at'])
        self.assert_nothing_lost()

    def assert_nothing_lost(self):
        statuses = {each['status'] for each in self.members()}
        self.assertLessEqual(statuses, {'HELD', 'ACTIVE'})
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def members(self):
        return self.group(self.uuid)['members']

    def assert_others_stay(self, *moved):
        now = self.held_now()
        for path in self.holds.keys() - set(moved):
            self.assertEqual(self.holds[path], now[path])
