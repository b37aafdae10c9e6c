# SPDX-License-Identifier: Apache-2.0
"""Move checks: the hosts to which a member may move."""

import itertools
import math
import random

from oslotest import base

from nova_groupext.solver.model import violations
from nova_groupext.solver.moves import move_check
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy

# Three racks of two hosts.
HOSTS = builders.racks(a=(8, 8), b=(8, 8), c=(8, 8))
NAMES = [host['id'] for host in HOSTS]


def allowed(
    topology, current_host, /, hosts=HOSTS, planned_hosts=None, **others
):
    """Return the hosts allowed to m-0; others are at 'a1' or 'a1 b1'.

    :param planned_hosts: {path: id of the planned host} of absent members
    """
    problem = builders.problem(hosts, topology)
    at = {
        name.replace('_', '-'): set(places.split())
        for name, places in others.items()
    }
    planned_hosts = {
        path: {host} for path, host in (planned_hosts or {}).items()
    }
    move = move_check.Move(problem, at, 'm-0', current_host, planned_hosts)
    return [host['id'] for host in hosts if move.allows(host['id'])]


class TestAllowed(base.BaseTestCase):
    def test_member_without_policies_may_move_anywhere(self):
        self.assertEqual(NAMES, allowed(group(m=2), 'a1', m_1='b1'))

    def test_affinity_binds_a_member_to_the_domain_of_its_group(self):
        together = group([policy('affinity', 'rack')], m=2)

        self.assertEqual(['a1', 'a2'], allowed(together, 'a1', m_1='a2'))

    def test_anti_affinity_excludes_the_hosts_of_other_members(self):
        apart = group([policy('anti-affinity', 'host')], m=3)

        self.assertEqual(
            ['a1', 'b2', 'c1', 'c2'], allowed(apart, 'a1', m_1='a2', m_2='b1')
        )

    def test_moving_member_counts_at_both_hosts(self):
        apart = group([policy('anti-affinity', 'host')], m=2)

        self.assertEqual(
            ['a1', 'a2', 'b2', 'c2'], allowed(apart, 'a1', m_1='b1 c1')
        )

    def test_member_moving_within_a_domain_counts_once(self):
        apart = group([policy('anti-affinity', 'rack', max_per_domain=2)], m=2)

        self.assertEqual(NAMES, allowed(apart, 'a1', m_1='b1 b2'))

    def test_spread_is_kept_however_other_moves_end(self):
        spread = group([policy('spread', 'rack', min_domains=2)], m=4)
        at = {'m_1': 'a2', 'm_2': 'b1'}

        self.assertEqual(NAMES, allowed(spread, 'a1', **at, m_3='c1'))
        self.assertEqual(
            ['a1', 'a2', 'c1', 'c2'],
            allowed(spread, 'a1', **at, m_3='b2 c1'),
        )

    def test_too_many_end_states_allow_only_the_own_domain(self):
        spread = group([policy('spread', 'rack', max_skew=9)], m=9)
        at = {f'm_{number}': 'b1 c1' for number in range(1, 8)}

        self.assertEqual(['a1', 'a2'], allowed(spread, 'a1', **at, m_8='b1'))

    def test_survive_excludes_the_hosts_of_other_members(self):
        survive = group([policy('survive', 'host', min_members=2)], m=3)

        self.assertEqual(
            ['a1', 'b2', 'c1', 'c2'],
            allowed(survive, 'a1', m_1='a2', m_2='b1'),
        )

    def test_proximity_in_a_relationship_binds_to_a_domain(self):
        tied = group(
            relationships=[
                builders.tie('m', 'n', policy('network-proximity', 'rack'))
            ],
            m=1,
            n=1,
        )
        problem = builders.problem(HOSTS, tied)
        move = move_check.Move(problem, {'n-0': {'b1'}}, 'm-0', 'b2')

        self.assertEqual(
            ['b1', 'b2'], [name for name in NAMES if move.allows(name)]
        )

    def test_proximity_within_a_group_binds_to_a_domain(self):
        near = group([policy('network-proximity', 'rack')], m=3)

        self.assertEqual(['b1', 'b2'], allowed(near, 'b1', m_1='b1', m_2='b2'))

    def test_host_without_a_domain_is_not_allowed(self):
        hosts = [*HOSTS, builders.host('x')]
        apart = group([policy('anti-affinity', 'rack')], m=2)

        self.assertEqual(
            ['a1', 'a2', 'c1', 'c2'],
            allowed(apart, 'a1', hosts=hosts, m_1='b1'),
        )

    def test_broken_policy_excludes_only_worse_hosts(self):
        apart = group([policy('anti-affinity', 'host')], m=4)

        self.assertEqual(
            ['a2', 'b2', 'c1', 'c2'],
            allowed(apart, 'a2', m_1='a1', m_2='a1', m_3='b1'),
        )
        self.assertEqual(
            NAMES, allowed(apart, 'a1', m_1='a1', m_2='b1', m_3='b2')
        )

    def test_returning_member_must_not_break_a_policy(self):
        survive = group([policy('survive', 'host', min_members=2)], m=3)

        self.assertEqual(
            ['b1', 'b2', 'c1', 'c2'],
            allowed(survive, None, m_1='a1', m_2='a2'),
        )

    def test_violation_by_other_members_admits_a_returning_member(self):
        apart = group([policy('anti-affinity', 'host')], m=3)

        self.assertEqual(
            ['a2', 'b1', 'b2', 'c1', 'c2'],
            allowed(apart, None, m_1='a1', m_2='a1'),
        )

    def test_absent_members_count_at_their_planned_hosts(self):
        """A server is not excluded because other members have failed."""
        even = group([policy('spread', 'rack', min_domains=3)], m=6)
        others = {'m_1': 'a2', 'm_2': 'b1', 'm_3': 'b2'}
        planned_hosts = {'m-4': 'c1', 'm-5': 'c2'}

        self.assertEqual(
            ['a1', 'a2'],
            allowed(even, None, planned_hosts=planned_hosts, **others),
        )
        self.assertEqual(['c1', 'c2'], allowed(even, None, **others))

    def test_absent_members_do_not_exclude_their_hosts(self):
        apart = group([policy('anti-affinity', 'host')], m=3)

        self.assertEqual(
            [name for name in NAMES if name != 'a1'],
            allowed(apart, None, planned_hosts={'m-2': 'b1'}, m_1='a1'),
        )

    def test_policies_of_other_members_do_not_count(self):
        other = group([policy('anti-affinity', 'host')], n=2)
        top = group(groups={'other': other}, m=1)
        problem = builders.problem(HOSTS, top)
        at = {'other/n-0': {'a1'}, 'other/n-1': {'a1'}}

        move = move_check.Move(problem, at, 'm-0', 'b1')

        self.assertFalse(move.is_bound)
        self.assertTrue(all(map(move.allows, NAMES)))


