# SPDX-License-Identifier: Apache-2.0
"""The oracle against cases worked out by hand, so that it can be trusted."""

import unittest

from tests.property import definitions
from tests.property import oracle

LEVELS = ['host', 'rack', 'zone']
# Racks cross zones: r2 stands in both.  ``lone`` is in no rack and no zone.
DOMAINS = {
    'a': {'rack': 'r1', 'zone': 'z1'},
    'b': {'rack': 'r1', 'zone': 'z1'},
    'c': {'rack': 'r2', 'zone': 'z1'},
    'd': {'rack': 'r2', 'zone': 'z2'},
    'e': {'rack': 'r3', 'zone': 'z2'},
    'lone': {},
}


def build(free, topology, foreign=(), pinned=(), **class_fields):
    """A problem of one class asking for one VCPU.

    :param free: VCPUs free by host, of the hosts named in ``DOMAINS``
    :param foreign: the hosts that hold something foreign
    """
    return {
        'levels': LEVELS,
        'hosts': [
            {
                'id': host,
                'domains': DOMAINS[host],
                'free': {'VCPU': amount},
                'foreign': host in foreign,
            }
            for host, amount in free.items()
        ],
        'classes': {'c': {'request': {'VCPU': 1}, **class_fields}},
        'topology': topology,
        'pinned': dict(pinned),
    }


def group(count, *policies, **spec):
    members = {'m': {'class': 'c', 'count': count, **spec}}
    return {'members': members, 'policies': list(policies)}


def policy(type_, scope='rack', **fields):
    return {'type': type_, 'scope': scope, **fields}


def soft(type_, scope='rack', **fields):
    return policy(type_, scope, strict=False, **fields)


def link(bandwidth, *policies):
    """Two members joined by a relationship."""
    relation = {
        'name': 'link',
        'between': ['x', 'y'],
        'bandwidth': bandwidth,
        'policies': list(policies),
    }
    members = {name: {'class': 'c'} for name in 'xy'}
    return {'members': members, 'relationships': [relation]}


def cost(problem, **placement):
    """Soft cost of a placement of the members ``m-0``, ``m-1``... or x, y."""
    cloud = definitions.Cloud(problem)
    plan = {path.replace('_', '-'): host for path, host in placement.items()}
    return sum(
        definitions.cost(cloud, rule, plan)
        for rule in definitions.rules(problem)
    )


class OracleCase(unittest.TestCase):
    def assert_refused(self, problem):
        self.assertIsNone(oracle.solve(problem))

    def assert_plan(self, problem, hosts, soft=0, preference=0):
        """Assert that the only optimum has these hosts, in path order."""
        best = oracle.solve(problem)
        plans = [list(plan.values()) for plan in best.smallest.values()]
        self.assertEqual([hosts.split()], plans)
        self.assertEqual((soft, preference), (best.soft, best.preference))


class CapacityTest(OracleCase):
    def test_plan_that_a_greedy_order_misses_is_found(self):
        # 6 + 6 must share the host with 12 free, whatever comes first.
        problem = build({'a': 10, 'b': 12}, {})
        problem['classes'] = {
            'big': {'request': {'VCPU': 8}},
            'mid': {'request': {'VCPU': 6}},
        }
        problem['topology']['members'] = {
            'm': {'class': 'mid', 'count': 2},
            'big': {'class': 'big'},
        }
        self.assert_plan(problem, 'a b b')

    def test_missing_resource_counts_as_zero(self):
        problem = build({'a': 9}, group(1), request={'VCPU': 1, 'DISK_GB': 1})
        self.assert_refused(problem)

    def test_class_without_hosts_is_refused(self):
        self.assert_refused(build({'a': 9}, group(1), hosts=[]))

    def test_more_members_outweigh_the_cost(self):
        spread = soft('spread', weight=9)
        problem = build({'a': 3, 'c': 0}, group(5, spread, min_count=1))
        best = oracle.solve(problem)
        self.assertEqual((3, 9), (best.placed, best.soft))

    def test_missed_min_count_is_refused(self):
        self.assert_refused(build({'a': 3}, group(5, min_count=4)))

    def test_alternatives_replace_the_request(self):
        options = {'a': [{'VCPU': 9}, {'GPU': 1}], 'b': [{'VCPU': 9}]}
        problem = build({'a': 5, 'b': 5}, group(1), alternatives=options)
        self.assert_refused(problem)
        problem['hosts'][0]['free']['GPU'] = 1
        self.assert_plan(problem, 'a')

    def test_pin_ignores_hosts_and_request(self):
        problem = build(
            {'a': 0, 'b': 1}, group(2), pinned={'m-0': 'a'}, hosts=['b']
        )
        self.assert_plan(problem, 'a b')

    def test_pin_counts_for_min_count(self):
        topology = group(3, min_count=1)
        problem = build({'a': 0}, topology, pinned={'m-2': 'a'})
        best = oracle.solve(problem)
        self.assertEqual({frozenset(['m-2']): {'m-2': 'a'}}, best.smallest)

    def test_single_optional_member_may_stay_unplaced(self):
        spec = {'class': 'c', 'min_count': 0}
        problem = build({'a': 0}, {'members': {'m': spec}})
        self.assertEqual(0, oracle.solve(problem).placed)


