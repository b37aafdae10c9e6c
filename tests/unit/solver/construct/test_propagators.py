# SPDX-License-Identifier: Apache-2.0
"""Does each propagator allow the hosts that keep its policy?"""

import numpy as np
from oslotest import base

from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import propagators
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie


class GuardCase(base.BaseTestCase):
    def post(self, hosts, rule, members=4, **others):
        """The propagator of a policy on a group of equal members."""
        topology = group([rule], w=members)
        return self.first_guard(hosts, topology, **others)

    def first_guard(self, hosts, topology, **others):
        problem = builders.problem(hosts, topology, **others)
        matrices = capacity_matrices.CapacityMatrices(problem)
        return propagators.make(matrices, problem.topology.policies[0])

    def seat(self, propagator, *hosts):
        for host in hosts:
            propagator.count(propagator.matrices.number[host], 1)

    def lift(self, propagator, *hosts):
        for host in hosts:
            propagator.count(propagator.matrices.number[host], -1)

    def allowed(self, propagator, *hosts, stranger=False):
        """Ids of those of some hosts, or of all, that it allows."""
        number = propagator.matrices.number
        some = np.array([number[host] for host in hosts or number])
        narrow = propagator.filter_uncovered if stranger else propagator.narrow
        return [propagator.matrices.hosts[n] for n in narrow(some)]


class TestGuard(GuardCase):
    def test_it_watches_the_members_of_its_policy(self):
        below = group([policy('anti-affinity', 'host')], w=2, x=1)
        topology = group(groups={'g': below}, o=1)
        propagator = self.first_guard(racks(a=(8,)), topology)
        self.assertEqual(3, propagator.size)
        self.assertEqual(['g/w-0', 'g/w-1', 'g/x-0'], self.watched(propagator))

    def test_a_relationship_is_about_both_of_its_ends(self):
        ties = [tie('w', 'x', policy('affinity', 'rack'))]
        topology = group((), ties, w=2, x=1, o=1)
        propagator = self.first_guard(racks(a=(8,)), topology)
        self.assertEqual(3, propagator.size)
        self.assertEqual(['w-0', 'w-1', 'x-0'], self.watched(propagator))

    def test_its_units_are_in_order(self):
        # Sums of fractions over them have to be the same every time.
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in range(20)}
        members = {f'm{n}': {'class': f'c{n}'} for n in range(20)}
        topology = group([policy('affinity', 'rack')], **members)
        propagator = self.first_guard(racks(a=(8,)), topology, classes=classes)
        self.assertEqual(propagator.matrices.units, list(propagator.units))

    @staticmethod
    def watched(propagator):
        return sorted(
            path for unit in propagator.units for path in unit.members
        )

    def test_pinned_members_count_and_sit_in_no_unit(self):
        propagator = self.post(
            racks(a=(8, 8)),
            policy('anti-affinity', 'host', max_per_domain=2),
            pinned={'w-0': 'a1', 'w-1': 'a1'},
        )
        self.assertEqual((4, 2), (propagator.size, propagator.counts.sum()))
        self.assertEqual(['a2'], self.allowed(propagator))

    def test_strangers_do_not_matter_to_most(self):
        for kind in ('affinity', 'anti-affinity', 'spread'):
            propagator = self.post(racks(a=(8,), b=(8,)), policy(kind, 'host'))
            propagator.count_uncovered(0, 1)
            self.seat(propagator, 'a1')
            self.assertEqual(
                ['a1', 'b1'], self.allowed(propagator, stranger=True), kind
            )


