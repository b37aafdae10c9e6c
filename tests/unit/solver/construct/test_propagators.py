# SPDX-License-Identifier: Apache-2.0
"""Propagators of policies, and the hosts that each of them allows."""

import numpy as np
from oslotest import base

from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import kinds
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie


class PropagatorCase(base.BaseTestCase):
    def make(self, hosts, rule, members=4, **others):
        """The propagator of a policy on a group of equal members."""
        topology = group([rule], w=members)
        return self.first_propagator(hosts, topology, **others)

    def first_propagator(self, hosts, topology, **others):
        problem = builders.problem(hosts, topology, **others)
        matrices = capacity_matrices.CapacityMatrices(problem)
        return kinds.make(matrices, problem.topology.policies[0])

    def assign(self, propagator, *hosts):
        for host in hosts:
            propagator.count(propagator.matrices.number[host], 1)

    def unassign(self, propagator, *hosts):
        for host in hosts:
            propagator.count(propagator.matrices.number[host], -1)

    def allowed(self, propagator, *hosts, is_uncovered=False):
        """Return the allowed ids, of some hosts or of all hosts."""
        number = propagator.matrices.number
        some = np.array([number[host] for host in hosts or number])
        filter_hosts = (
            propagator.filter_uncovered
            if is_uncovered
            else propagator.filter_hosts
        )
        return [propagator.matrices.hosts[n] for n in filter_hosts(some)]


class TestPropagator(PropagatorCase):
    def test_propagator_covers_the_members_of_its_policy(self):
        below = group([policy('anti-affinity', 'host')], w=2, x=1)
        topology = group(groups={'g': below}, o=1)
        propagator = self.first_propagator(racks(a=(8,)), topology)
        self.assertEqual(3, propagator.final_count)
        self.assertEqual(['g/w-0', 'g/w-1', 'g/x-0'], self.covered(propagator))

    def test_propagator_of_a_relationship_covers_both_ends(self):
        ties = [tie('w', 'x', policy('affinity', 'rack'))]
        topology = group((), ties, w=2, x=1, o=1)
        propagator = self.first_propagator(racks(a=(8,)), topology)
        self.assertEqual(3, propagator.final_count)
        self.assertEqual(['w-0', 'w-1', 'x-0'], self.covered(propagator))

    def test_classes_are_in_order(self):
        # Sums of fractions over them have to be the same every time.
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in range(20)}
        members = {f'm{n}': {'class': f'c{n}'} for n in range(20)}
        topology = group([policy('affinity', 'rack')], **members)
        propagator = self.first_propagator(
            racks(a=(8,)), topology, classes=classes
        )
        self.assertEqual(
            propagator.matrices.eq_classes, list(propagator.eq_classes)
        )

    @staticmethod
    def covered(propagator):
        return sorted(
            path
            for eq_class in propagator.eq_classes
            for path in eq_class.members
        )

    def test_pinned_members_count_but_are_in_no_class(self):
        propagator = self.make(
            racks(a=(8, 8)),
            policy('anti-affinity', 'host', max_per_domain=2),
            pinned={'w-0': 'a1', 'w-1': 'a1'},
        )
        self.assertEqual(
            (4, 2), (propagator.final_count, propagator.counts.sum())
        )
        self.assertEqual(['a2'], self.allowed(propagator))

    def test_uncovered_members_do_not_matter_to_most_policies(self):
        for kind in ('affinity', 'anti-affinity', 'spread'):
            propagator = self.make(racks(a=(8,), b=(8,)), policy(kind, 'host'))
            propagator.count_uncovered(0, 1)
            self.assign(propagator, 'a1')
            self.assertEqual(
                ['a1', 'b1'], self.allowed(propagator, is_uncovered=True), kind
            )