class TestCost(base.BaseTestCase):
    def cost(self, topology, host, current_host='c2', **at):
        problem = builders.problem(HOSTS, topology)
        others = {name.replace('_', '-'): {at[name]} for name in at}
        return move_check.Move(problem, others, 'm-0', current_host).cost(host)

    def test_soft_policies_cost_by_their_weight(self):
        soft = group(
            [policy('anti-affinity', 'rack', strict=False, weight=3)], m=2
        )

        self.assertEqual((0, 3), self.cost(soft, 'a2', m_1='a1'))
        self.assertEqual((0, 0), self.cost(soft, 'b1', m_1='a1'))

    def test_soft_proximity_costs_the_distance(self):
        near = group(
            relationships=[
                builders.tie(
                    'm',
                    'n',
                    policy('network-proximity', 'host', strict=False),
                    bandwidth=10,
                )
            ],
            m=1,
            n=1,
        )
        costs = [self.cost(near, host, n_0='a1') for host in NAMES[:3]]

        self.assertEqual([(0, 0), (0, 10), (0, 20)], costs)

    def test_host_that_repairs_a_strict_policy_comes_first(self):
        both = group(
            [
                policy('anti-affinity', 'host'),
                policy('affinity', 'rack', strict=False),
            ],
            m=2,
        )

        self.assertLess(
            self.cost(both, 'b1', current_host='a1', m_1='a1'),
            self.cost(both, 'a1', current_host='a1', m_1='a1'),
        )


