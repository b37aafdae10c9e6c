# SPDX-License-Identifier: Apache-2.0
"""Members under a revised definition."""

from nova_groupext.objects import states
from tests.unit.membership import base

HELD = states.Member.HELD


class TestNumbers(base.MembershipTestCase):
    def leaving(self, member_set='w'):
        return [member.path for member in self.roster.leaving(member_set)]

    def test_servers_beyond_a_smaller_count_are_leaving(self):
        self.describe(w=base.member_set(3))
        servers = [self.create('w') for _number in range(3)]

        self.assertEqual([], self.revise(w=base.member_set(1)))

        self.assertEqual(['w-1', 'w-2'], self.leaving())
        self.assertEqual(servers, [*self.shown().values()])

    def test_servers_that_were_leaving_are_wanted_again(self):
        self.describe(w=base.member_set(3))
        servers = [self.create('w') for _number in range(3)]
        self.revise(w=base.member_set(1))

        self.assertEqual([], self.revise(w=base.member_set(3)))

        self.assertEqual([], self.leaving())
        self.assertEqual(servers, [*self.shown().values()])

    def test_one_fewer_is_leaving_whichever_server_goes(self):
        self.describe(w=base.member_set(3))
        servers = [self.create('w') for _number in range(3)]
        self.revise(w=base.member_set(1))

        self.delete(servers[0])

        self.assertEqual(['w-2'], self.leaving())

    def test_servers_of_a_set_left_out_are_leaving(self):
        self.describe(w=base.member_set(1), v=base.member_set())
        server = self.create('v')

        self.revise(w=base.member_set(1))

        self.assertEqual(['v'], self.leaving('v'))
        self.delete(server)
        self.assertEqual({'w-0': HELD}, self.shown())

    def test_servers_of_any_index_count_before_holds(self):
        self.describe(w=base.member_set(2, max_count=9))
        server = self.create('w-7')

        self.revise(w=base.member_set(1))

        self.assertEqual({'w-7': server}, self.shown())

    def test_missing_members_are_to_be_placed(self):
        self.describe(w=base.member_set(2))
        server = self.create('w-1')

        self.assertEqual(['w-2', 'w-3'], self.revise(w=base.member_set(4)))

        self.assertEqual(
            {'w-0': HELD, 'w-1': server, 'w-2': HELD, 'w-3': HELD},
            self.shown(),
        )

    def test_same_definition_places_only_what_was_lost(self):
        self.describe(w=base.member_set(3))
        self.create('w')
        self.roster.find('w-1').status = states.Member.RELEASED

        self.assertEqual(['w-1'], self.revise(w=base.member_set(3)))
        self.assertEqual([], self.revise(w=base.member_set(3)))

    def test_left_out_member_stays_described(self):
        self.describe(left_out=1, w=base.member_set(2))

        self.assertEqual(
            {'w-0': HELD, 'w-1': states.Member.TENTATIVE}, self.shown()
        )


class TestSuccessors(base.MembershipTestCase):
    def test_larger_limit_makes_members_of_successors(self):
        self.describe(w=base.member_set(1, max_surge=1))
        servers = [self.create('w') for _number in range(2)]

        self.assertEqual([], self.revise(w=base.member_set(2)))

        self.assertEqual(servers, [*self.shown().values()])

    def test_successor_of_a_set_left_out_becomes_a_member(self):
        self.describe(w=base.member_set(1, max_surge=1), v=base.member_set())
        servers = [self.create('w') for _number in range(2)]

        self.revise(v=base.member_set())

        self.assertEqual(
            {'v': HELD, 'w-0': servers[0], 'w-1': servers[1]}, self.shown()
        )


class TestDescriptions(base.MembershipTestCase):
    def pending(self):
        return [
            each.path
            for each in self.roster.members
            if self.roster.is_pending(each)
        ]

    def test_servers_of_another_description_are_pending(self):
        self.describe(w=base.member_set(2))
        for _number in range(2):
            self.create('w')

        self.revise(w=base.member_set(2, request=base.BIG))
        self.assertEqual(['w-0', 'w-1'], self.pending())

        self.revise(w=base.member_set(2))
        self.assertEqual([], self.pending())

    def test_held_members_are_never_pending(self):
        self.describe(w=base.member_set(2))
        self.revise(w=base.member_set(2, request=base.BIG))

        self.assertEqual([], self.pending())

    def test_held_members_of_another_description_are_placed_anew(self):
        self.describe(w=base.member_set(2))
        self.create('w')

        changed = self.revise(w=base.member_set(2, request=base.BIG))

        self.assertEqual(['w-1'], changed)
        self.assertEqual(base.BIG, self.roster.find('w-1').request)


class TestNames(base.MembershipTestCase):
    def test_held_member_gives_its_name_to_a_subgroup(self):
        workers = base.member_set(1)
        self.describe(w=base.member_set(1, max_count=9))
        self.create('w-0'), self.create('w-1')
        self.delete('s1'), self.revise(w=workers)
        self.delete('s2'), self.revise(w=workers)

        self.revise(**{'w': workers, 'w-0/x': base.member_set()})

        self.assertEqual({'w-1', 'w-0/x'}, {*self.shown()})

    def test_single_member_that_gets_a_count_gets_an_index(self):
        self.describe(w=base.member_set(), **{'w-0': base.member_set()})
        server = self.create('w')

        self.revise(w=base.member_set(2), **{'w-0': base.member_set()})

        self.assertEqual(
            {'w-0': HELD, 'w-1': server, 'w-2': HELD}, self.shown()
        )

    def test_counted_server_that_loses_its_count_is_the_single_member(self):
        self.describe(w=base.member_set(2))
        server = self.create('w-1')

        self.assertEqual([], self.revise(w=base.member_set()))

        self.assertEqual({'w': server}, self.shown())

    def test_successor_keeps_its_member_when_that_is_renamed(self):
        self.describe(w=base.member_set(2, max_surge=1))
        for hint in ('w', 'w', 'w-0'):
            self.create(hint)

        self.revise(w=base.member_set(max_surge=1))
        self.delete('s1')

        self.assertEqual(['s2'], [*self.shown().values()])