class TestOneDomain(PropagatorCase):
    HOSTS = racks(a=(8, 8), b=(8,), c=(8,))

    def test_first_member_chooses_the_domain_of_the_others(self):
        for kind in ('affinity', 'network-proximity'):
            propagator = self.make(self.HOSTS, policy(kind, 'rack'))
            self.assertTrue(propagator.is_open)
            self.assertEqual(
                ['a1', 'a2', 'b1', 'c1'], self.allowed(propagator)
            )
            self.assign(propagator, 'a2')
            self.assertEqual(['a1', 'a2'], self.allowed(propagator))
            self.assertEqual([], self.allowed(propagator, 'b1', 'c1'))
            self.unassign(propagator, 'a2')
            self.assertEqual(['b1'], self.allowed(propagator, 'b1'))

    def test_fixed_domain_holds_before_any_assignment(self):
        propagator = self.make(self.HOSTS, policy('affinity', 'rack'))
        propagator.fix_domain(1)
        self.assertFalse(propagator.is_open)
        self.assertEqual(['b1'], self.allowed(propagator))
        propagator.unfix_domain()
        self.assertTrue(propagator.is_open)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))

    def test_pinned_member_fixes_the_domain(self):
        propagator = self.make(
            self.HOSTS, policy('affinity', 'rack'), pinned={'w-2': 'b1'}
        )
        self.assertFalse(propagator.is_open)
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_soft_policy_without_a_fitting_host_allows_all_hosts(self):
        propagator = self.make(self.HOSTS, policy('affinity', 'rack', False))
        self.assign(propagator, 'b1')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.assertEqual(['a1', 'c1'], self.allowed(propagator, 'a1', 'c1'))

    def test_pinned_member_does_not_fix_the_domain_if_soft(self):
        propagator = self.make(
            self.HOSTS,
            policy('affinity', 'rack', False),
            pinned={'w-2': 'b1'},
        )
        self.assertFalse(propagator.is_open)
        self.assertIsNone(propagator.fixed_domain)
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_soft_policy_may_use_several_domains(self):
        propagator = self.make(
            self.HOSTS,
            policy('affinity', 'rack', False),
            pinned={'w-0': 'a1', 'w-1': 'c1'},
        )
        self.assertFalse(propagator.is_open)
        self.assertIsNone(propagator.fixed_domain)
        self.assertEqual(['a1', 'a2', 'c1'], self.allowed(propagator))
        propagator = self.make(self.HOSTS, policy('affinity', 'rack', False))
        propagator.fix_domain(None)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))

    def test_hosts_without_a_domain_count_as_one(self):
        hosts = [*self.HOSTS, builders.host('n1'), builders.host('n2')]
        propagator = self.make(hosts, policy('affinity', 'rack', False))
        self.assign(propagator, 'n1')
        self.assertEqual(['n1', 'n2'], self.allowed(propagator))


class TestShortDistance(PropagatorCase):
    def hosts(self):
        return [
            *(builders.host(name, 'a', 'y') for name in ('a1', 'a2')),
            builders.host('b1', 'b', 'y'),
            builders.host('c1', 'c', 'z'),
        ]

    def test_soft_proximity_prefers_the_shortest_distance(self):
        rule = policy('network-proximity', 'rack', False)
        propagator = self.make(self.hosts(), rule)
        self.assign(propagator, 'a1')
        self.assertEqual(['a1', 'a2'], self.allowed(propagator))
        self.assertEqual(['b1'], self.allowed(propagator, 'b1', 'c1'))
        self.assertEqual(['c1'], self.allowed(propagator, 'c1'))
        self.unassign(propagator, 'a1')
        self.assertEqual(['b1', 'c1'], self.allowed(propagator, 'b1', 'c1'))

    def test_strict_proximity_allows_only_one_domain(self):
        propagator = self.make(
            self.hosts(), policy('network-proximity', 'rack')
        )
        self.assign(propagator, 'a1')
        self.assertEqual([], self.allowed(propagator, 'b1', 'c1'))


class TestCountLimit(PropagatorCase):
    HOSTS = racks(a=(8, 8), b=(8,))

    def test_full_domain_is_not_allowed(self):
        propagator = self.make(
            self.HOSTS, policy('anti-affinity', 'rack', max_per_domain=2)
        )
        self.assign(propagator, 'a1', 'b1')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))
        self.assign(propagator, 'a2')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.assign(propagator, 'b1')
        self.assertEqual([], self.allowed(propagator))
        self.unassign(propagator, 'a1')
        self.assertEqual(['a1', 'a2'], self.allowed(propagator))

    def test_hosts_without_a_domain_count_as_one(self):
        hosts = [builders.host('n1'), builders.host('n2'), *self.HOSTS]
        propagator = self.make(hosts, policy('anti-affinity', 'rack', False))
        self.assign(propagator, 'n2')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_soft_policy_prefers_the_emptiest_of_full_domains(self):
        soft = policy('anti-affinity', 'rack', False)
        propagator = self.make(self.HOSTS, soft, members=9)
        self.assign(propagator, 'a1', 'a2', 'b1')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.assign(propagator, 'b1')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_survive_limits_the_members_of_a_domain(self):
        for members, least, failures, most in (
            (5, 3, 1, 2),
            (5, 3, 2, 1),
            (9, 3, 2, 3),
            # A propagator does not refuse a policy that no plan can keep.
            (5, 5, 1, 1),
        ):
            propagator = self.make(
                self.HOSTS,
                policy(
                    'survive', 'rack', min_members=least, failures=failures
                ),
                members=members,
            )
            self.assign(propagator, *['a1'] * (most - 1))
            self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))
            self.assign(propagator, 'a2')
            self.assertEqual(['b1'], self.allowed(propagator))


