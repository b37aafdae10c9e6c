# SPDX-License-Identifier: Apache-2.0
"""Members of other groups in relationships."""

from nova_groupext.objects import related
from nova_groupext.objects import releases
from tests.unit.objects import base


class TestRelated(base.HeldGroupTestCase):
    def is_known(self, group, path='', project_id='project'):
        return related.has_members(self.context, project_id, group.uuid, path)

    def located_paths(self, group, path=''):
        return sorted(
            member
            for member, _host, _node in related.list_locations(
                self.context, 'project', group.uuid, path
            )
        )

    def test_path_matches_members_member_sets_and_subgroups(self):
        group = self.create_held_group()
        workers = ['workers/worker-0', 'workers/worker-1']
        for path, expected in (
            ('', ['master', *workers]),
            ('master', ['master']),
            ('workers', workers),
            ('workers/worker', workers),
            ('workers/worker-1', workers[1:]),
            ('work', []),
            ('Workers', []),
        ):
            self.assertEqual(bool(expected), self.is_known(group, path), path)
            self.assertEqual(expected, self.located_paths(group, path), path)

    def test_group_of_another_project_is_unknown(self):
        self.assertFalse(
            self.is_known(self.create_held_group(), project_id='other')
        )

    def test_deleted_group_is_unknown(self):
        group = self.create_held_group()
        group.mark_deleted(self.context)

        self.assertFalse(self.is_known(group))
        self.assertEqual([], self.located_paths(group))

    def test_draft_is_unknown(self):
        draft = self.create(revises_id=self.create_held_group().id)

        self.assertFalse(self.is_known(draft))

    def test_member_without_a_hold_has_no_location(self):
        whatif, group = self.create(), self.create_held_group()
        releases.release_members(self.context, group, group.members[:1])

        self.assertTrue(self.is_known(whatif))
        self.assertEqual([], self.located_paths(whatif))
        self.assertEqual(2, len(self.located_paths(group)))
