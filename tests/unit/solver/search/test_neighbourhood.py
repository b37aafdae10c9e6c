# SPDX-License-Identifier: Apache-2.0
"""Large neighbourhood search: a plan improves a few members at a time."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
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
    def search(self, problem, placement, alternative=None, seconds=60):
        """Search from a plan until the end; return the incumbent."""
        plan = violations.Plan(placement, alternative or {})
        self.assertEqual([], violations.find(problem, plan))
        best = incumbent.Incumbent(problem, plan)
        self.steps = 0
        for plan in neighbourhood.search(
            best, time_budget.TimeBudget(seconds)
        ):
            self.assertEqual([], violations.find(problem, plan))
            self.assertGreaterEqual(
                violations.objective(problem, plan), best.objective
            )
            best.offer(plan)
            self.steps += 1
        return best

    def alternate(self, *paths):
        """Return a placement that alternates between a1 and b1."""
        hosts = ('a1', 'b1')
        return {path: hosts[n % 2] for n, path in enumerate(paths)}

    def test_members_of_a_violated_affinity_are_joined(self):
        problem = builders.problem(
            racks(a=(3, 3), b=(3, 3)),
            group([policy('affinity', 'rack', False)], w=4),
        )
        paths = [f'w-{number}' for number in range(4)]
        self.assertEqual(0, self.search(problem, self.alternate(*paths)).cost)

    def test_members_of_a_violated_anti_affinity_are_separated(self):
        problem = builders.problem(
            racks(a=(4,), b=(1,), c=(2,)),
            group([policy('anti-affinity', 'rack', False)], w=3),
        )
        best = self.search(problem, dict.fromkeys(('w-0', 'w-1', 'w-2'), 'a1'))
        self.assertEqual(0, best.cost)

    def test_members_on_target_hosts_move(self):
        policies = [policy('affinity', 'host', False)]
        problem = builders.problem(
            racks(a=(2,), b=(2,)),
            group(
                groups={'v': group(policies, w=2), 'x': group(policies, w=2)}
            ),
        )
        paths = [f'{name}/w-{n}' for name in 'vx' for n in (0, 1)]
        self.assertEqual(0, self.search(problem, self.alternate(*paths)).cost)

    def test_strict_policies_are_kept(self):
        near = policy('network-proximity', 'rack', False)
        below = {
            name: group([policy('affinity', 'rack')], w=2) for name in 'vx'
        }
        problem = builders.problem(
            racks(a=(2, 2), b=(2, 2), c=(1, 1)),
            group((), [tie('v', 'x', near)], groups=below),
        )
        best = self.search(
            problem,
            {'v/w-0': 'a1', 'v/w-1': 'a1', 'x/w-0': 'b1', 'x/w-1': 'b1'},
        )
        self.assertEqual(0, best.cost)

    def test_scores_improve_where_costs_are_zero(self):
        problem = builders.problem(
            racks(a=(2, 1), b=(1, 1)), group(w=3), SCORED
        )
        best = self.search(problem, {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'b1'})
        self.assertEqual(5, best.objective.preference)

    def test_unplaced_members_are_placed(self):
        optional = {'class': 'one', 'count': 3, 'min_count': 0}
        problem = builders.problem(racks(a=(1, 1)), group(w=optional))
        best = self.search(problem, {})
        self.assertEqual(2, best.objective.members)

    def test_members_return_to_where_they_were(self):
        """All of them at once, as each is in the way of another."""
        paths = ('w-0', 'w-1', 'w-2', 'w-3')
        hosts = ('a1', 'a2', 'b1', 'b2')
        current = dict(zip(paths, hosts, strict=True))
        problem = builders.problem(
            racks(a=(1, 1), b=(1, 1)),
            group(w=4),
            {'one': {'request': {'VCPU': 1}, 'scores': {'a1': 5}}},
            current=current,
            objective='changes',
        )
        shifted = dict(zip(paths, hosts[1:] + hosts[:1], strict=True))
        self.useFixture(fixtures.MockPatchObject(tuning, 'MAX_IDLE_STEPS', 0))

        best = self.search(problem, shifted)

        self.assertEqual(current, best.plan.placement)

    def test_pinned_members_do_not_move(self):
        problem = builders.problem(
            racks(a=(0,), b=(2,)),
            group([policy('affinity', 'rack', False)], w=3),
            pinned={'w-0': 'a1'},
        )
        best = self.search(problem, {'w-0': 'a1', 'w-1': 'b1', 'w-2': 'b1'})
        self.assertEqual((3, 0, -1), best.objective[:3])

    def test_alternatives_of_fixed_members_are_kept(self):
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
        best = self.search(
            problem,
            {'f/w-0': 'a1', 'f/w-1': 'b1', 'g-0': 'a1', 'g-1': 'b1'},
            {'g-0': 1, 'g-1': 1},
        )
        self.assertEqual(0, best.cost)
        self.assertEqual({'g-0', 'g-1'}, best.plan.alternative.keys())

    def test_search_ends_after_steps_without_improvement(self):
        self.useFixture(fixtures.MockPatchObject(tuning, 'MAX_IDLE_STEPS', 3))
        problem = builders.problem(
            racks(a=(1,), b=(1,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        best = self.search(problem, {'w-0': 'a1', 'w-1': 'b1'})
        self.assertEqual((1, 3), (best.cost, self.steps))

    def test_without_time_no_step_is_made(self):
        problem = builders.problem(
            racks(a=(2,), b=(1,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        self.search(problem, {'w-0': 'a1', 'w-1': 'b1'}, seconds=0)
        self.assertEqual(0, self.steps)

    def test_programs_without_time_keep_the_plan(self):
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'NEIGHBOURHOOD_SECONDS', 0)
        )
        problem = builders.problem(
            racks(a=(2,), b=(1,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        best = self.search(problem, {'w-0': 'a1', 'w-1': 'b1'})
        self.assertEqual(2, best.objective.members)

    def test_same_seed_gives_the_same_plan(self):
        self.useFixture(fixtures.MockPatchObject(tuning, 'MAX_IDLE_STEPS', 8))
        policies = [
            policy('spread', 'rack', False, max_skew=0),
            policy('affinity', 'host', False, weight=0.3),
        ]
        problem = builders.problem(
            racks(a=(3, 2), b=(3, 1)), group(policies, w=7), SCORED
        )
        start = dict(
            zip(
                [f'w-{number}' for number in range(7)],
                ['a1', 'a1', 'a1', 'a2', 'a2', 'b1', 'b1'],
                strict=True,
            )
        )
        first = self.search(problem, start)
        second = self.search(problem, start)
        self.assertEqual(first.plan, second.plan)
