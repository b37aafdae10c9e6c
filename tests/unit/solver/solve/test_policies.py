# SPDX-License-Identifier: Apache-2.0
"""Solved problems of every policy type, strict and soft."""

from oslotest import base

from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie


class PolicyTestCase(base.BaseTestCase):
    def assertPlaced(self, expected, answer, soft=0):
        self.assertEqual('placed', answer.status)
        self.assertEqual(expected, builders.by_host(answer))
        self.assertEqual(soft, answer.cost['soft'])
        self.assertEqual(soft, answer.cost['bound'])

    def assertRefused(self, answer, *codes):
        self.assertEqual('refused', answer.status)
        self.assertEqual({}, answer.placement)
        self.assertEqual(
            sorted(codes), sorted(entry['code'] for entry in answer.conflict)
        )


class TestAffinity(PolicyTestCase):
    def test_strict_affinity_keeps_to_one_domain(self):
        answer = builders.solve(
            racks(a=(2,), b=(2, 1)), group([policy('affinity', 'rack')], w=3)
        )
        self.assertPlaced({'b1': ['w-0', 'w-1'], 'b2': ['w-2']}, answer)

    def test_strict_affinity_without_a_large_domain_is_refused(self):
        answer = builders.solve(
            racks(a=(2,), b=(2,)), group([policy('affinity', 'rack')], w=3)
        )
        self.assertRefused(answer, 'vrt.affinity', 'vrt.members')

    def test_soft_affinity_costs_each_further_domain(self):
        answer = builders.solve(
            racks(a=(1,), b=(2,), c=(3,)),
            group([policy('affinity', 'rack', False, weight=2)], w=4),
        )
        self.assertPlaced(
            {'a1': ['w-0'], 'c1': ['w-1', 'w-2', 'w-3']}, answer, 2
        )


