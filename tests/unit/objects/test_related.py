# SPDX-License-Identifier: Apache-2.0
"""Which members of other groups count, and where?"""

from nova_groupext.objects import related
from nova_groupext.objects import transitions
from tests.unit.objects import base


class TestRelated(base.HeldCase):
    def is_known(self, group, path='', project_id='project'):
        return related.is_known(self.context, project_id, group.uuid, path)

    def seats(self, group, path=''):
        return sorted(
            member
            for member, _host, _node in related.seats(
                self.context, 'project', group.uuid, path
            )
        )

    def test_parts_are_members_names_of_counted_ones_and_subgroups(self):
        group = self.held()
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
            self.assertEqual(expected, self.seats(group, path), path)

    def test_other_projects_know_nothing_of_it(self):
        self.assertFalse(self.is_known(self.held(), project_id='other'))

    def test_a_deleted_group_is_none(self):
        group = self.held()
        group.mark_deleted(self.context)

        self.assertFalse(self.is_known(group))
        self.assertEqual([], self.seats(group))

    def test_a_draft_is_none(self):
        draft = self.create(revises_id=self.held().id)

        self.assertFalse(self.is_known(draft))

    def test_who_holds_nothing_is_nowhere(self):
        whatif, group = self.create(), self.held()
        transitions.give_up(self.context, group, group.members[:1])

        self.assertTrue(self.is_known(whatif))
        self.assertEqual([], self.seats(whatif))
        self.assertEqual(2, len(self.seats(group)))