class OrderTest(OracleCase):
    def test_best_score_wins(self):
        scores = {'b': 2, 'c': -1}
        problem = build({'a': 1, 'b': 1, 'c': 1}, group(2), scores=scores)
        self.assert_plan(problem, 'a b', preference=2)

    def test_smallest_vector_wins(self):
        problem = build({'c': 1, 'b': 2, 'a': 1}, group(3))
        self.assert_plan(problem, 'a b b')

    def test_counted_members_come_in_natural_order(self):
        topology = group(11)
        topology['members']['a'] = {'class': 'c'}
        topology['groups'] = {'g': {'members': {'z': {'class': 'c'}}}}
        paths = ['a', 'g/z', *(f'm-{index}' for index in range(11))]
        found = definitions.members(build({}, topology))
        self.assertEqual(paths, [member.path for member in found])

    def test_each_set_of_placed_members_has_one_plan(self):
        topology = group(2, min_count=1)
        best = oracle.solve(build({'a': 1}, topology))
        expected = {frozenset([path]): {path: 'a'} for path in ('m-0', 'm-1')}
        self.assertEqual(expected, best.smallest)


class AffinityTest(OracleCase):
    def test_strict_affinity_keeps_to_one_domain(self):
        free = {'a': 2, 'c': 2, 'd': 1}
        self.assert_plan(build(free, group(3, policy('affinity'))), 'c c d')

    def test_strict_affinity_without_a_large_domain_is_refused(self):
        free = {'a': 2, 'c': 2}
        self.assert_refused(build(free, group(3, policy('affinity'))))

    def test_host_without_a_domain_is_refused(self):
        self.assert_refused(build({'lone': 2}, group(1, policy('affinity'))))

    def test_soft_affinity_costs_each_further_domain(self):
        problem = build(dict.fromkeys('acde', 1), group(3, soft('affinity')))
        self.assertEqual(2, cost(problem, m_0='a', m_1='c', m_2='e'))
        self.assert_plan(problem, 'a c d', soft=1)

    def test_hosts_without_a_domain_count_as_one_more(self):
        problem = build({'a': 1, 'lone': 2}, group(3, soft('affinity')))
        self.assert_plan(problem, 'a lone lone', soft=1)

    def test_affinity_covers_nested_members(self):
        inner = group(1)
        topology = {**group(1, policy('affinity')), 'groups': {'g': inner}}
        self.assert_refused(build({'a': 1, 'c': 1}, topology))
        self.assert_plan(build({'c': 1, 'd': 1}, topology), 'c d')


class AntiAffinityTest(OracleCase):
    def test_strict_anti_affinity_allows_one_per_domain(self):
        problem = build({'a': 9, 'b': 9}, group(2, policy('anti-affinity')))
        self.assert_refused(problem)
        problem['topology']['policies'][0]['scope'] = 'host'
        self.assert_plan(problem, 'a b')

    def test_max_per_domain_is_respected(self):
        limit = policy('anti-affinity', max_per_domain=2)
        self.assert_plan(build({'a': 9, 'c': 9}, group(4, limit)), 'a a c c')

    def test_soft_anti_affinity_sums_the_excess(self):
        rule = soft('anti-affinity', max_per_domain=1, weight=0.5)
        problem = build({'a': 3, 'c': 2}, group(5, rule))
        # r1 holds 3 and r2 holds 2: an excess of 2 costs 3, one of 1 costs 1.
        self.assert_plan(problem, 'a a a c c', soft=2.0)

    def test_pins_that_break_anti_affinity_are_refused(self):
        pinned = {'m-0': 'a', 'm-1': 'b'}
        topology = group(2, policy('anti-affinity'))
        self.assert_refused(build({'a': 1, 'b': 1}, topology, (), pinned))


