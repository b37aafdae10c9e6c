# SPDX-License-Identifier: Apache-2.0
"""Does a plan get better a few members at a time, and never worse?"""

import fixtures
from oslotest import base

from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.search import incumbent
from nova_groupext.solver.search import neighbourhood
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie

SCORED = {
    'one': {
        'request': {'VCPU': 1},
        'scores': {'a1': 1, 'a2': 2, 'b1': 1, 'b2': 2},
    }
}


class TestSearch(base.BaseTestCase):
    def walk(self, problem, placement, alternative=None, seconds=60):
        """Search from a plan until it ends; gives the Best."""
        plan = violations.Plan(placement, alternative or {})
        self.assertEqual([], violations.find(problem, plan))
        best = incumbent.Incumbent(problem, plan)
        self.steps = 0
        for found in neighbourhood.search(
            best, time_budget.TimeBudget(seconds)
        ):
            self.assertEqual([], violations.find(problem, found))
            self.assertGreaterEqual(
                violations.objective(problem, found), best.rank
            )
            best.offer(found)
            self.steps += 1
        return best

    def on_both(self, *paths):
        """A placement in turn on a1 and b1."""
        hosts = ('a1', 'b1')
        return {path: hosts[n % 2] for n, path in enumerate(paths)}

    def test_members_of_a_policy_that_costs_come_together(self):
        problem = builders.problem(
            racks(a=(3, 3), b=(3, 3)),
            group([policy('affinity', 'rack', False)], w=4),
        )
        paths = [f'w-{number}' for number in range(4)]
        self.assertEqual(0, self.walk(problem, self.on_both(*paths)).cost)

    def test_or_move_apart(self):
        problem = builders.problem(
            racks(a=(4,), b=(1,), c=(2,)),
            group([policy('anti-affinity', 'rack', False)], w=3),
        )
        best = self.walk(problem, dict.fromkeys(('w-0', 'w-1', 'w-2'), 'a1'))
        self.assertEqual(0, best.cost)

    def test_who_is_in_the_way_makes_room(self):
        ties = [policy('affinity', 'host', False)]
        problem = builders.problem(
            racks(a=(2,), b=(2,)),
            group(groups={'v': group(ties, w=2), 'x': group(ties, w=2)}),
        )
        paths = [f'{name}/w-{n}' for name in 'vx' for n in (0, 1)]
        self.assertEqual(0, self.walk(problem, self.on_both(*paths)).cost)

    def test_strict_policies_are_kept(self):
        near = policy('network-proximity', 'rack', False)
        below = {
            name: group([policy('affinity', 'rack')], w=2) for name in 'vx'
        }
        problem = builders.problem(
            racks(a=(2, 2), b=(2, 2), c=(1, 1)),
            group((), [tie('v', 'x', near)], groups=below),
        )
        best = self.walk(
            problem,
            {'v/w-0': 'a1', 'v/w-1': 'a1', 'x/w-0': 'b1', 'x/w-1': 'b1'},
        )
        self.assertEqual(0, best.cost)

    def test_scores_are_raised_where_nothing_costs(self):
        problem = builders.problem(
            racks(a=(2, 1), b=(1, 1)), group(w=3), SCORED
        )
        best = self.walk(problem, {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'b1'})
        self.assertEqual(5, best.rank[2])

    def test_those_left_out_come_in(self):
        some = {'class': 'one', 'count': 3, 'min_count': 0}
        problem = builders.problem(racks(a=(1, 1)), group(w=some))
        best = self.walk(problem, {})
        self.assertEqual(2, best.rank[0])

    def test_pinned_members_stay(self):
        problem = builders.problem(
            racks(a=(0,), b=(2,)),
            group([policy('affinity', 'rack', False)], w=3),
            pinned={'w-0': 'a1'},
        )
        best = self.walk(problem, {'w-0': 'a1', 'w-1': 'b1', 'w-2': 'b1'})
        self.assertEqual((3, -1), best.rank[:2])

    def test_the_ways_of_those_who_stay_are_kept(self):
        classes = {
            'gpu': {
                'request': {'VCPU': 99},
                'alternatives': {
                    'a1': [{'GPU0': 1}, {'GPU1': 1}],
                    'b1': [{'VCPU': 1}, {'VCPU': 1}],
                },
            }
        }
        hosts = racks(a=(4,), b=(4,))
        hosts[0]['free'].update(GPU0=1, GPU1=1)
        problem = builders.problem(
            hosts,
            group(
                groups={'f': group([policy('affinity', 'host', False)], w=2)},
                g={'class': 'gpu', 'count': 2},
            ),
            classes,
        )
        best = self.walk(
            problem,
            {'f/w-0': 'a1', 'f/w-1': 'b1', 'g-0': 'a1', 'g-1': 'b1'},
            {'g-0': 1, 'g-1': 1},
        )
        self.assertEqual(0, best.cost)
        self.assertEqual({'g-0', 'g-1'}, best.plan.alternative.keys())

    def test_it_ends_where_nothing_gets_better(self):
        self.useFixture(
            fixtures.MockPatchObject(neighbourhood, '_PATIENCE', 3)
        )
        problem = builders.problem(
            racks(a=(1,), b=(1,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        best = self.walk(problem, {'w-0': 'a1', 'w-1': 'b1'})
        self.assertEqual((1, 3), (best.cost, self.steps))

    def test_it_does_not_begin_without_time(self):
        problem = builders.problem(
            racks(a=(2,), b=(1,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        self.walk(problem, {'w-0': 'a1', 'w-1': 'b1'}, seconds=0)
        self.assertEqual(0, self.steps)

    def test_programmes_without_time_change_nothing(self):
        self.useFixture(fixtures.MockPatchObject(neighbourhood, '_SLICE', 0))
        problem = builders.problem(
            racks(a=(2,), b=(1,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        best = self.walk(problem, {'w-0': 'a1', 'w-1': 'b1'})
        self.assertEqual(2, best.rank[0])

    def test_the_same_seed_walks_the_same_way(self):
        self.useFixture(
            fixtures.MockPatchObject(neighbourhood, '_PATIENCE', 8)
        )
        rules_ = [
            policy('spread', 'rack', False, max_skew=0),
            policy('affinity', 'host', False, weight=0.3),
        ]
        problem = builders.problem(
            racks(a=(3, 2), b=(3, 1)), group(rules_, w=7), SCORED
        )
        start = dict(
            zip(
                [f'w-{number}' for number in range(7)],
                ['a1', 'a1', 'a1', 'a2', 'a2', 'b1', 'b1'],
                strict=True,
            )
        )
        first = self.walk(problem, start)
        second = self.walk(problem, start)
        self.assertEqual(first.plan, second.plan)
