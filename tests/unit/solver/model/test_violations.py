# SPDX-License-Identifier: Apache-2.0
"""Violations of every policy type, worked out by hand on a small cloud.

==== ==== ====
host rack zone
==== ==== ====
a1   a    y
a2   a    y
b1   b    y
c1   c    z
n1        y
n2        y
x1
x2
==== ==== ====
"""

import fractions

import fixtures
from oslotest import base

from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from tests.unit.solver import builders

HOSTS = [
    builders.host('a1', 'a', 'y'),
    builders.host('a2', 'a', 'y', foreign=True),
    builders.host('b1', 'b', 'y'),
    builders.host('c1', 'c', 'z'),
    builders.host('n1', None, 'y'),
    builders.host('n2', None, 'y'),
    builders.host('x1'),
    builders.host('x2', foreign=True),
]


def violation(hosts, kind, scope, others=(), **options):
    """Return a policy's violation with web-0, web-1... on these hosts."""
    web = builders.group(
        [builders.policy(kind, scope, **options)],
        web={'class': 'one', 'count': 9, 'min_count': 0},
    )
    topology = builders.group(
        groups={'g': web}, db={'class': 'one', 'count': 9, 'min_count': 0}
    )
    problem = builders.problem(HOSTS, topology)
    (policy,) = problem.topology.policies
    placement = {f'g/web-{n}': host for n, host in enumerate(hosts)}
    placement.update({f'db-{n}': host for n, host in enumerate(others)})
    return violations.amount(problem, policy, placement)


def proximity_violation(first, second, scope):
    """Return the violation of proximity between members on these hosts."""
    topology = builders.group(
        relationships=[
            builders.tie('a', 'b', builders.policy('network-proximity', scope))
        ],
        a={'class': 'one', 'count': 9, 'min_count': 0},
        b={'class': 'one', 'count': 9, 'min_count': 0},
    )
    problem = builders.problem(HOSTS, topology)
    (policy,) = problem.topology.policies
    placement = {f'a-{n}': host for n, host in enumerate(first)}
    placement.update({f'b-{n}': host for n, host in enumerate(second)})
    return violations.amount(problem, policy, placement)