class SpreadTest(OracleCase):
    def test_spread_over_too_few_domains_is_refused(self):
        problem = build({'a': 9, 'c': 9}, group(3, policy('spread')))
        self.assert_plan(problem, 'a a c')
        problem['topology']['policies'][0]['min_domains'] = 3
        self.assert_refused(problem)

    def test_spread_of_one_member_needs_one_domain(self):
        self.assert_plan(build({'a': 9}, group(1, policy('spread'))), 'a')

    def test_skew_counts_only_domains_used(self):
        even = policy('spread', max_skew=0)
        problem = build({'a': 1, 'c': 1, 'e': 9}, group(2, even))
        self.assert_plan(problem, 'a c')
        problem['topology'] = group(5, even)
        self.assert_refused(problem)

    def test_soft_spread_costs_missing_domains_and_skew(self):
        rule = soft('spread', min_domains=4, max_skew=1)
        problem = build({'a': 4, 'c': 1}, group(5, rule))
        # two domains missing, skew 3 where 1 is allowed
        self.assert_plan(problem, 'a a a a c', soft=4)


class ExclusiveTest(OracleCase):
    def test_foreign_host_excludes_its_domain(self):
        free = {'a': 9, 'b': 0, 'c': 9}
        problem = build(free, group(2, policy('exclusive')), foreign=['b'])
        self.assert_plan(problem, 'c c')

    def test_other_members_stay_out_of_an_exclusive_domain(self):
        own = group(1, policy('exclusive'))
        topology = {**group(1), 'groups': {'g': own}}
        self.assert_refused(build({'a': 1, 'b': 1}, topology))
        self.assert_plan(build({'a': 1, 'b': 1, 'c': 1}, topology), 'a c')

    def test_soft_exclusive_costs_each_shared_domain(self):
        free = {'a': 1, 'c': 1, 'd': 1, 'e': 1, 'lone': 1}
        topology = group(5, soft('exclusive', weight=2))
        problem = build(free, topology, foreign=['a', 'c', 'd'])
        self.assert_plan(problem, 'a c d e lone', soft=4)

    def test_hosts_without_a_domain_count_as_one_shared_domain(self):
        own = group(1, soft('exclusive'))
        topology = {**group(1, hosts=['a']), 'groups': {'g': own}}
        problem = build({'lone': 2}, topology)
        # g/m-0 and m-0 are both outside every rack.
        self.assert_plan(problem, 'lone lone', soft=1)


class NetworkProximityTest(OracleCase):
    def test_strict_proximity_needs_one_domain(self):
        topology = link(1, policy('network-proximity'))
        self.assert_plan(build({'a': 1, 'c': 1, 'd': 1}, topology), 'c d')
        self.assert_refused(build({'a': 1, 'c': 1}, topology))

    def test_soft_proximity_costs_bandwidth_times_distance(self):
        problem = build(
            dict.fromkeys(DOMAINS, 2), link(2, soft('network-proximity'))
        )
        self.assertEqual(0, cost(problem, x='a', y='a'))
        self.assertEqual(0, cost(problem, x='a', y='b'))
        self.assertEqual(4, cost(problem, x='a', y='c'))
        self.assertEqual(6, cost(problem, x='a', y='d'))
        self.assertEqual(6, cost(problem, x='a', y='lone'))
        self.assertEqual(0, cost(problem, x='lone', y='lone'))

    def test_pair_in_one_scope_domain_costs_nothing(self):
        problem = build({}, link(1, soft('network-proximity', 'zone')))
        problem['hosts'] = build(dict.fromkeys(DOMAINS, 1), {})['hosts']
        self.assertEqual(0, cost(problem, x='a', y='c'))
        # One rack, two zones: they meet at level 1.
        self.assertEqual(1, cost(problem, x='c', y='d'))
        self.assertEqual(3, cost(problem, x='a', y='e'))

    def test_pair_on_two_hosts_costs_at_host_scope(self):
        problem = build({}, link(1, soft('network-proximity', 'host')))
        problem['hosts'] = build(dict.fromkeys(DOMAINS, 1), {})['hosts']
        self.assertEqual(0, cost(problem, x='a', y='a'))
        self.assertEqual(1, cost(problem, x='a', y='b'))

    def test_policy_on_a_group_covers_every_pair_inside(self):
        rule = soft('network-proximity', bandwidth=0.5, weight=4)
        problem = build({'a': 2, 'e': 2}, group(4, rule))
        # four pairs across, three levels apart
        self.assert_plan(problem, 'a a e e', soft=4 * 3 * 0.5 * 4)

    def test_policy_on_a_relationship_covers_only_pairs_across(self):
        topology = link(1, policy('network-proximity', 'host'))
        topology['members'] = {
            'x': {'class': 'c', 'count': 2},
            'y': {'class': 'c', 'min_count': 0},
        }
        # Without y the pair set is empty, and the x are free to part.
        best = oracle.solve(build({'a': 1, 'c': 1}, topology))
        expected = {'x-0': 'a', 'x-1': 'c'}
        self.assertEqual([expected], list(best.smallest.values()))

    def test_relationship_end_may_be_a_single_counted_member(self):
        topology = link(1, policy('network-proximity', 'host'))
        topology['members']['x'] = {'class': 'c', 'count': 2}
        topology['relationships'][0]['between'] = ['x-1', 'y']
        self.assert_plan(build({'a': 1, 'e': 2}, topology), 'a e e')

    def test_other_policy_types_cover_the_union(self):
        topology = link(1, policy('anti-affinity', 'host'))
        self.assert_refused(build({'a': 2}, topology))
        self.assert_plan(build({'a': 2, 'b': 2}, topology), 'a b')


