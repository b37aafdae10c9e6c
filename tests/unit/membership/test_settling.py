# SPDX-License-Identifier: Apache-2.0
"""Members after servers have come or gone."""

from nova_groupext.membership import settling
from nova_groupext.objects import states
from tests.unit.membership import base

HELD = states.Member.HELD
TENTATIVE = states.Member.TENTATIVE
FAILED = states.Member.FAILED


class TestLeave(base.MembershipTestCase):
    def test_member_within_the_count_stays_described(self):
        self.describe(w=base.member_set(2))
        servers = [self.create('w') for _number in range(2)]

        self.delete(servers[0])

        self.assertEqual({'w-0': TENTATIVE, 'w-1': servers[1]}, self.shown())

    def test_grown_group_forgets_whoever_leaves(self):
        self.describe(w=base.member_set(2, max_count=4))
        servers = [self.create('w') for _number in range(4)]

        self.delete(servers[0])

        self.assertEqual(['w-1', 'w-2', 'w-3'], [*self.shown()])

    def test_failed_member_stays_failed(self):
        self.describe(w=base.member_set(1))

        self.delete(self.create('w'), FAILED)

        self.assertEqual({'w-0': FAILED}, self.shown())

    def test_released_member_is_not_described_anew(self):
        self.describe(w=base.member_set(2))

        self.delete(self.create('w'), states.Member.RELEASED)

        self.assertEqual(
            {'w-0': states.Member.RELEASED, 'w-1': HELD}, self.shown()
        )

    def test_member_of_a_set_left_out_leaves_nothing(self):
        for status in (TENTATIVE, FAILED, states.Member.RELEASED):
            self.describe(w=base.member_set(), v=base.member_set())
            server = self.create('v')
            self.revise(w=base.member_set())

            self.delete(server, status)

            self.assertEqual({'w': HELD}, self.shown())

    def test_holds_beyond_the_limit_end_when_servers_are_more(self):
        self.describe(w=base.member_set(2))
        server = self.create('w')
        self.roster.member_sets['w'] = base.member_set(1)

        settling.settle(self.roster)

        self.assertEqual({'w-0': server}, self.shown())

    def test_ended_successor_leaves_nothing(self):
        self.describe(w=base.member_set(1, max_surge=1))
        first, second = self.create('w'), self.create('w')

        self.delete(second)

        self.assertEqual({'w-0': first}, self.shown())
        self.assertEqual([], self.successors())


class TestFollowing(base.MembershipTestCase):
    def test_successor_takes_the_place_of_a_member_without_a_server(self):
        self.describe(w=base.member_set(3, max_surge=1))
        servers = [self.create('w') for _number in range(4)]
        for path in ('w-0', 'w-1'):
            member = self.roster.find(path)
            member.status, member.server = TENTATIVE, None

        settling.settle(self.roster)

        self.assertEqual(
            {'w-0': servers[3], 'w-1': TENTATIVE, 'w-2': servers[2]},
            self.shown(),
        )
        self.assertEqual(3, len(self.roster.members))

    def test_successor_that_names_its_member_precedes_older_ones(self):
        self.describe(w=base.member_set(2, max_surge=2))
        servers = [self.create(hint) for hint in ('w', 'w', 'w', 'w-0')]

        self.delete(servers[0])

        self.assertEqual({'w-0': servers[3], 'w-1': servers[1]}, self.shown())
        self.assertEqual([servers[2]], self.successors())

    def test_successor_that_names_its_member_waits_for_this_one(self):
        self.describe(w=base.member_set(2, max_surge=1))
        servers = [self.create(hint) for hint in ('w', 'w', 'w-1')]

        self.delete(servers[0])

        self.assertEqual({'w-0': TENTATIVE, 'w-1': servers[1]}, self.shown())
        self.assertEqual([servers[2]], self.successors())

    def test_successor_below_a_subgroup_follows_the_first_to_go(self):
        member_set = base.member_set(1, max_surge=1)
        self.describe(**{'g/a': member_set, 'g/b': member_set})
        servers = [self.create('g') for _number in range(3)]

        self.delete(servers[1])

        self.assertEqual(
            {'g/a-0': servers[0], 'g/b-0': servers[2]}, self.shown()
        )

    def test_successor_of_another_kind_follows_only_in_its_set(self):
        self.describe(
            **{
                'g/a': base.member_set(1, max_surge=1),
                'g/b': base.member_set(1, request=base.BIG),
            }
        )
        servers = [
            self.create('g'),
            self.create('g', request=base.BIG),
            self.create('g'),
        ]

        self.delete(servers[1])

        self.assertEqual([servers[2]], self.successors())

    def test_successor_follows_where_its_host_has_to_be_the_same(self):
        for needs, is_follower in (
            ({base.SMALL: 1, base.BIG: 1}, True),
            ({base.SMALL: 1, base.BIG: 2}, False),
            ({base.SMALL: 1}, False),
            ({}, False),
        ):
            self.describe(
                **{
                    'g/a': base.member_set(1, max_surge=1),
                    'g/b': base.member_set(1, request=base.BIG),
                }
            )
            self.roster.needs = needs
            first = self.create('g', request=base.BIG)
            self.create('g'), self.create('g')

            self.delete(first)

            self.assertEqual(not is_follower, bool(self.successors()), needs)

    def test_member_with_a_follower_is_known(self):
        self.describe(w=base.member_set(2, max_surge=2), v=base.member_set())
        servers = [self.create(hint) for hint in ('w', 'w', 'v')]
        member, other, outside = map(self.member, servers)
        self.assertFalse(settling.has_follower(self.roster, member))

        self.create('w-0')

        self.assertTrue(settling.has_follower(self.roster, member))
        self.assertFalse(settling.has_follower(self.roster, other))
        self.create('w')
        self.assertTrue(settling.has_follower(self.roster, other))
        self.assertFalse(settling.has_follower(self.roster, outside))
