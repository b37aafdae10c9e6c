# SPDX-License-Identifier: Apache-2.0
"""Tests of listing, showing, adding and removing single members."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import base


class MembersTest(base.BaseGroupTest):
    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.planned = cls.create_group(topologies.nested(), hold=False)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('e7a0b4d8-2c53-4d69-87e1-3b8c9d0e6501')
    def test_members_are_listed_and_shown_as_in_their_group(self):
        group_id = self.planned['id']

        listed = self.groups.list_members(group_id)['members']

        self.assertEqual(self.planned['members'], listed)
        for member in listed:
            shown = self.groups.show_member(group_id, member['path'])
            self.assertEqual(member, shown['member'])

    @decorators.idempotent_id('e7a0b4d8-2c53-4d69-87e1-3b8c9d0e6505')
    def test_members_are_listed_in_pages_and_filtered_by_status(self):
        group_id = self.planned['id']
        first, second = self.planned['members']

        page = self.groups.list_members(group_id, limit=1)
        rest = self.groups.list_members(group_id, marker=first['path'])
        held = self.groups.list_members(group_id, status='HELD')

        self.assertEqual([first], page['members'])
        [link] = page['members_links']
        self.assertEqual('next', link['rel'])
        self.assertEqual({'members': [second]}, dict(rest))
        self.assertEqual({'members': []}, dict(held))

    @decorators.idempotent_id('e7a0b4d8-2c53-4d69-87e1-3b8c9d0e6502')
    def test_unknown_member_is_not_found(self):
        for call in (self.groups.show_member, self.groups.remove_member):
            for path in ('nobody', 'sub/nobody', 'sub/b-1'):
                self.assertRaises(
                    lib_exc.NotFound, call, self.planned['id'], path
                )

        self.assertEqual(self.planned, self.group(self.planned['id']))

    @decorators.idempotent_id('e7a0b4d8-2c53-4d69-87e1-3b8c9d0e6503')
    def test_addition_of_an_existing_member_is_refused(self):
        self.assertRaises(
            lib_exc.BadRequest,
            self.groups.add_member,
            self.planned['id'],
            path='a',
            **topologies.member(),
        )

        self.assertEqual(self.planned, self.group(self.planned['id']))

    @decorators.idempotent_id('e7a0b4d8-2c53-4d69-87e1-3b8c9d0e6504')
    def test_only_the_last_counted_member_is_removed(self):
        group = self.describe(topologies.equal_members(3), hold=False)

        self.assertRaises(
            lib_exc.Conflict, self.groups.remove_member, group['id'], 'a-1'
        )
        self.groups.remove_member(group['id'], 'a-2')

        left = waiters.wait_for_decision(self.groups, group['id'])
        self.assertEqual({'a-0', 'a-1'}, set(waiters.member_statuses(left)))