class TestExclusiveDomains(PropagatorCase):
    def propagator(self, hosts=None, **others):
        below = group([policy('exclusive', 'rack')], w=3)
        return self.first_propagator(
            hosts or racks(a=(8, 8), b=(8,), c=(8,)),
            group(groups={'g': below}, o=2),
            **others,
        )

    def test_foreign_domain_is_not_allowed(self):
        hosts = racks(a=(8, 8), b=(8,), c=(8,))
        hosts[1]['foreign'] = True
        self.assertEqual(['b1', 'c1'], self.allowed(self.propagator(hosts)))

    def test_domain_of_uncovered_members_is_not_allowed(self):
        propagator = self.propagator()
        propagator.count_uncovered(propagator.matrices.number['b1'], 1)
        self.assertEqual(['a1', 'a2', 'c1'], self.allowed(propagator))
        propagator.count_uncovered(propagator.matrices.number['b1'], -1)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))

    def test_pinned_members_are_covered_or_uncovered(self):
        propagator = self.propagator(pinned={'o-0': 'b1'})
        self.assertEqual(['a1', 'a2', 'c1'], self.allowed(propagator))
        propagator = self.propagator(pinned={'g/w-1': 'b1'})
        self.assertEqual(['b1'], self.allowed(propagator))
        self.assertEqual(
            ['a1', 'a2', 'c1'], self.allowed(propagator, is_uncovered=True)
        )

    def test_used_domain_is_preferred(self):
        propagator = self.propagator()
        self.assign(propagator, 'a1')
        self.assertEqual(['a1', 'a2'], self.allowed(propagator))
        self.assertEqual(['b1', 'c1'], self.allowed(propagator, 'b1', 'c1'))

    def test_uncovered_members_stay_out_of_used_domains(self):
        propagator = self.propagator()
        self.assertEqual(
            ['a1', 'a2', 'b1', 'c1'],
            self.allowed(propagator, is_uncovered=True),
        )
        self.assign(propagator, 'a1')
        self.assertEqual(
            ['b1', 'c1'], self.allowed(propagator, is_uncovered=True)
        )


class TestBalancedCounts(PropagatorCase):
    HOSTS = racks(a=(8, 8), b=(8,), c=(8,))

    def even(self, capacity, members=4, number=0, pinned=None, **options):
        propagator = self.make(
            self.HOSTS,
            policy('spread', 'rack', **options),
            members,
            pinned=pinned or {},
        )
        self.assertTrue(propagator.is_open)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))
        propagator.choose_domains(np.array(capacity), number)
        self.assertFalse(propagator.is_open)
        return propagator

    def test_domain_with_little_capacity_is_not_chosen(self):
        propagator = self.even([3, 3, 0])
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_domain_takes_only_its_share(self):
        propagator = self.even([4, 4, 0])
        self.assign(propagator, 'a1', 'a2')
        # The other domain needs the two remaining members.
        self.assertEqual(['b1'], self.allowed(propagator))
        self.assign(propagator, 'b1', 'b1')
        self.assertEqual([], self.allowed(propagator))

    def test_domain_takes_more_up_to_the_skew(self):
        propagator = self.even([4, 4, 0], members=5)
        self.assign(propagator, 'a1', 'a2')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))
        self.assign(propagator, 'a2')
        self.assertEqual(['b1'], self.allowed(propagator))
        self.unassign(propagator, 'a1')
        self.assertEqual(['a1', 'a2', 'b1'], self.allowed(propagator))

    def test_other_iterations_choose_other_domains(self):
        chosen = {
            tuple(self.allowed(self.even([4, 4, 4], members=6, number=number)))
            for number in range(4)
        }
        self.assertEqual(
            {('a1', 'a2', 'b1'), ('a1', 'a2', 'b1', 'c1')}, chosen
        )

    def test_min_domains_are_used(self):
        propagator = self.even([9, 9, 9], members=6, min_domains=3, max_skew=0)
        self.assign(propagator, 'a1', 'a2')
        self.assertEqual(['b1', 'c1'], self.allowed(propagator))

    def test_too_few_domains_allow_no_host(self):
        propagator = self.even([9, 9, 0], members=6, min_domains=3)
        self.assertEqual([], self.allowed(propagator))

    def test_one_domain_is_enough_for_one_member(self):
        propagator = self.even([0, 1, 0], members=1, min_domains=3)
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_domains_of_pinned_members_are_chosen(self):
        propagator = self.even([0, 4, 4], pinned={'w-0': 'c1', 'w-1': 'c1'})
        self.assertEqual(['b1'], self.allowed(propagator))

    def test_emptiest_domains_are_preferred_without_a_choice(self):
        propagator = self.even([9, 1, 0], members=9, max_skew=0)
        self.assertIsNone(propagator.chosen)
        self.assign(propagator, 'a1')
        self.assertEqual(['b1', 'c1'], self.allowed(propagator))
        self.assertEqual(['a1'], self.allowed(propagator, 'a1'))

    def test_choice_can_be_undone(self):
        propagator = self.even([3, 3, 0])
        propagator.unfix_domain()
        self.assertTrue(propagator.is_open)
        self.assertEqual(['a1', 'a2', 'b1', 'c1'], self.allowed(propagator))
