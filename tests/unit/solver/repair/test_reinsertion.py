# SPDX-License-Identifier: Apache-2.0
"""Reinsertion of members that construction left out."""

import collections

import fixtures
from oslotest import base

from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import master_problem
from nova_groupext.solver.repair import reinsertion
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

CLASSES = {f'c{n}': {'request': {'VCPU': n}} for n in (2, 3, 4)}


class TestReinsertion(base.BaseTestCase):
    def make(self, hosts, topology, placement, *unplaced, **others):
        """Return a squeaky-wheel search with a best partial plan."""
        problem = builders.problem(hosts, topology, CLASSES, **others)
        greedy = squeaky_wheel.SqueakyWheel(problem)
        greedy.best_partial = (
            violations.Plan(placement, {}),
            [list(m) for m in unplaced],
        )
        return greedy

    def reinsert(self, *args, seconds=60, **others):
        greedy = self.make(*args, **others)
        plan = reinsertion.Reinsertion(greedy).run(
            time_budget.TimeBudget(seconds)
        )
        if plan is not None:
            self.assertEqual([], violations.find(greedy.problem, plan))
        return plan

    def reinsert_one(self, **others):
        return self.reinsert(
            racks(a=(4, 3)),
            group(w=1, x={'class': 'c4'}),
            {'w-0': 'a1'},
            ['x'],
            **others,
        )

    def test_without_a_failed_construction_no_plan_is_found(self):
        greedy = self.make(racks(a=(4,)), group(w=1), {}, ())
        greedy.best_partial = None
        self.assertIsNone(
            reinsertion.Reinsertion(greedy).run(time_budget.TimeBudget(60))
        )

    def test_interrupted_run_goes_on(self):
        """Although a construction has a worse partial plan meanwhile."""
        greedy = self.make(racks(a=(1, 1)), group(w=2), {'w-0': 'a2'}, ['w-1'])
        insertion = reinsertion.Reinsertion(greedy)
        budget = time_budget.TimeBudget(60)
        self.assertIsNone(insertion.run(budget.slice(0)))
        greedy.best_partial = violations.Plan({}, {}), [['w-0'], ['w-1']]

        plan = insertion.run(budget)

        self.assertEqual({'w-0': 'a2', 'w-1': 'a1'}, plan.placement)

    def test_run_that_has_failed_does_not_go_on(self):
        self.useFixture(
            fixtures.MockPatchObject(reinsertion, '_MAX_FAILURES', 1)
        )
        greedy = self.make(racks(a=(1,)), group(w=2), {'w-0': 'a1'}, ['w-1'])
        insertion = reinsertion.Reinsertion(greedy)
        self.assertIsNone(insertion.run(time_budget.TimeBudget(60)))
        greedy.best_partial = None

        self.assertIsNone(insertion.run(time_budget.TimeBudget(60)))

    def test_placed_member_moves(self):
        plan = self.reinsert_one()
        self.assertEqual({'w-0': 'a2', 'x': 'a1'}, plan.placement)

    def test_members_of_few_hosts_move_for_an_inserted_one(self):
        counts = {'a1': 30, 'a2': 30, 'a3': 3}
        hosts = [host for host, n in counts.items() for _ in range(n)]
        greedy = self.make(
            racks(a=(40, 40, 40)),
            group(w=len(hosts), x=1),
            {f'w-{n}': host for n, host in enumerate(hosts)},
            ['x'],
        )
        insertion = reinsertion._Insertion(greedy, None)
        moved = {
            sum(counts[host] for host in insertion._choose_targets(counts))
            for _ in range(20)
        }

        self.assertEqual({30, 33}, moved)

    def test_member_is_ejected_only_after_some_insertions(self):
        ejected = []
        self.useFixture(
            fixtures.MockPatchObject(
                *(reinsertion._Insertion, 'insert_by_ejection'),
                lambda *arguments: ejected.append(arguments),
            )
        )
        greedy = self.make(racks(a=(1,)), group(w=2), {'w-0': 'a1'}, ['w-1'])
        insertion = reinsertion._Insertion(greedy, None)
        for number in range(1, reinsertion._MIN_ATTEMPTS + 1):
            self.assertEqual([], ejected)
            insertion.insert_next(time_budget.TimeBudget(60))
            self.assertEqual(number, insertion._failures)
        self.assertEqual(1, len(ejected))

    def test_plan_with_the_most_members_is_kept(self):
        greedy = self.make(
            racks(a=(4,)),
            group(w=2, x={'class': 'c4'}),
            {},
            ['w-0', 'w-1'],
            ['x'],
        )
        search = reinsertion.Reinsertion(greedy)
        self.assertIsNone(search.best_partial_plan)
        self.assertIsNone(search.run(time_budget.TimeBudget(60)))
        self.assertEqual(
            {'w-0', 'w-1'}, set(search.best_partial_plan.placement)
        )

    def test_few_hosts_are_not_sampled(self):
        for sampler, name, sampled in (
            (squeaky_wheel.SqueakyWheel, 'sample_hosts_for', set()),
            (
                candidate_list.HostSampler,
                'sample',
                collections.defaultdict(set),
            ),
            # A member that is not inserted is lost.
            (reinsertion._Insertion, 'insert_by_ejection', None),
        ):
            self.useFixture(
                fixtures.MockPatchObject(sampler, name, return_value=sampled)
            )
        plan = self.reinsert(
            racks(a=(2, 3)), group(w=2), {'w-0': 'a1'}, ['w-1']
        )
        self.assertEqual(2, len(plan.placement))

    def test_members_are_inserted_one_after_the_other(self):
        plan = self.reinsert(
            racks(a=(4, 4, 3)),
            group(w=2, x={'class': 'c4'}, y={'class': 'c4'}),
            {'w-0': 'a1', 'w-1': 'a2'},
            ['x'],
            ['y'],
        )
        self.assertEqual({'a3'}, {plan.placement[f'w-{n}'] for n in (0, 1)})

    def test_colocated_members_are_inserted_together(self):
        below = group(
            [policy('affinity', 'rack')], v={'class': 'c2', 'count': 2}
        )
        plan = self.reinsert(
            racks(a=(2, 2), b=(1,)),
            group(groups={'g': below}, w=1),
            {'w-0': 'a1'},
            ['g/v-0', 'g/v-1'],
        )
        self.assertEqual('b1', plan.placement['w-0'])

    def test_pinned_members_do_not_move(self):
        for free, expected in ((3, 'a2'), (4, 'a1')):
            plan = self.reinsert(
                racks(a=(free, 4)),
                group(w=1, x={'class': 'c4'}),
                {'w-0': 'a1'},
                ['x'],
                pinned={'w-0': 'a1'},
            )
            # A pinned member consumes no free amounts.
            self.assertEqual('a1', plan.placement['w-0'])
            if free == 3:
                self.assertEqual(expected, plan.placement['x'])

    def test_strict_policies_are_kept(self):
        plan = self.reinsert(
            racks(a=(4, 1), b=(4, 1)),
            group(
                groups={'g': group([policy('anti-affinity', 'rack')], w=2)},
                x={'class': 'c4', 'count': 2},
            ),
            {'g/w-0': 'a1', 'g/w-1': 'b1'},
            ['x-0', 'x-1'],
        )
        self.assertEqual(
            {'a2', 'b2'}, {plan.placement[f'g/w-{n}'] for n in (0, 1)}
        )

    def test_inserted_members_may_end_a_violation(self):
        plan = self.reinsert(
            racks(a=(2,), b=(2,)),
            group([policy('spread', 'rack', max_skew=0)], w=4),
            {'w-0': 'a1', 'w-1': 'a1'},
            ['w-2', 'w-3'],
        )
        self.assertEqual(4, len(plan.placement))

    def test_without_capacity_no_plan_is_found(self):
        self.assertIsNone(
            self.reinsert(
                racks(a=(4, 0)),
                group(w=1, x={'class': 'c4'}),
                {'w-0': 'a1'},
                ['x'],
            )
        )

    def test_without_time_no_plan_is_found(self):
        self.assertIsNone(self.reinsert_one(seconds=0))

    def test_too_large_programs_are_replaced_by_ejection(self):
        self.useFixture(
            fixtures.MockPatchObject(reinsertion, '_MAX_VARIABLES', 1)
        )
        plan = self.reinsert_one()
        self.assertEqual({'w-0': 'a2', 'x': 'a1'}, plan.placement)

    def test_remaining_violation_is_no_plan(self):
        classes = {'c1': {'request': {'VCPU': 1}, 'hosts': ['c1']}}
        below = group([policy('spread', 'rack')], w=2)
        problem = builders.problem(
            racks(a=(4,), b=(4,), c=(4,)),
            group(groups={'g': below}, x={'class': 'c1'}),
            classes,
        )
        greedy = squeaky_wheel.SqueakyWheel(problem)
        plan = violations.Plan({'g/w-0': 'a1', 'g/w-1': 'a1'}, {})
        greedy.best_partial = plan, [['x']]
        self.assertIsNone(
            reinsertion.Reinsertion(greedy).run(time_budget.TimeBudget(60))
        )

    def test_several_members_move_for_several(self):
        plan = self.reinsert(
            racks(a=(5, 5, 5, 5)),
            group(
                x={'class': 'c3', 'count': 3},
                y={'class': 'c2', 'count': 5},
            ),
            {f'y-{n}': f'a{n // 2 + 1}' for n in range(5)},
            ['x-0', 'x-1', 'x-2'],
        )
        self.assertEqual(8, len(plan.placement))

    def test_members_outside_the_moved_groups_stay_unplaced(self):
        # All together fit nowhere: only g is a colocation group.
        below = group([policy('affinity', 'rack')], w=2)
        greedy = self.make(
            racks(a=(2,), b=(1,)),
            group([policy('affinity', 'rack')], groups={'g': below}, v=1),
            {},
            ['g/w-0', 'g/w-1', 'v-0'],
        )
        insertion = reinsertion._Insertion(
            greedy,
            lambda budget: master_problem.DomainAssignment(greedy, budget),
        )
        to_insert = set(insertion.unplaced.popleft())
        insertion.insert_by_ejection(to_insert, time_budget.TimeBudget(60))
        unplaced = [path for paths in insertion.unplaced for path in paths]
        self.assertEqual(
            sorted(to_insert), sorted([*unplaced, *insertion.plan.placement])
        )
