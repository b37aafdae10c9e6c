# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/membership/stored_revision.py``."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext.membership import stored_revision
from nova_groupext.objects import states
from tests import groups
from tests.unit.membership import stored_groups
from tests.unit.membership.stored_groups import M1
from tests.unit.membership.stored_groups import M2

Member = states.Member


class TestSuccessors(stored_groups.StoredCase):
    def test_revision_keeps_a_successor_and_counts_it(self):
        path = self.successor('workers/w', 'workers/w')
        self.change('workers/w-2', status=Member.ACTIVE)

        revised = stored_revision.revised(self.group, self.make(count=4))

        self.assertEqual(
            ['workers/w-0', 'workers/w-1', 'workers/w-2', path],
            [each for each, *_others in revised if each != 'master'],
        )
        self.assertEqual((path, 'workers/w', 'workers/w'), revised[-1])

    def test_others_that_are_leaving_stay_beside_a_set_that_is_removed(self):
        self.change('master', status=Member.ACTIVE)
        self.successor('workers/w', 'workers/w-0')
        draft = self.make()
        draft.member_sets.clear()

        revised = stored_revision.revised(
            self.group, draft, removed='workers/w', drops_servers=True
        )

        self.assertEqual([('master', 'master', None)], revised)

    def test_revision_counts_a_successor_in_the_set_that_it_makes_alike(self):
        other = {**M1, 'flavor_id': 'other'}
        path = self.successor('workers/w', '', server_request=other)
        draft = self.make(count=3)
        master = draft.member_sets[0]
        master.resolved_request, master.description = other, {'count': 2}

        revised = stored_revision.revised(self.group, draft)

        self.assertIn((path, 'workers/w', ''), revised)
        self.assertEqual(
            1, sum(member_set == 'master' for _, member_set, _ in revised)
        )


class TestRevised(stored_groups.StoredCase):
    def revised(self, request=M1, **counts):
        return stored_revision.revised(
            self.group, self.make(request, **counts)
        )

    def paths(self, **counts):
        return [
            path
            for path, member_set, _succeeds in self.revised(**counts)
            if member_set == 'workers/w'
        ]

    def test_servers_count_before_holds(self):
        self.change('workers/w-2', status=Member.ACTIVE)
        self.change('workers/w-0', status=Member.HELD)

        self.assertEqual(['workers/w-1', 'workers/w-2'], self.paths(count=2))

    def test_servers_beyond_the_definition_stay(self):
        self.assertEqual(['workers/w-0', 'workers/w-1'], self.paths(count=1))

    def test_servers_beyond_the_definition_may_leave(self):
        self.change('workers/w-2', status=Member.ACTIVE)
        self.describe(count=1, max_count=4)
        draft = self.make(count=1, max_count=2)

        revised = stored_revision.revised(
            self.group, draft, drops_servers=True
        )

        left = [each[0] for each in revised if each[0] != 'master']
        self.assertEqual(['workers/w-0', 'workers/w-1'], left)

    def test_others_that_are_leaving_stay_beside_one_that_is_removed(self):
        self.change('workers/w-2', status=Member.ACTIVE)
        self.describe(count=1)

        revised = stored_revision.revised(
            *(self.group, self.make(count=1)),
            removed='workers/w-0',
            drops_servers=True,
        )

        left = [each[0] for each in revised if each[0] != 'master']
        self.assertEqual(['workers/w-1', 'workers/w-2'], left)

    def test_member_that_adopts_a_server_keeps_its_path(self):
        self.change('workers/w-2', status=Member.TENTATIVE)
        self.change('workers/w-0', status=Member.TENTATIVE)
        self.describe(count=2)

        revised = stored_revision.revised(
            *(self.group, self.make(count=2)), {'workers/w-2': uuids.third}
        )

        self.assertEqual(
            ['workers/w-1', 'workers/w-2'],
            [each[0] for each in revised if each[0] != 'master'],
        )

    def test_missing_members_get_free_indexes(self):
        self.group.members.pop(2)

        self.assertEqual(
            [f'workers/w-{index}' for index in range(4)], self.paths(count=4)
        )

    def test_order_is_that_of_the_definition(self):
        self.assertEqual('master', self.revised(count=1)[0][0])

    def test_changed_description_keeps_paths(self):
        self.assertEqual(
            ['workers/w-0', 'workers/w-1', 'workers/w-2'],
            self.paths(request=M2, count=3),
        )

    def test_servers_of_a_set_that_is_left_out_are_last(self):
        draft = groups.unstored(
            **groups.members_of(groups.member_set('master', M2))
        )

        self.assertEqual(
            [
                ('master', 'master', None),
                ('workers/w-0', 'workers/w', None),
                ('workers/w-1', 'workers/w', None),
            ],
            stored_revision.revised(self.group, draft),
        )