class TestAntiAffinity(PolicyTestCase):
    def test_strict_anti_affinity_limits_each_domain(self):
        answer = builders.solve(
            racks(a=(8, 8), b=(8,)),
            group([policy('anti-affinity', 'rack', max_per_domain=2)], w=4),
        )
        self.assertPlaced({'a1': ['w-0', 'w-1'], 'b1': ['w-2', 'w-3']}, answer)

    def test_strict_anti_affinity_over_too_few_domains_is_refused(self):
        answer = builders.solve(
            racks(a=(8, 8), b=(8,)),
            group([policy('anti-affinity', 'rack')], w=3),
        )
        self.assertRefused(answer, 'vrt.anti-affinity', 'vrt.members')

    def test_soft_anti_affinity_costs_the_excess(self):
        answer = builders.solve(
            racks(a=(8,), b=(1,)),
            group([policy('anti-affinity', 'rack', False)], w=4),
        )
        self.assertPlaced(
            {'a1': ['w-0', 'w-1', 'w-2'], 'b1': ['w-3']}, answer, 3
        )

    def test_soft_anti_affinity_balances_the_domains(self):
        """The scores of the operator would rather fill one domain."""
        for count, least in ((4, 2), (7, 9)):
            answer = builders.solve(
                racks(a=(9,), b=(9,)),
                group([policy('anti-affinity', 'rack', False)], w=count),
                {'one': {'request': {'VCPU': 1}, 'scores': {'a1': 1000}}},
            )
            self.assertPlaced(
                {
                    'a1': [f'w-{n}' for n in range((count + 1) // 2)],
                    'b1': [f'w-{n}' for n in range((count + 1) // 2, count)],
                },
                answer,
                least,
            )


class TestSpread(PolicyTestCase):
    def test_strict_spread_balances_the_used_domains(self):
        answer = builders.solve(
            racks(a=(8,), b=(8,), c=(1,)),
            group([policy('spread', 'rack', min_domains=3)], w=4),
        )
        self.assertPlaced(
            {'a1': ['w-0', 'w-1'], 'b1': ['w-2'], 'c1': ['w-3']}, answer
        )

    def test_strict_spread_ignores_unused_domains(self):
        answer = builders.solve(
            racks(a=(8,), b=(8,), c=(1,)),
            group([policy('spread', 'rack')], w=8),
        )
        # With c there would be at most 1 + 2 + 2.
        self.assertPlaced(
            {
                'a1': ['w-0', 'w-1', 'w-2', 'w-3'],
                'b1': ['w-4', 'w-5', 'w-6', 'w-7'],
            },
            answer,
        )

    def test_strict_spread_over_too_few_domains_is_refused(self):
        answer = builders.solve(
            racks(a=(8,), b=(8,)),
            group([policy('spread', 'rack', min_domains=3)], w=3),
        )
        self.assertRefused(answer, 'vrt.spread', 'vrt.members')

    def test_spread_of_few_placed_members_needs_fewer_domains(self):
        answer = builders.solve(
            racks(a=(8,)),
            group(
                [policy('spread', 'rack')],
                w={'class': 'one', 'count': 3, 'min_count': 0},
            ),
        )
        self.assertPlaced({'a1': ['w-0']}, answer)
        self.assertEqual(['w-1', 'w-2'], answer.unplaced)

    def test_soft_spread_weighs_missing_domains_and_skew(self):
        answer = builders.solve(
            racks(a=(8,), b=(1,)),
            group([policy('spread', 'rack', False, min_domains=3)], w=4),
        )
        # One domain alone lacks two; both lack one and are 3 : 1.
        self.assertPlaced({'a1': ['w-0', 'w-1', 'w-2', 'w-3']}, answer, 2)


class TestExclusive(PolicyTestCase):
    def test_strict_exclusive_avoids_foreign_domains(self):
        hosts = [
            builders.host('a1', 'a', 'z'),
            builders.host('a2', 'a', 'z', foreign=True),
            builders.host('b1', 'b', 'z'),
        ]
        answer = builders.solve(
            hosts, group([policy('exclusive', 'rack')], w=2)
        )
        self.assertPlaced({'b1': ['w-0', 'w-1']}, answer)

    def test_strict_exclusive_keeps_other_members_out(self):
        answer = builders.solve(
            racks(a=(8, 8), b=(8,)),
            group(
                groups={'g': group([policy('exclusive', 'rack')], w=1)}, o=1
            ),
        )
        self.assertPlaced({'a1': ['g/w-0'], 'b1': ['o-0']}, answer)

    def test_strict_exclusive_with_shared_domains_is_refused(self):
        answer = builders.solve(
            racks(a=(8, 8)),
            group(
                groups={'g': group([policy('exclusive', 'rack')], w=1)}, o=1
            ),
        )
        self.assertRefused(
            answer, 'vrt.exclusive', 'vrt.members', 'vrt.members'
        )

    def test_soft_exclusive_costs_each_shared_domain(self):
        hosts = [builders.host('a1', 'a', 'z', foreign=True, cpu=2)]
        hosts.append(builders.host('b1', 'b', 'z', foreign=True, cpu=1))
        answer = builders.solve(
            hosts, group([policy('exclusive', 'rack', False, weight=1.5)], w=2)
        )
        self.assertPlaced({'a1': ['w-0', 'w-1']}, answer, 1.5)


class TestNetworkProximity(PolicyTestCase):
    def test_strict_proximity_keeps_pairs_in_one_domain(self):
        near = tie('db', 'web', policy('network-proximity', 'rack'))
        answer = builders.solve(
            racks(a=(2, 1), b=(2, 2)), group([], [near], db=1, web=3)
        )
        self.assertPlaced(
            {'b1': ['db-0', 'web-0'], 'b2': ['web-1', 'web-2']}, answer
        )

    def test_strict_proximity_without_pairs_needs_nothing(self):
        near = tie('db', 'web', policy('network-proximity', 'host'))
        answer = builders.solve(
            racks(a=(1, 1)),
            group(
                [],
                [near],
                db={'class': 'one', 'min_count': 0},
                web={'class': 'one', 'count': 2, 'min_count': 0},
            ),
        )
        self.assertPlaced({'a1': ['web-0'], 'a2': ['web-1']}, answer)
        self.assertEqual(['db'], answer.unplaced)

    def test_strict_proximity_on_a_group_covers_all_members(self):
        answer = builders.solve(
            racks(a=(2,), b=(2, 1)),
            group([policy('network-proximity', 'rack')], w=3),
        )
        self.assertPlaced({'b1': ['w-0', 'w-1'], 'b2': ['w-2']}, answer)

    def test_soft_proximity_costs_bandwidth_times_distance(self):
        near = tie(
            'db',
            'web',
            policy('network-proximity', 'rack', False, weight=2),
            bandwidth=10,
        )
        answer = builders.solve(
            racks(a=(1, 1), b=(2,)), group([], [near], db=1, web=3)
        )
        # Two of three pairs have to leave the rack: 2 x 10 x distance 2 x 2.
        self.assertPlaced(
            {'a1': ['db-0'], 'a2': ['web-0'], 'b1': ['web-1', 'web-2']},
            answer,
            80,
        )

    def test_soft_proximity_supports_levels_that_cross(self):
        hosts = [
            builders.host('h1', 'a', 'y', cpu=1),
            builders.host('h2', 'a', 'z', cpu=1),
            builders.host('h3', 'b', 'y', cpu=1),
            builders.host('h4', 'b', 'z', cpu=1),
        ]
        answer = builders.solve(
            hosts, group([policy('network-proximity', 'host', False)], w=3)
        )
        # h1-h2 are a rack apart, h1-h3 a zone, h2-h3 share nothing.
        self.assertPlaced(
            {'h1': ['w-0'], 'h2': ['w-1'], 'h3': ['w-2']}, answer, 1 + 2 + 3
        )

    def test_soft_proximity_prefers_a_shared_rack_to_a_zone(self):
        hosts = [
            builders.host('h1', 'a', 'y', cpu=1),
            builders.host('h2', 'b', 'y', cpu=1),
            builders.host('h3', 'a', 'z', cpu=1),
        ]
        near = tie('db', 'web', policy('network-proximity', 'host', False))
        answer = builders.solve(hosts, group([], [near], db=1, web=1))
        self.assertPlaced({'h1': ['db-0'], 'h3': ['web-0']}, answer, 1)


class TestSurvive(PolicyTestCase):
    def test_strict_survive_keeps_enough_members(self):
        answer = builders.solve(
            racks(a=(8,), b=(8,)),
            group([policy('survive', 'rack', min_members=2)], w=5),
        )
        self.assertPlaced(
            {'a1': ['w-0', 'w-1', 'w-2'], 'b1': ['w-3', 'w-4']}, answer
        )

    def test_strict_survive_of_two_failures_needs_three_domains(self):
        answer = builders.solve(
            racks(a=(8,), b=(8,), c=(8,)),
            group([policy('survive', 'rack', failures=2, min_members=1)], w=3),
        )
        self.assertPlaced(
            {'a1': ['w-0'], 'b1': ['w-1'], 'c1': ['w-2']}, answer
        )

    def test_strict_survive_without_a_placement_is_refused(self):
        answer = builders.solve(
            racks(a=(8,), b=(8,)),
            group([policy('survive', 'rack', min_members=3)], w=5),
        )
        # Whatever the capacity, five members in two racks lose three.
        self.assertRefused(answer, 'vrt.survive')
        self.assertTrue(answer.minimal)

    def test_soft_survive_costs_each_missing_member(self):
        answer = builders.solve(
            racks(a=(8,), b=(1,)),
            group([policy('survive', 'rack', False, min_members=3)], w=4),
        )
        self.assertPlaced(
            {'a1': ['w-0', 'w-1', 'w-2'], 'b1': ['w-3']}, answer, 2
        )


class TestHostsWithoutDomain(PolicyTestCase):
    def test_strict_policy_excludes_hosts_without_a_domain(self):
        hosts = [builders.host('a1'), builders.host('b1', 'b', 'z')]
        for kind, options in (
            ('affinity', {}),
            ('anti-affinity', {}),
            ('exclusive', {}),
            ('network-proximity', {}),
            ('spread', {}),
            ('survive', {'failures': 0, 'min_members': 1}),
        ):
            answer = builders.solve(
                hosts, group([policy(kind, 'rack', **options)], w=1)
            )
            self.assertPlaced({'b1': ['w-0']}, answer)

    def test_soft_policy_counts_hosts_without_a_domain_as_one(self):
        hosts = [
            builders.host('a1', cpu=1),
            builders.host('a2', cpu=1),
            builders.host('b1', 'b', 'z', cpu=1),
        ]
        answer = builders.solve(
            hosts, group([policy('affinity', 'rack', False)], w=2)
        )
        self.assertPlaced({'a1': ['w-0'], 'a2': ['w-1']}, answer)
