# SPDX-License-Identifier: Apache-2.0
"""Rosters: numbers and names of members."""

from nova_groupext.membership import roster as rosters
from tests.unit.membership import base


class TestPaths(base.MembershipTestCase):
    def test_index_belongs_to_a_counted_set_only(self):
        self.describe(
            **{
                'w': base.member_set(2),
                'v': base.member_set(),
                'v-1': base.member_set(),
            }
        )

        self.assertEqual(
            ['w', 'v', 'v-1', None, None],
            [
                self.roster.member_set_of(path)
                for path in ('w-9', 'v', 'v-1', 'v-2', 'w')
            ],
        )

    def test_set_or_subgroup_with_an_index_is_no_counted_member(self):
        self.describe(
            **{
                'w': base.member_set(1, max_count=9),
                'w-1': base.member_set(1, max_count=9),
                'w-2/x/y': base.member_set(),
            }
        )

        self.assertEqual(
            [None, None, 'w', 'w-1'],
            [
                self.roster.member_set_of(path)
                for path in ('w-1', 'w-2', 'w-3', 'w-1-0')
            ],
        )
        self.assertEqual('w-3', self.roster.free_path('w'))

    def test_name_of_a_set_left_out_is_not_free_while_it_has_servers(self):
        workers = base.member_set(1, max_count=9)
        self.describe(**{'w': workers, 'w-1': base.member_set(1)})
        server = self.create('w-1')

        self.revise(w=workers)

        self.assertEqual('w-2', self.roster.free_path('w'))
        self.delete(server)
        self.assertEqual('w-1', self.roster.free_path('w'))

    def test_path_is_within_itself_and_its_ancestors(self):
        for ancestor in ('', 'g', 'g/w'):
            self.assertTrue(rosters.is_within('g/w', ancestor))
        for other in ('g/w-0', 'g/', 'gg', 'w'):
            self.assertFalse(rosters.is_within('g/w', other))


class TestMembers(base.MembershipTestCase):
    def test_successor_is_not_found_by_the_path_of_its_member(self):
        self.describe(w=base.member_set(1, max_surge=1))
        first, second = self.create('w-0'), self.create('w-0')
        self.roster.members.reverse()

        self.assertEqual(first, self.roster.find('w-0').server)
        self.assertEqual([second], self.successors())

    def test_successors_of_other_sets_do_not_count(self):
        one = base.member_set(1, max_surge=1)
        self.describe(v=one, w=one)
        for hint in ('v', 'v', 'w'):
            self.create(hint)

        self.assertEqual(
            (0, 1),
            tuple(map(self.roster.remaining_successors, ('v', 'w'))),
        )


class TestNumbers(base.MembershipTestCase):
    def test_released_members_stay_reserved_unless_the_set_grows(self):
        for max_count, expected in ((None, 0), (2, 1)):
            self.describe(w=base.member_set(2, max_count=max_count))
            self.create('w')
            self.roster.find('w-1').status = 'RELEASED'

            self.assertEqual(expected, self.roster.remaining('w'))

    def test_set_left_out_admits_nothing(self):
        self.describe(w=base.member_set(1, max_surge=2))
        self.create('w')
        self.assertEqual(2, self.roster.remaining_successors('w'))

        self.roster.member_sets = {}

        self.assertEqual(
            (0, 0, 0),
            (
                self.roster.limit('w'),
                self.roster.remaining('w'),
                self.roster.remaining_successors('w'),
            ),
        )
