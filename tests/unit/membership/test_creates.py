# SPDX-License-Identifier: Apache-2.0
"""Members that the servers of a create request become."""

from unittest import mock

from nova_groupext.membership import creates
from nova_groupext.membership import roster as rosters
from nova_groupext.objects import states
from tests.unit.membership import base

Obstacle = base.Obstacle
HELD = states.Member.HELD
TENTATIVE = states.Member.TENTATIVE


class TestHeldAndUnplaced(base.MembershipTestCase):
    def test_held_members_are_first_whatever_their_paths(self):
        self.describe(w=base.member_set(3))
        self.roster.find('w-0').status = TENTATIVE

        [choice] = self.choose('w')

        self.assertEqual(('w-1', True), (choice.member.path, choice.is_held))

    def test_unplaced_member_has_to_be_placed(self):
        self.describe(left_out=1, w=base.member_set(1))

        [choice] = self.choose('w')

        self.assertEqual(('w-0', False), (choice.member.path, choice.is_held))

    def test_paths_below_a_subgroup_are_in_order(self):
        self.describe(**{'g/b': base.member_set(), 'g/a': base.member_set(2)})

        paths = [each.member.path for each in self.choose('g', number=3)]

        self.assertEqual(['g/a-0', 'g/a-1', 'g/b'], paths)

    def test_all_servers_get_a_member_or_none(self):
        self.describe(w=base.member_set(2, max_count=3))

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'w', number=4)

        self.assertEqual({'w-0': HELD, 'w-1': HELD}, self.shown())

    def test_members_are_listed_as_often_as_there_are_sets(self):
        """However many servers there are: a tenant chooses both numbers."""
        self.describe(
            **{f'w{n}': base.member_set(0, max_count=1) for n in range(50)}
        )
        with mock.patch.object(
            rosters.Roster,
            'members_of',
            autospec=True,
            side_effect=rosters.Roster.members_of,
        ) as members_of:
            self.assertRaises(
                creates.Refused,
                creates.choose,
                *(self.roster, '', [f's{n}' for n in range(51)], base.SMALL),
            )

        self.assertLess(members_of.call_count, 10 * 50)

    def test_one_member_is_not_several_servers(self):
        self.describe(w=base.member_set(2))

        self.assert_refused(Obstacle.ONE_MEMBER, 'w-0', number=2)

    def test_path_that_was_never_described_is_unknown(self):
        self.describe(w=base.member_set(2))

        for path in ('v', 'w/0', 'w-00', 'w-x'):
            self.assert_refused(Obstacle.UNKNOWN, path)

    def test_path_of_a_server_left_out_is_beyond_the_limit(self):
        self.describe(w=base.member_set(1), v=base.member_set())
        self.create('v')
        self.revise(w=base.member_set(1))

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'v')

    def test_path_of_a_subgroup_left_out_is_beyond_the_limit(self):
        self.describe(w=base.member_set(1), **{'sub/v': base.member_set(2)})
        self.create('sub/v')
        self.revise(w=base.member_set(1))

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'sub')
        self.assert_refused(Obstacle.UNKNOWN, 'su')

    def test_released_member_is_a_conflict(self):
        self.describe(w=base.member_set(1))
        self.roster.find('w-0').status = states.Member.RELEASED

        self.assert_refused(Obstacle.RELEASED, 'w-0')
        self.assert_refused(Obstacle.RELEASED, 'w')


class TestDescription(base.MembershipTestCase):
    def test_other_request_is_a_mismatch(self):
        self.describe(w=base.member_set(1))

        self.assert_refused(Obstacle.MISMATCH, 'w', request=base.BIG)

    def test_former_description_matches_while_a_server_is_pending(self):
        self.describe(w=base.member_set(2))
        servers = [self.create('w') for _number in range(2)]
        self.revise(w=base.member_set(2, request=base.BIG))
        self.delete(servers[0])

        self.create('w')
        for server in (servers[1], 's3'):
            self.delete(server)
            self.create('w', request=base.BIG)

        self.assert_refused(Obstacle.MISMATCH, 'w')

    def test_held_member_is_placed_anew_for_a_server_as_formerly_described(
        self,
    ):
        for hint in ('w', 'w-1'):
            self.describe(w=base.member_set(2))
            self.create('w')
            self.revise(w=base.member_set(2, request=base.BIG))

            [choice] = self.choose(hint)

            self.assertFalse(choice.is_held)
            self.assertTrue(self.roster.is_pending(choice.member))

    def test_former_description_of_another_set_is_a_mismatch(self):
        big = base.member_set(1, request=base.BIG)
        self.describe(w=base.member_set(1), v=big)
        self.create('w')
        self.revise(w=big, v=big)

        self.assert_refused(Obstacle.MISMATCH, 'v')