class TestTogether(GuardCase):
    HOSTS = racks(a=(8, 8), b=(8,), c=(8,))

    def test_the_first_may_go_anywhere_the_others_follow(self):
        for kind in ('affinity', 'network-proximity'):
            propagator = self.post(self.HOSTS, policy(kind, 'rack'))
            self.assertTrue(propagator.is_open)
            self.assertEqual(
                ['a1', 'a2', 'b1', 'c1'], self.allowed(propagator)
            )
            self.seat(propagator, 'a2')
            self.assertEqual(['a1', 'a2'], self.allowed(propagator))
            self.assertEqual([], self.allowed(propagator, 'b1', 'c1'))
            self.lift(propagator, 'a2')
            self.assertEqual(['b1'], self.allowed(propagator, 'b1'))

    def test_a_decision_holds_before_anybody_sits(self):
        propagator = self.post(self.HOSTS, policy('affinity', 'rack'))
        propagator.settle(1)
        self.assertFalse(propagator.is_open)
        self.assertEqual(['b1'], self.allowed(propagator))
        propagator.forget()
        self.assertTrue(propagator.is_open)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))

    def test_a_pinned_member_decides(self):
        propagator = self.post(
            self.HOSTS, policy('affinity', 'rack'), pinned={'w-2': 'b1'}
        )
        self.assertFalse(propagator.is_open)
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_where_none_of_them_fits_a_soft_one_allows_all(self):
        propagator = self.post(self.HOSTS, policy('affinity', 'rack', False))
        self.seat(propagator, 'b1')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.assertEqual(['a1', 'c1'], self.allowed(propagator, 'a1', 'c1'))

    def test_a_pinned_member_does_not_decide_for_a_soft_one(self):
        propagator = self.post(
            self.HOSTS,
            policy('affinity', 'rack', False),
            pinned={'w-2': 'b1'},
        )
        self.assertFalse(propagator.is_open)
        self.assertIsNone(propagator.home)
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_a_soft_one_may_do_with_several_domains(self):
        propagator = self.post(
            self.HOSTS,
            policy('affinity', 'rack', False),
            pinned={'w-0': 'a1', 'w-1': 'c1'},
        )
        self.assertFalse(propagator.is_open)
        self.assertIsNone(propagator.home)
        self.assertEqual(['a1', 'a2', 'c1'], self.allowed(propagator))
        propagator = self.post(self.HOSTS, policy('affinity', 'rack', False))
        propagator.settle(None)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))

    def test_hosts_without_a_domain_are_together_one(self):
        hosts = [*self.HOSTS, builders.host('n1'), builders.host('n2')]
        propagator = self.post(hosts, policy('affinity', 'rack', False))
        self.seat(propagator, 'n1')
        self.assertEqual(['n1', 'n2'], self.allowed(propagator))


class TestNear(GuardCase):
    def hosts(self):
        return [
            *(builders.host(name, 'a', 'y') for name in ('a1', 'a2')),
            builders.host('b1', 'b', 'y'),
            builders.host('c1', 'c', 'z'),
        ]

    def test_soft_proximity_goes_the_shortest_way(self):
        rule = policy('network-proximity', 'rack', False)
        propagator = self.post(self.hosts(), rule)
        self.seat(propagator, 'a1')
        self.assertEqual(['a1', 'a2'], self.allowed(propagator))
        self.assertEqual(['b1'], self.allowed(propagator, 'b1', 'c1'))
        self.assertEqual(['c1'], self.allowed(propagator, 'c1'))
        self.lift(propagator, 'a1')
        self.assertEqual(['b1', 'c1'], self.allowed(propagator, 'b1', 'c1'))

    def test_strict_proximity_goes_no_longer_way(self):
        propagator = self.post(
            self.hosts(), policy('network-proximity', 'rack')
        )
        self.seat(propagator, 'a1')
        self.assertEqual([], self.allowed(propagator, 'b1', 'c1'))


class TestApart(GuardCase):
    HOSTS = racks(a=(8, 8), b=(8,))

    def test_no_more_than_so_many_in_a_domain(self):
        propagator = self.post(
            self.HOSTS, policy('anti-affinity', 'rack', max_per_domain=2)
        )
        self.seat(propagator, 'a1', 'b1')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))
        self.seat(propagator, 'a2')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.seat(propagator, 'b1')
        self.assertEqual([], self.allowed(propagator))
        self.lift(propagator, 'a1')
        self.assertEqual(['a1', 'a2'], self.allowed(propagator))

    def test_hosts_without_a_domain_are_together_one(self):
        hosts = [builders.host('n1'), builders.host('n2'), *self.HOSTS]
        propagator = self.post(hosts, policy('anti-affinity', 'rack', False))
        self.seat(propagator, 'n2')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_where_all_are_full_a_soft_one_likes_the_emptiest(self):
        soft = policy('anti-affinity', 'rack', False)
        propagator = self.post(self.HOSTS, soft, members=9)
        self.seat(propagator, 'a1', 'a2', 'b1')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.seat(propagator, 'b1')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_enough_survive_what_fails(self):
        for members, least, failures, most in (
            (5, 3, 1, 2),
            (5, 3, 2, 1),
            (9, 3, 2, 3),
            # A propagator does not refuse a policy that no plan can keep.
            (5, 5, 1, 1),
        ):
            propagator = self.post(
                self.HOSTS,
                policy(
                    'survive', 'rack', min_members=least, failures=failures
                ),
                members=members,
            )
            self.seat(propagator, *['a1'] * (most - 1))
            self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))
            self.seat(propagator, 'a2')
            self.assertEqual(['b1'], self.allowed(propagator))


