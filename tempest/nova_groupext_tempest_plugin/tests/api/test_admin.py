# SPDX-License-Identifier: Apache-2.0
"""Tests of the fields for admins, and of the domain ids for tenants."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import base


class AdminTest(base.BaseGroupTest):
    credentials = ['primary', 'alt', 'admin']

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.own = cls.create_group(topologies.equal_members(1), hold=False)
        cls.other = cls.create_group(
            topologies.equal_members(1), cls.other_groups, hold=False
        )

    def admin_group(self, group):
        return self.admin_groups.show_group(group['id'])['vrt_group']

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e41')
    def test_admin_sees_hosts_costs_and_statistics(self):
        shown = self.admin_group(self.own)

        [member] = shown['members']
        self.assertTrue(member['host'])
        self.assertEqual(0, shown['cost']['soft'])
        self.assertIn('seconds', shown['stats'])
        self.assertEqual(self.own['members'][0]['domains'], member['domains'])

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e42')
    def test_admin_lists_groups_of_all_projects(self):
        both = {self.own['id'], self.other['id']}
        for detail in (False, True):
            listed = self.admin_groups.list_groups(detail, all_projects=True)
            ids = {group['id'] for group in listed['vrt_groups']}
            self.assertLessEqual(both, ids)
            own = self.admin_groups.list_groups(detail)
            ids = {group['id'] for group in own['vrt_groups']}
            self.assertFalse(both & ids)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e43')
    def test_domains_of_one_host_differ_between_projects(self):
        hosts = {
            self.admin_group(group)['members'][0]['host']
            for group in (self.own, self.other)
        }
        if len(hosts) > 1:
            raise self.skipException('The two plans use different hosts.')
        own, other = (
            group['members'][0]['domains'] for group in (self.own, self.other)
        )

        self.assertEqual(own.keys(), other.keys())
        # Zones are public and keep their names.
        zone = own.pop('zone', None)
        self.assertEqual(zone, other.pop('zone', None))
        for level, domain in own.items():
            self.assertNotEqual(domain, other[level], level)

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e46')
    def test_admin_boots_no_servers_for_another_project(self):
        group = self.hold(topologies.equal_members(1))

        self.assertRaises(
            lib_exc.NotFound, self.admin_groups.act, group['id'], 'boot'
        )

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e44')
    def test_domain_ids_are_not_the_names_of_hosts(self):
        host = self.admin_group(self.own)['members'][0]['host']

        self.assertNotIn(host, str(self.own['members']))

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e45')
    def test_domains_of_one_host_are_the_same_in_all_groups(self):
        again = self.describe(topologies.equal_members(1), hold=False)
        hosts = {
            self.admin_group(group)['members'][0]['host']
            for group in (self.own, again)
        }
        if len(hosts) > 1:
            raise self.skipException('The two plans use different hosts.')

        self.assertEqual(
            self.own['members'][0]['domains'], again['members'][0]['domains']
        )
