# SPDX-License-Identifier: Apache-2.0
"""Tests of access: other projects, readers, and a second user."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import base
from nova_groupext_tempest_plugin.tests.api import calls


class OtherProjectTest(base.BaseGroupTest):
    credentials = ['primary', 'alt']

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.planned = cls.create_group(topologies.equal_members(), hold=False)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e11')
    def test_group_of_another_project_is_answered_as_an_unknown_one(self):
        own, nobody = self.planned['id'], calls.UNKNOWN_ID
        for call in calls.calls_of_group(self.planned):
            foreign = self.refusal(call.method, call.path, call.body)
            unknown = self.refusal(
                call.method, call.path.replace(own, nobody), call.body
            )
            self.assertEqual(unknown.replace(nobody, own), foreign, call)

        self.assertEqual(self.planned, self.group(own))

    def refusal(self, *request):
        """Check that a request is answered with 404; return the message."""
        refusal = self.assertRaises(
            lib_exc.NotFound, self.other_groups.call, *request
        )
        return refusal.resp_body['message']

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e12')
    def test_group_of_another_project_is_not_listed(self):
        for detail in (False, True):
            listed = self.other_groups.list_groups(detail)['vrt_groups']
            ids = [group['id'] for group in listed]
            self.assertNotIn(self.planned['id'], ids)

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e13')
    def test_groups_of_all_projects_are_forbidden_to_a_tenant(self):
        for detail in (False, True):
            self.assertRaises(
                lib_exc.Forbidden,
                self.groups.list_groups,
                detail,
                all_projects=True,
            )

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e15')
    def test_exclusive_hosts_are_forbidden_to_a_tenant(self):
        alone = {'type': 'exclusive', 'scope': 'host'}

        self.assertRaises(
            lib_exc.Forbidden,
            self.describe,
            topologies.equal_members(1, [alone]),
        )

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e14')
    def test_marker_of_another_project_is_answered_as_an_unknown_one(self):
        # The default order is by id: any id is a valid marker.
        own = self.describe(
            topologies.equal_members(1), self.other_groups, hold=False
        )
        listed = self.other_groups.list_groups(marker=self.planned['id'])
        self.assertIn(own['id'], [g['id'] for g in listed['vrt_groups']])

        # The order by name would reveal the name of the marker's group.
        messages = []
        for marker in (self.planned['id'], calls.UNKNOWN_ID):
            refusal = self.assertRaises(
                lib_exc.BadRequest,
                self.other_groups.list_groups,
                sort_key='name',
                marker=marker,
            )
            messages.append(
                refusal.resp_body['message'].replace(marker, 'marker')
            )

        self.assertEqual(messages[0], messages[1])


class ReaderTest(base.BaseGroupTest):
    credentials = ['primary', 'project_reader']

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.reader = cls.os_project_reader.vrt.GroupsClient()

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.planned = cls.create_group(topologies.equal_members(), hold=False)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e21')
    def test_reader_changes_nothing(self):
        for call in [
            *calls.calls_of_project(topologies.equal_members()),
            *calls.calls_of_group(self.planned),
        ]:
            if call.name not in calls.READER_CALLS:
                self.assertRaises(
                    lib_exc.Forbidden,
                    self.reader.call,
                    call.method,
                    call.path,
                    call.body,
                )

        self.assertEqual(self.planned, self.group(self.planned['id']))

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e22')
    def test_reader_sees_the_same_as_a_member_of_the_project(self):
        group_id = self.planned['id']
        path = self.planned['members'][0]['path']
        for client in (self.reader, self.groups):
            shown = client.show_group(group_id)['vrt_group']
            self.assertEqual(self.planned, shown)
            members = client.list_members(group_id)['members']
            self.assertEqual(self.planned['members'], members)
            member = client.show_member(group_id, path)['member']
            self.assertEqual(members[0], member)
            for detail in (False, True):
                listed = client.list_groups(detail)['vrt_groups']
                self.assertIn(group_id, [group['id'] for group in listed])
            client.show_capabilities()


class SecondUserTest(base.BaseGroupTest):
    credentials = ['primary', 'project_manager']

    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e31')
    def test_second_user_of_the_project_revises_and_deletes_a_group(self):
        group = self.describe(topologies.equal_members(), hold=False)
        second = self.os_project_manager.vrt.GroupsClient()

        second.update_group(
            group['id'],
            generation=group['generation'],
            topology=topologies.equal_members(3),
        )
        shown = second.show_group(group['id'])['vrt_group']
        second.delete_group(group['id'])

        self.assertEqual(3, len(shown['members']))
        self.assertEqual(group['user_id'], shown['user_id'])
        self.assertRaises(lib_exc.NotFound, self.group, group['id'])
