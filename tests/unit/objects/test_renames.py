# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/objects/renames.py``."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext.objects import renames
from nova_groupext.objects import states
from tests import groups
from tests.unit.objects import base


class TestRename(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create(
            **groups.members_of(groups.member_set('m', count=2)),
            subgroups=[],
            policies=[],
            relationships=[],
        )
        self.lease = groups.acquire_lease(self.context, self.group)

    def rename(self, **new_names):
        names = {
            each.id: new_names[each.path.replace('-', '')]
            for each in self.group.members
            if each.path.replace('-', '') in new_names
        }
        renames.rename(self.context, self.lease, names)
        return [each.path for each in self.get(self.group).members]

    def test_members_get_other_paths(self):
        self.assertEqual(['m-0', 'm-7'], self.rename(m1='m-7'))

    def test_path_of_a_renamed_member_is_free(self):
        self.assertEqual(['m-1', 'm-7'], self.rename(m0='m-1', m1='m-7'))

    def test_path_of_another_member_is_taken(self):
        self.assertRaises(exception.GenerationConflict, self.rename, m0='m-1')

    def test_member_with_a_server_keeps_its_path(self):
        self.group.members[1].update_row(
            self.context, status=states.Member.ACTIVE
        )

        self.assertRaises(
            exception.GenerationConflict, self.rename, m0='m-1', m1='m-7'
        )
        self.assertEqual(
            ['m-0', 'm-1'],
            [each.path for each in self.get(self.group).members],
        )

    def test_member_that_is_reserved_keeps_its_path(self):
        self.group.members[1].update_row(
            self.context, reserved_for=uuids.server
        )

        self.assertRaises(exception.GenerationConflict, self.rename, m1='m-7')