class TestGrowing(base.MembershipTestCase):
    def test_lowest_free_index_is_added(self):
        self.describe(w=base.member_set(2, max_count=9))
        for hint in ('w', 'w', 'w-3', 'w'):
            self.create(hint)

        self.assertEqual(
            {'w-0': 's1', 'w-1': 's2', 'w-2': 's4', 'w-3': 's3'}, self.shown()
        )

    def test_index_of_a_single_member_is_not_added(self):
        self.describe(
            w=base.member_set(0, max_count=9), **{'w-0': base.member_set()}
        )

        self.create('w')

        self.assertEqual({'w-0': HELD, 'w-1': 's1'}, self.shown())

    def test_nothing_grows_without_a_maximum(self):
        self.describe(w=base.member_set(1))
        self.create('w')

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'w')
        self.assert_refused(Obstacle.BEYOND_LIMIT, 'w-7')

    def test_new_name_beyond_the_maximum_is_refused(self):
        self.describe(w=base.member_set(1, max_count=2))
        for _number in range(2):
            self.create('w')

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'w-7')

    def test_server_of_another_set_that_is_deleted_is_not_waited_for(self):
        self.describe(w=base.member_set(1), v=base.member_set(1))
        self.create('w')
        self.deleting.add(self.create('v'))

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'w')

    def test_server_being_deleted_is_waited_for(self):
        self.describe(w=base.member_set(1))
        server = self.create('w')
        self.deleting.add(server)

        self.assert_refused(Obstacle.CHANGING, 'w')

    def test_server_that_is_too_many_is_not_waited_for(self):
        self.describe(w=base.member_set(2))
        servers = [self.create('w') for _number in range(2)]
        self.revise(w=base.member_set(1))
        self.deleting.add(servers[0])

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'w')


class TestNamed(base.MembershipTestCase):
    def test_unneeded_member_gets_the_name(self):
        self.describe(w=base.member_set(3))

        [choice] = self.choose('w-7')

        self.assertTrue(choice.is_held)
        self.assertEqual({'w-0': HELD, 'w-1': HELD, 'w-7': 's1'}, self.shown())

    def test_member_that_a_policy_names_is_renamed_last_and_placed_anew(self):
        self.describe(named=['w-1'], w=base.member_set(2))

        first, second = (self.choose(f'w-{number}')[0] for number in (7, 8))

        self.assertTrue(first.is_held)
        self.assertFalse(second.is_held)
        self.assertEqual({'w-7': 's1', 'w-8': 's2'}, self.shown())

    def test_name_that_a_policy_has_is_placed_anew(self):
        self.describe(named=['w-7'], w=base.member_set(1))

        [choice] = self.choose('w-7')

        self.assertFalse(choice.is_held)

    def test_live_server_without_surge_is_a_conflict(self):
        self.describe(w=base.member_set(1, max_count=2))
        self.create('w-0')

        self.assert_refused(Obstacle.HAS_SERVER, 'w-0')


class TestSuccessors(base.MembershipTestCase):
    def test_live_server_of_a_set_with_surge_has_a_successor(self):
        self.describe(w=base.member_set(1, max_surge=1))
        first, second = self.create('w-0'), self.create('w-0')

        self.assertEqual([second], self.successors())
        self.delete(first)

        self.assertEqual({'w-0': second}, self.shown())

    def test_successors_are_limited_and_waited_for(self):
        self.describe(w=base.member_set(1, max_surge=1))
        for _number in range(2):
            self.create('w')

        self.assert_refused(Obstacle.CHANGING, 'w')
        self.assert_refused(Obstacle.CHANGING, 'w-0')

    def test_new_name_beside_a_successor_is_waited_for(self):
        self.describe(w=base.member_set(1, max_surge=1))
        for hint in ('w', 'w-5'):
            self.create(hint)

        self.assert_refused(Obstacle.CHANGING, 'w-6')

    def test_released_member_has_no_successor(self):
        self.describe(w=base.member_set(2, max_surge=1))
        self.create('w')
        self.roster.find('w-1').status = states.Member.RELEASED

        self.assert_refused(Obstacle.RELEASED, 'w-1')

    def test_there_is_no_successor_of_nobody(self):
        self.describe(w=base.member_set(0, max_surge=1))

        self.assert_refused(Obstacle.BEYOND_LIMIT, 'w')

    def test_growth_precedes_successors(self):
        self.describe(w=base.member_set(1, max_count=2, max_surge=1))

        servers = [self.create('w') for _number in range(3)]

        self.assertEqual(servers[2:], self.successors())

    def test_new_name_of_a_successor_is_no_other_servers(self):
        self.describe(w=base.member_set(1, max_surge=2))
        first, second = self.create('w-0'), self.create('w-5')

        self.assert_refused(Obstacle.CHANGING, 'w-5')
        self.revise(w=base.member_set(2, max_surge=2))

        self.assertEqual({'w-0': first, 'w-5': second}, self.shown())

    def test_new_name_of_a_successor_stays(self):
        self.describe(w=base.member_set(1, max_surge=1))
        first, second = self.create('w-0'), self.create('w-5')
        self.assertEqual([second], self.successors())

        self.delete(first)

        self.assertEqual({'w-5': second}, self.shown())