class TestCrossingLevels(base.BaseTestCase):
    """Proximity where racks and zones cross, while other members move."""

    NAMES = ('a1', 'a2', 'a3', 'b1', 'b2', 'b3')

    def test_cost_is_that_of_the_worst_end_state(self):
        chance = random.Random(7)
        for scope, strict, _round in itertools.product(
            ('host', 'rack', 'zone'), (True, False), range(20)
        ):
            near = policy('network-proximity', scope, strict)
            self.compare(
                group(relationships=[builders.tie('m', 'n', near)], m=1, n=3),
                chance,
            )
            self.compare(group([near], m=4), chance)

    def test_move_that_improves_the_worst_end_state_is_allowed(self):
        near = group(
            relationships=[
                builders.tie('m', 'n', policy('network-proximity', 'rack'))
            ],
            m=1,
            n=1,
        )
        names = ['a1', 'a2', 'b1', 'c1']
        hosts = [builders.host(name, *name) for name in names]

        # Between a2 and b1 is the longest distance.
        self.assertEqual(names, allowed(near, 'a2', hosts=hosts, n_0='a1 b1'))

    def compare(self, topology, chance):
        hosts = [builders.host(name, *name) for name in self.NAMES]
        problem = builders.problem(hosts, topology)
        [kind] = problem.topology.policies
        others = {
            path: set(chance.sample(self.NAMES, chance.choice((1, 2, 3))))
            for path in sorted(problem.class_of.keys() - {'m-0'})
        }
        move = move_check.Move(problem, others, 'm-0', 'a1')
        for host in self.NAMES:
            worst = max(
                sum(
                    violations.amount(
                        problem, kind, {'m-0': host, path: other}
                    )
                    for path, other in zip(others, ends, strict=True)
                )
                for ends in itertools.product(*others.values())
            )
            cost = (worst, 0) if kind.strict else (0, worst)
            self.assertEqual(cost, move.cost(host), (kind, others, host))


class TestWorstCase(base.BaseTestCase):
    """Worst cases, compared with every end state of all moves."""

    KINDS = (
        policy('affinity', 'rack'),
        policy('anti-affinity', 'rack', max_per_domain=2),
        policy('anti-affinity', 'host'),
        policy('spread', 'rack'),
        policy('survive', 'rack', min_members=2),
        policy('network-proximity', 'rack'),
    )

    def test_violation_in_some_end_state_is_one_of_the_worst_case(self):
        for kind, members in itertools.product(self.KINDS, (1, 2, 4)):
            self.compare(kind, members, random.Random(5))

    def compare(self, kind, members, chance):
        problem = builders.problem(HOSTS, group([kind], m=members))
        [read] = problem.topology.policies
        for _round in range(30):
            positions = {
                path: set(chance.sample(NAMES, chance.choice((1, 1, 2))))
                for path in sorted(problem.class_of)
            }
            ends = itertools.product(*positions.values())
            is_violated = any(
                violations.is_violated(
                    problem, read, dict(zip(positions, end, strict=True))
                )
                for end in ends
            )
            worst = move_check.worst_violation(problem, read, positions)
            self.assertLess(worst, math.inf)
            self.assertEqual(is_violated, worst > 0, (kind, positions))
