# SPDX-License-Identifier: Apache-2.0
"""Where may a member go, given where the others are or may come to be?"""

import itertools
import math
import random

from oslotest import base

from nova_groupext.solver.moves import move_check
from nova_groupext.solver.policies import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy

# Three racks of two hosts.
HOSTS = builders.racks(a=(8, 8), b=(8, 8), c=(8, 8))
NAMES = [host['id'] for host in HOSTS]


def allowed(topology, home, /, hosts=HOSTS, away=None, **others):
    """Where m-0 may go from home; others are at 'a1', or at 'a1 b1'.

    :param away: {path: id of the host} where others were to be
    """
    problem = builders.problem(hosts, topology)
    at = {
        name.replace('_', '-'): set(places.split())
        for name, places in others.items()
    }
    away = {path: {host} for path, host in (away or {}).items()}
    move = move_check.Move(problem, at, 'm-0', home, away)
    return [host['id'] for host in hosts if move.allows(host['id'])]


class TestAllowed(base.BaseTestCase):
    def test_without_policies_it_may_go_everywhere(self):
        self.assertEqual(NAMES, allowed(group(m=2), 'a1', m_1='b1'))

    def test_affinity_binds_it_to_the_domain_of_the_others(self):
        together = group([policy('affinity', 'rack')], m=2)

        self.assertEqual(['a1', 'a2'], allowed(together, 'a1', m_1='a2'))

    def test_anti_affinity_keeps_it_away_from_the_others(self):
        apart = group([policy('anti-affinity', 'host')], m=3)

        self.assertEqual(
            ['a1', 'b2', 'c1', 'c2'], allowed(apart, 'a1', m_1='a2', m_2='b1')
        )

    def test_a_member_under_way_counts_at_both_hosts(self):
        apart = group([policy('anti-affinity', 'host')], m=2)

        self.assertEqual(
            ['a1', 'a2', 'b2', 'c2'], allowed(apart, 'a1', m_1='b1 c1')
        )

    def test_a_member_under_way_within_a_domain_counts_once(self):
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

    def test_too_many_ends_let_it_go_nowhere_but_within_its_domain(self):
        spread = group([policy('spread', 'rack', max_skew=9)], m=9)
        at = {f'm_{number}': 'b1 c1' for number in range(1, 8)}

        self.assertEqual(['a1', 'a2'], allowed(spread, 'a1', **at, m_8='b1'))

    def test_survive_counts_who_is_left(self):
        survive = group([policy('survive', 'host', min_members=2)], m=3)

        self.assertEqual(
            ['a1', 'b2', 'c1', 'c2'],
            allowed(survive, 'a1', m_1='a2', m_2='b1'),
        )

    def test_who_is_tied_to_another_stays_near(self):
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

    def test_who_is_tied_to_all_others_stays_near(self):
        near = group([policy('network-proximity', 'rack')], m=3)

        self.assertEqual(['b1', 'b2'], allowed(near, 'b1', m_1='b1', m_2='b2'))

    def test_a_host_without_a_domain_takes_nobody_of_that_policy(self):
        hosts = [*HOSTS, builders.host('x')]
        apart = group([policy('anti-affinity', 'rack')], m=2)

        self.assertEqual(
            ['a1', 'a2', 'c1', 'c2'],
            allowed(apart, 'a1', hosts=hosts, m_1='b1'),
        )

    def test_what_is_broken_refuses_only_what_makes_it_worse(self):
        apart = group([policy('anti-affinity', 'host')], m=4)

        self.assertEqual(
            ['a2', 'b2', 'c1', 'c2'],
            allowed(apart, 'a2', m_1='a1', m_2='a1', m_3='b1'),
        )
        self.assertEqual(
            NAMES, allowed(apart, 'a1', m_1='a1', m_2='b1', m_3='b2')
        )

    def test_who_comes_back_finds_no_excuse_in_its_absence(self):
        survive = group([policy('survive', 'host', min_members=2)], m=3)

        self.assertEqual(
            ['b1', 'b2', 'c1', 'c2'],
            allowed(survive, None, m_1='a1', m_2='a2'),
        )

    def test_who_comes_back_is_not_kept_out_by_what_others_break(self):
        apart = group([policy('anti-affinity', 'host')], m=3)

        self.assertEqual(
            ['a2', 'b1', 'b2', 'c1', 'c2'],
            allowed(apart, None, m_1='a1', m_2='a1'),
        )

    def test_those_who_are_away_are_not_missed_where_they_were_to_be(self):
        """A server is not kept out because others have failed."""
        even = group([policy('spread', 'rack', min_domains=3)], m=6)
        others = {'m_1': 'a2', 'm_2': 'b1', 'm_3': 'b2'}
        away = {'m-4': 'c1', 'm-5': 'c2'}

        self.assertEqual(
            ['a1', 'a2'], allowed(even, None, away=away, **others)
        )
        self.assertEqual(['c1', 'c2'], allowed(even, None, **others))

    def test_those_who_are_away_keep_nobody_from_their_hosts(self):
        apart = group([policy('anti-affinity', 'host')], m=3)

        self.assertEqual(
            [name for name in NAMES if name != 'a1'],
            allowed(apart, None, away={'m-2': 'b1'}, m_1='a1'),
        )

    def test_only_what_is_about_it_counts(self):
        other = group([policy('anti-affinity', 'host')], n=2)
        top = group(groups={'other': other}, m=1)
        problem = builders.problem(HOSTS, top)
        at = {'other/n-0': {'a1'}, 'other/n-1': {'a1'}}

        move = move_check.Move(problem, at, 'm-0', 'b1')

        self.assertFalse(move.is_bound)
        self.assertTrue(all(map(move.allows, NAMES)))


class TestCost(base.BaseTestCase):
    def cost(self, topology, host, home='c2', **at):
        problem = builders.problem(HOSTS, topology)
        others = {name.replace('_', '-'): {at[name]} for name in at}
        return move_check.Move(problem, others, 'm-0', home).cost(host)

    def test_soft_policies_cost_by_their_weight(self):
        soft = group(
            [policy('anti-affinity', 'rack', strict=False, weight=3)], m=2
        )

        self.assertEqual((0, 3), self.cost(soft, 'a2', m_1='a1'))
        self.assertEqual((0, 0), self.cost(soft, 'b1', m_1='a1'))

    def test_distance_counts(self):
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

    def test_what_mends_a_strict_policy_comes_first(self):
        both = group(
            [
                policy('anti-affinity', 'host'),
                policy('affinity', 'rack', strict=False),
            ],
            m=2,
        )

        self.assertLess(
            self.cost(both, 'b1', home='a1', m_1='a1'),
            self.cost(both, 'a1', home='a1', m_1='a1'),
        )


class TestWorstCase(base.BaseTestCase):
    """Against all ends of all moves, one by one, by the rules themselves."""

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
