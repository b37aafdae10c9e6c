# SPDX-License-Identifier: Apache-2.0
"""Scenarios of a group's life cycle: create, hold, redeem, release."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import servers


class LifeCycleTest(servers.BaseServerTest):
    @decorators.attr(type='smoke')
    @decorators.idempotent_id('1c5b7d90-3f64-4e7a-98f2-4c9d0e1f7601')
    def test_group_is_held_redeemed_released_and_deleted(self):
        group = self.hold(topologies.equal_members(3))
        domains_by_path = {m['path']: m['domains'] for m in group['members']}

        server = self.create_member(group, 'a-0')
        started = waiters.wait_for_members(
            self.groups, group['id'], {'a-0': 'ACTIVE'}
        )
        first = started['members'][0]
        self.assertEqual(server, first['server_id'])
        self.assertEqual(domains_by_path['a-0'], first['domains'])
        self.assertEqual('HELD', started['status'])
        self.assert_second_server_refused(group, 'a-0')

        self.groups.act(group['id'], 'release', members=['a-1', 'a-2'])
        self.assertEqual('ACTIVE', self.group(group['id'])['status'])

        self.groups.delete_group(group['id'])
        self.assertRaises(lib_exc.NotFound, self.group, group['id'])
        shown = self.servers.show_server(server)['server']
        self.assertEqual('ACTIVE', shown['status'])

    def assert_second_server_refused(self, group, path):
        """Check that a member with a server is not redeemed or released."""
        self.assertRaises(lib_exc.Conflict, self.create_member, group, path)
        self.assertRaises(
            lib_exc.Conflict,
            self.groups.act,
            group['id'],
            'release',
            members=[path],
        )

    @decorators.idempotent_id('1c5b7d90-3f64-4e7a-98f2-4c9d0e1f7602')
    def test_boot_creates_the_servers_of_all_members(self):
        group = self.hold(topologies.equal_members(2))

        self.groups.act(group['id'], 'boot', servers=self.templates())

        self.check_boot(group)

    @decorators.idempotent_id('1c5b7d90-3f64-4e7a-98f2-4c9d0e1f7614')
    def test_group_described_with_boot_gets_its_servers(self):
        group = self.describe(
            topologies.equal_members(2), boot={'servers': self.templates()}
        )

        self.check_boot(group)

    def templates(self):
        return {'default': self.networks() or {'networks': 'none'}}

    def check_boot(self, group):
        """Check that every member gets a server; the cleanup removes them."""
        booted = waiters.wait_for_group(
            self.groups,
            group['id'],
            lambda group: group['boot']['status'] != 'booting',
            f'group {group["id"]} is booted',
        )
        for member in booted['members']:
            if member['server_id'] is not None:
                self.addCleanup(self.remove_server, member['server_id'])
                self.wait_for_server(member['server_id'])
        boot = booted['boot']
        self.assertEqual(
            ('done', 2, []), (boot['status'], boot['created'], boot['faults'])
        )
        waiters.wait_for_status(self.groups, group['id'], 'ACTIVE')

    @decorators.idempotent_id('1c5b7d90-3f64-4e7a-98f2-4c9d0e1f7603')
    def test_deleted_server_releases_its_member(self):
        group = self.hold(topologies.equal_members(1))
        server = self.create_member(group, 'a-0')
        waiters.wait_for_status(self.groups, group['id'], 'ACTIVE')

        self.remove_server(server)

        # The reaper updates the member in its next round.
        waiters.wait_for_group(
            self.groups,
            group['id'],
            lambda now: now['members'][0]['status'] != 'ACTIVE',
            'the member has followed its server',
        )

    @decorators.idempotent_id('1c5b7d90-3f64-4e7a-98f2-4c9d0e1f7604')
    def test_server_that_differs_from_its_member_is_refused(self):
        group = self.hold(topologies.equal_members(1))
        other = {'flavorRef': self.other_flavor()}

        self.assertRaises(
            lib_exc.Conflict, self.create_member, group, 'a-0', **other
        )
        self.assertRaises(lib_exc.NotFound, self.create_member, group, 'b-0')

        self.assertEqual(group, self.group(group['id']))


class HoldsTest(servers.BaseServerTest):
    """Tests that compare holds with the allocations in Placement."""

    credentials = ['primary', 'admin']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        cls.skip_unless_allocations_are_checked()

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('1c5b7d90-3f64-4e7a-98f2-4c9d0e1f7605')
    def test_each_held_member_has_an_allocation_until_it_is_released(self):
        before = self.count_holds()
        group = self.hold(topologies.equal_members(3))
        self.assertEqual(before + 3, self.count_holds())

        server = self.create_member(group, 'a-0')
        self.assertEqual(before + 2, self.count_holds())
        self.assertTrue(self.placement.list_allocations(server))

        self.groups.act(group['id'], 'release')
        waiters.wait_until(
            self.count_holds,
            lambda now: now == before,
            'no holds are left',
        )
        self.remove_server(server)

    @decorators.idempotent_id('1c5b7d90-3f64-4e7a-98f2-4c9d0e1f7606')
    def test_what_if_holds_nothing(self):
        before = self.count_holds()

        group = self.describe(topologies.equal_members(3), hold=False)

        self.assertEqual('PLANNED', group['status'])
        self.assertEqual(before, self.count_holds())