class TestAlone(GuardCase):
    def propagator(self, hosts=None, **others):
        below = group([policy('exclusive', 'rack')], w=3)
        return self.first_guard(
            hosts or racks(a=(8, 8), b=(8,), c=(8,)),
            group(groups={'g': below}, o=2),
            **others,
        )

    def test_domains_of_others_are_not_allowed(self):
        hosts = racks(a=(8, 8), b=(8,), c=(8,))
        hosts[1]['foreign'] = True
        self.assertEqual(['b1', 'c1'], self.allowed(self.propagator(hosts)))

    def test_nor_are_those_of_other_members(self):
        propagator = self.propagator()
        propagator.count_uncovered(propagator.matrices.number['b1'], 1)
        self.assertEqual(['a1', 'a2', 'c1'], self.allowed(propagator))
        propagator.count_uncovered(propagator.matrices.number['b1'], -1)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))

    def test_pinned_members_are_others_or_its_own(self):
        propagator = self.propagator(pinned={'o-0': 'b1'})
        self.assertEqual(['a1', 'a2', 'c1'], self.allowed(propagator))
        propagator = self.propagator(pinned={'g/w-1': 'b1'})
        self.assertEqual(['b1'], self.allowed(propagator))
        self.assertEqual(
            ['a1', 'a2', 'c1'], self.allowed(propagator, stranger=True)
        )

    def test_it_takes_no_more_domains_than_it_needs(self):
        propagator = self.propagator()
        self.seat(propagator, 'a1')
        self.assertEqual(['a1', 'a2'], self.allowed(propagator))
        self.assertEqual(['b1', 'c1'], self.allowed(propagator, 'b1', 'c1'))

    def test_others_keep_out_of_what_it_uses(self):
        propagator = self.propagator()
        self.assertEqual(
            ['a1', 'a2', 'b1', 'c1'], self.allowed(propagator, stranger=True)
        )
        self.seat(propagator, 'a1')
        self.assertEqual(['b1', 'c1'], self.allowed(propagator, stranger=True))


class TestEven(GuardCase):
    HOSTS = racks(a=(8, 8), b=(8,), c=(8,))

    def even(self, room, members=4, turn=0, pinned=None, **options):
        propagator = self.post(
            self.HOSTS,
            policy('spread', 'rack', **options),
            members,
            pinned=pinned or {},
        )
        self.assertTrue(propagator.is_open)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))
        propagator.choose(np.array(room), turn)
        self.assertFalse(propagator.is_open)
        return propagator

    def test_domains_with_little_room_are_left_alone(self):
        propagator = self.even([3, 3, 0])
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_a_domain_takes_its_share(self):
        propagator = self.even([4, 4, 0])
        self.seat(propagator, 'a1', 'a2')
        # The two to come are needed in the other one.
        self.assertEqual(['b1'], self.allowed(propagator))
        self.seat(propagator, 'b1', 'b1')
        self.assertEqual([], self.allowed(propagator))

    def test_some_take_more_as_far_as_the_skew_goes(self):
        propagator = self.even([4, 4, 0], members=5)
        self.seat(propagator, 'a1', 'a2')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))
        self.seat(propagator, 'a2')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.lift(propagator, 'a1')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_other_turns_choose_other_domains(self):
        chosen = {
            tuple(self.allowed(self.even([4, 4, 4], members=6, turn=turn)))
            for turn in range(4)
        }
        self.assertEqual(
            {('a1', 'a2', 'b1'), ('a1', 'a2', 'b1', 'c1')}, chosen
        )

    def test_as_many_domains_as_are_asked_for(self):
        propagator = self.even([9, 9, 9], members=6, min_domains=3, max_skew=0)
        self.seat(propagator, 'a1', 'a2')
        self.assertEqual(['b1', 'c1'], self.allowed(propagator))

    def test_too_few_domains_allow_nothing(self):
        propagator = self.even([9, 9, 0], members=6, min_domains=3)
        self.assertEqual([], self.allowed(propagator))

    def test_one_domain_is_enough_for_one_member(self):
        propagator = self.even([0, 1, 0], members=1, min_domains=3)
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_pinned_members_have_chosen_already(self):
        propagator = self.even([0, 4, 4], pinned={'w-0': 'c1', 'w-1': 'c1'})
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_where_nothing_is_sure_to_work_it_keeps_level(self):
        propagator = self.even([9, 1, 0], members=9, max_skew=0)
        self.assertIsNone(propagator.chosen)
        self.seat(propagator, 'a1')
        self.assertEqual(['b1', 'c1'], self.allowed(propagator))
        self.assertEqual(['a1'], self.allowed(propagator, 'a1'))

    def test_a_decision_can_be_taken_back(self):
        propagator = self.even([3, 3, 0])
        propagator.forget()
        self.assertTrue(propagator.is_open)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))