class TestManyPairs(base.BaseTestCase):
    def test_proximity_of_many_pairs_needs_few_look_ups(self):
        near = builders.policy('network-proximity', 'rack')
        topology = builders.group(
            [near],
            [builders.tie('a', 'b', near)],
            a={'class': 'one', 'count': 100},
            b={'class': 'one', 'count': 100},
        )
        hosts = [builders.host(f'h{n}', f'r{n}', 'z') for n in range(200)]
        problem = builders.problem(hosts, topology)
        placement = {
            member.path: f'h{n}'
            for n, member in enumerate(problem.topology.members)
        }
        within, between = problem.topology.policies
        domain = self.useFixture(
            fixtures.MockPatchObject(
                *(problems.Problem, 'domain'),
                autospec=True,
                side_effect=problems.Problem.domain,
            )
        ).mock
        for policy, pairs in ((within, 200 * 199 // 2), (between, 100**2)):
            domain.reset_mock()

            found = violations.amount(problem, policy, placement)

            self.assertEqual(2 * pairs, found)
            self.assertLess(domain.call_count, 200 * 20)


class TestAmount(base.BaseTestCase):
    def test_affinity_counts_the_domains_beyond_one(self):
        self.assertEqual(0, violation(['a1', 'a2'], 'affinity', 'rack'))
        self.assertEqual(1, violation(['a1', 'a2', 'b1'], 'affinity', 'rack'))
        self.assertEqual(2, violation(['a1', 'a2', 'b1'], 'affinity', 'host'))

    def test_hosts_without_a_domain_count_as_one_more_domain(self):
        self.assertEqual(0, violation(['n1', 'x1'], 'affinity', 'rack'))
        self.assertEqual(1, violation(['a1', 'n1', 'x1'], 'affinity', 'rack'))
        self.assertEqual(
            3, violation(['n1', 'n2', 'x1'], 'anti-affinity', 'rack')
        )
        self.assertEqual(
            0, violation(['a1', 'x1', 'n1'], 'spread', 'rack', min_domains=2)
        )
        self.assertEqual(
            1, violation(['a1', 'x1', 'n1'], 'survive', 'rack', min_members=2)
        )

    def test_anti_affinity_costs_more_with_each_excess_member(self):
        hosts = ['a1', 'a1', 'a2', 'b1', 'b1']
        self.assertEqual(3 + 1, violation(hosts, 'anti-affinity', 'rack'))
        self.assertEqual(
            1, violation(hosts, 'anti-affinity', 'rack', max_per_domain=2)
        )
        self.assertEqual(2, violation(hosts, 'anti-affinity', 'host'))
        self.assertEqual(10, violation(['a1'] * 5, 'anti-affinity', 'rack'))

    def test_spread_adds_missing_domains_and_excess_skew(self):
        hosts = ['a1', 'a1', 'a2', 'b1']
        self.assertEqual(1, violation(hosts, 'spread', 'rack'))
        self.assertEqual(2, violation(hosts, 'spread', 'rack', min_domains=3))
        self.assertEqual(0, violation(hosts, 'spread', 'rack', max_skew=2))
        self.assertEqual(2, violation(hosts, 'spread', 'rack', max_skew=0))

    def test_spread_of_few_members_needs_no_more_domains(self):
        self.assertEqual(0, violation(['a1'], 'spread', 'rack', min_domains=3))
        self.assertEqual(
            0, violation(['a1', 'b1'], 'spread', 'rack', min_domains=3)
        )

    def test_survive_assumes_the_loss_of_the_largest_domains(self):
        hosts = ['a1', 'a1', 'b1', 'c1']
        self.assertEqual(0, violation(hosts, 'survive', 'rack', min_members=2))
        self.assertEqual(1, violation(hosts, 'survive', 'rack', min_members=3))
        self.assertEqual(
            1, violation(hosts, 'survive', 'rack', failures=2, min_members=2)
        )
        self.assertEqual(
            4, violation(hosts, 'survive', 'rack', failures=9, min_members=4)
        )

    def test_exclusive_counts_shared_domains(self):
        self.assertEqual(1, violation(['a1', 'a1'], 'exclusive', 'rack'))
        self.assertEqual(0, violation(['a1'], 'exclusive', 'host'))
        self.assertEqual(1, violation(['a2'], 'exclusive', 'host'))
        self.assertEqual(
            2, violation(['a1', 'b1'], 'exclusive', 'rack', ['b1'])
        )
        self.assertEqual(0, violation(['b1'], 'exclusive', 'rack', ['c1']))

    def test_exclusive_counts_hosts_without_a_domain_as_one(self):
        # x2 has something foreign, and n1 is of the same nameless rack.
        self.assertEqual(1, violation(['n1', 'n2'], 'exclusive', 'rack'))
        self.assertEqual(0, violation(['c1'], 'exclusive', 'rack', ['x1']))

    def test_empty_group_breaks_only_survive(self):
        for kind in ('affinity', 'anti-affinity', 'exclusive', 'spread'):
            self.assertEqual(0, violation([], kind, 'host', ['a1']))
        self.assertEqual(0, violation([], 'network-proximity', 'host'))
        self.assertEqual(2, violation([], 'survive', 'host', min_members=2))

    def test_proximity_sums_the_distances_of_pairs(self):
        everywhere = ['a1', 'a2', 'b1', 'c1', 'n1', 'x1']
        self.assertEqual(
            0 + 1 + 2 + 3 + 2 + 3,
            proximity_violation(['a1'], everywhere, 'host'),
        )
        self.assertEqual(
            0 + 0 + 2 + 3 + 2 + 3,
            proximity_violation(['a1'], everywhere, 'rack'),
        )
        self.assertEqual(
            0 + 0 + 0 + 3 + 0 + 3,
            proximity_violation(['a1'], everywhere, 'zone'),
        )
        self.assertEqual(
            2 * 2 * 3, proximity_violation(['a1'] * 2, ['c1'] * 2, 'rack')
        )

    def test_hosts_without_a_domain_share_no_domain(self):
        self.assertEqual(2, proximity_violation(['n1'], ['n2'], 'rack'))
        self.assertEqual(3, proximity_violation(['x1'], ['x2'], 'rack'))
        self.assertEqual(0, proximity_violation(['x1'], ['x1'], 'rack'))

    def test_proximity_within_a_group_counts_every_pair_once(self):
        self.assertEqual(
            2 + 2 + 0 + 3 + 3 + 3,
            violation(['a1', 'b1', 'b1', 'c1'], 'network-proximity', 'rack'),
        )


class TestStrict(base.BaseTestCase):
    def _is_broken(self, kind, hosts, **options):
        topology = builders.group(
            [builders.policy(kind, 'rack', **options)], web=9
        )
        problem = builders.problem(HOSTS, topology)
        (policy,) = problem.topology.policies
        placement = {f'web-{n}': host for n, host in enumerate(hosts)}
        return violations.is_violated(problem, policy, placement)

    def test_strict_policy_is_met_without_a_violation(self):
        self.assertFalse(self._is_broken('affinity', ['a1', 'a2']))
        self.assertTrue(self._is_broken('affinity', ['a1', 'b1']))
        self.assertFalse(self._is_broken('network-proximity', ['a1', 'a2']))
        self.assertTrue(self._is_broken('network-proximity', ['a1', 'b1']))

    def test_a_host_without_a_domain_takes_no_covered_member(self):
        for kind, options in (
            ('affinity', {}),
            ('anti-affinity', {}),
            ('exclusive', {}),
            ('network-proximity', {}),
            ('spread', {}),
            ('survive', {'failures': 0, 'min_members': 1}),
        ):
            self.assertTrue(self._is_broken(kind, ['n1'], **options), kind)
            self.assertFalse(self._is_broken(kind, ['b1'], **options), kind)


class TestCosts(base.BaseTestCase):
    def test_weight_and_bandwidth_multiply_exactly(self):
        near = builders.policy(
            'network-proximity', 'rack', strict=False, weight=0.1
        )
        topology = builders.group(
            relationships=[builders.tie('a', 'b', near, bandwidth=0.1)],
            a=1,
            b=3,
        )
        problem = builders.problem(HOSTS, topology)
        placement = {'a-0': 'a1', 'b-0': 'c1', 'b-1': 'c1', 'b-2': 'c1'}
        self.assertEqual(
            [fractions.Fraction(9, 100)],
            list(violations.costs(problem, placement).values()),
        )

    def test_bandwidth_counts_for_proximity_alone(self):
        apart = builders.policy('affinity', 'rack', strict=False, weight=3)
        topology = builders.group(
            relationships=[builders.tie('a', 'b', apart, bandwidth=10)],
            a=1,
            b=1,
        )
        problem = builders.problem(HOSTS, topology)
        cost = violations.soft_cost(problem, {'a-0': 'a1', 'b-0': 'c1'})
        self.assertEqual(3, cost)

    def test_strict_policies_cost_nothing(self):
        topology = builders.group([builders.policy('affinity', 'rack')], a=2)
        problem = builders.problem(HOSTS, topology)
        self.assertEqual(
            {}, violations.costs(problem, {'a-0': 'a1', 'a-1': 'c1'})
        )


class TestFind(base.BaseTestCase):
    CLASSES = {
        'big': {
            'request': {'VCPU': 5},
            'hosts': ['a1', 'b1'],
            'alternatives': {'b1': [{'VCPU': 9}, {'VCPU': 4}]},
        }
    }

    def _violations(self, placement, alternative=None, pinned=None):
        topology = builders.group(
            [builders.policy('affinity', 'rack')],
            big={'class': 'big', 'count': 2, 'min_count': 1},
        )
        problem = builders.problem(
            HOSTS, topology, self.CLASSES, pinned=pinned or {}
        )
        plan = violations.Plan(placement, alternative or {})
        return [(f.code, f.at) for f in violations.find(problem, plan)]

    def test_feasible_plan_has_no_violation(self):
        self.assertEqual([], self._violations({'big-0': 'a1'}))

    def test_too_few_members_are_a_violation(self):
        self.assertEqual([('vrt.members', 'big')], self._violations({}))

    def test_overcommitted_host_is_a_violation(self):
        self.assertEqual(
            [('vrt.capacity', 'a1')],
            self._violations({'big-0': 'a1', 'big-1': 'a1'}),
        )

    def test_an_alternative_replaces_the_request(self):
        placement = {'big-0': 'b1', 'big-1': 'b1'}
        self.assertEqual(
            [], self._violations(placement, {'big-0': 1, 'big-1': 1})
        )
        self.assertEqual(
            [('vrt.capacity', 'b1')],
            self._violations(placement, {'big-0': 0, 'big-1': 1}),
        )

    def test_host_outside_the_class_is_a_violation(self):
        self.assertEqual(
            [('vrt.hosts', 'big-0')], self._violations({'big-0': 'a2'})
        )

    def test_broken_policy_is_a_violation(self):
        self.assertEqual(
            [('vrt.affinity', '')],
            self._violations({'big-0': 'a1', 'big-1': 'b1'}, {'big-1': 1}),
        )

    def test_pin_ignores_hosts_and_capacity(self):
        pinned = {'big-0': 'a2', 'big-1': 'a2'}
        self.assertEqual([], self._violations(pinned, pinned=pinned))

    def test_member_away_from_its_pin_is_a_violation(self):
        pinned = {'big-0': 'a2'}
        self.assertEqual(
            [('vrt.pinned', 'big-0')],
            self._violations({'big-0': 'a1'}, pinned=pinned),
        )
        self.assertEqual(
            [('vrt.pinned', 'big-0')],
            self._violations({'big-1': 'a1'}, pinned=pinned),
        )
