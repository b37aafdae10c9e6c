# SPDX-License-Identifier: Apache-2.0
"""Tests of creating, showing, renaming and deleting groups."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc
from tempest.lib.common.utils import data_utils

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.services.schemas import topology
from nova_groupext_tempest_plugin.tests import base


class GroupsTest(base.BaseGroupTest):
    @decorators.attr(type='smoke')
    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a101')
    def test_group_is_shown_as_described(self):
        described = topologies.nested()
        name = data_utils.rand_name(type(self).__name__)
        created = self.groups.create_group(
            name=name, topology=described, description='racks', hold=False
        )
        group = created['vrt_group']
        self.addCleanup(self.remove_group, group['id'])

        location = created.response['location']
        self.assertTrue(location.endswith(f'/os-vrt-groups/{group["id"]}'))
        self.assertEqual(
            self.os_primary.auth_provider.credentials.project_id,
            group['project_id'],
        )
        planned = waiters.wait_for_decision(self.groups, group['id'])
        self.assertEqual('PLANNED', planned['status'])
        self.assertEqual(name, planned['name'])
        self.assertEqual('racks', planned['description'])
        self.assertEqual(described, planned['topology'])
        self.assertEqual(
            {'a': 'TENTATIVE', 'sub/b-0': 'TENTATIVE'},
            waiters.member_statuses(planned),
        )
        for member in planned['members']:
            self.assertLessEqual({'host', 'zone'}, set(member['domains']))

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a102')
    def test_deleted_group_is_not_found_at_once(self):
        group_id = self.hold(topologies.equal_members())['id']

        self.groups.delete_group(group_id)

        self.assertRaises(lib_exc.NotFound, self.group, group_id)
        self.assertRaises(lib_exc.NotFound, self.groups.delete_group, group_id)
        for detail in (False, True):
            listed = self.groups.list_groups(detail)['vrt_groups']
            self.assertNotIn(group_id, [group['id'] for group in listed])

    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a107')
    def test_renamed_group_is_not_replanned(self):
        group = self.hold(topologies.equal_members(1))
        name = data_utils.rand_name(type(self).__name__)

        renamed = self.groups.update_group(
            group['id'],
            generation=group['generation'],
            name=name,
            description='another one',
        )['vrt_group']

        self.assertEqual(renamed, self.group(group['id']))
        self.assertEqual(
            (name, 'another one'), (renamed['name'], renamed['description'])
        )
        for same in ('status', 'members', 'topology', 'revision'):
            self.assertEqual(group[same], renamed[same])

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a105')
    def test_capabilities_name_every_policy_and_the_outer_scopes(self):
        shown = self.groups.show_capabilities()['capabilities']

        self.assertEqual('host', shown['scopes'][0])
        self.assertEqual('zone', shown['scopes'][-1])
        # Other packages may add types.
        self.assertLessEqual({*topology.POLICY_TYPES}, {*shown['policies']})
        for parameters in shown['policies'].values():
            self.assertIs(True, parameters['scope']['required'])

    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a106')
    def test_group_beyond_the_limit_of_members_is_refused(self):
        limits = self.groups.show_capabilities()['capabilities']['limits']
        many = limits['max_members'] + 1

        self.assertRaises(
            lib_exc.BadRequest,
            self.groups.create_group,
            name='too many',
            topology=topologies.equal_members(many),
        )