class SurviveTest(OracleCase):
    def test_survive_assumes_the_loss_of_the_fullest_domain(self):
        rule = policy('survive', min_members=2)
        self.assert_refused(build({'a': 2, 'c': 1}, group(3, rule)))
        self.assert_plan(build({'a': 2, 'c': 2}, group(4, rule)), 'a a c c')

    def test_survive_of_two_failures_needs_three_domains(self):
        rule = policy('survive', failures=2, min_members=1)
        self.assert_refused(build({'a': 9, 'c': 9}, group(3, rule)))
        problem = build({'a': 9, 'c': 9, 'e': 9}, group(3, rule))
        self.assert_plan(problem, 'a c e')

    def test_soft_survive_costs_each_missing_member(self):
        rule = soft('survive', min_members=3, weight=2)
        problem = build({'a': 3, 'c': 1}, group(4, rule))
        # one is left after losing r1
        self.assert_plan(problem, 'a a a c', soft=4)

    def test_empty_group_breaks_only_survive(self):
        topology = group(1, min_count=0)
        for other in definitions.MEETS:
            fields = {'min_members': 1} if other == 'survive' else {}
            topology['policies'] = [policy(other, **fields)]
            best = oracle.solve(build({'a': 0}, topology))
            self.assertEqual(other == 'survive', best is None, other)

    def test_optional_members_are_placed_for_survive(self):
        rule = policy('survive', min_members=1)
        topology = group(2, rule, min_count=0)
        self.assert_plan(build({'a': 1, 'c': 1}, topology), 'a c')
        self.assert_refused(build({'a': 2}, topology))


class AgreementTest(unittest.TestCase):
    """Strict meaning and soft cost in the design's table agree.

    They are written separately, so each checks the other.
    """

    def test_policy_is_met_exactly_if_it_costs_nothing(self):
        hosts = 'abcde'
        problem = build(dict.fromkeys(hosts, 9), group(3), foreign=['b'])
        problem['topology']['members']['n'] = {'class': 'c'}
        problem['topology']['groups'] = {'g': group(2)}
        rules = [
            *(policy(kind, min_members=2) for kind in definitions.MEETS),
            policy('anti-affinity', max_per_domain=2),
            policy('spread', max_skew=0, min_domains=3),
            policy('survive', failures=2, min_members=1),
        ]
        problem['topology']['groups']['g']['policies'] = rules
        problem['topology']['relationships'] = [
            {'name': 'r', 'between': ['m', 'g'], 'policies': rules}
        ]
        cloud = definitions.Cloud(problem)
        members = definitions.members(problem)
        for number in range(300):
            plan = {
                member.path: hosts[number * 7 // 3**place % len(hosts)]
                for place, member in enumerate(members)
            }
            for rule in definitions.rules(problem):
                free = definitions.cost(cloud, rule, plan) == 0
                met = definitions.meets(cloud, rule, plan)
                self.assertEqual(free, met, (rule, plan))
