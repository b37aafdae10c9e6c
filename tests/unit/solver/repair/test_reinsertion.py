# SPDX-License-Identifier: Apache-2.0
"""Is room made for those who found none, where it can be?"""

import collections

import fixtures
from oslotest import base

from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import master_problem
from nova_groupext.solver.repair import reinsertion
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

CLASSES = {f'c{n}': {'request': {'VCPU': n}} for n in (2, 3, 4)}


class TestRepair(base.BaseTestCase):
    def attempts(self, hosts, topology, placement, *missing, **others):
        """Attempts, the best of which has come so far."""
        problem = builders.problem(hosts, topology, CLASSES, **others)
        attempts = squeaky_wheel.SqueakyWheel(problem)
        attempts.most = (
            violations.Plan(placement, {}),
            [list(m) for m in missing],
        )
        return attempts

    def repair(self, *args, seconds=60, **others):
        attempts = self.attempts(*args, **others)
        plan = reinsertion.Reinsertion(attempts).run(
            time_budget.TimeBudget(seconds)
        )
        if plan is not None:
            self.assertEqual([], violations.find(attempts.problem, plan))
        return plan

    def make_room_for_one(self, **others):
        return self.repair(
            racks(a=(4, 3)),
            group(w=1, x={'class': 'c4'}),
            {'w-0': 'a1'},
            ['x'],
            **others,
        )

    def test_nothing_to_repair_before_an_attempt_failed(self):
        attempts = self.attempts(racks(a=(4,)), group(w=1), {}, ())
        attempts.most = None
        self.assertIsNone(
            reinsertion.Reinsertion(attempts).run(time_budget.TimeBudget(60))
        )

    def test_who_sits_makes_room(self):
        plan = self.make_room_for_one()
        self.assertEqual({'w-0': 'a2', 'x': 'a1'}, plan.placement)

    def test_the_plan_with_most_members_is_kept(self):
        attempts = self.attempts(
            racks(a=(4,)),
            group(w=2, x={'class': 'c4'}),
            {},
            ['w-0', 'w-1'],
            ['x'],
        )
        found = reinsertion.Reinsertion(attempts)
        self.assertIsNone(found.closest)
        self.assertIsNone(found.run(time_budget.TimeBudget(60)))
        self.assertEqual({'w-0', 'w-1'}, set(found.closest.placement))

    def test_all_hosts_are_asked_where_they_are_few(self):
        for picker, name, picked in (
            (squeaky_wheel.SqueakyWheel, 'pick_hosts_for', set()),
            (candidate_list.HostSampler, 'pick', collections.defaultdict(set)),
            # Whoever is not brought in is lost.
            (reinsertion._Repair, 'make_room', None),
        ):
            self.useFixture(
                fixtures.MockPatchObject(picker, name, return_value=picked)
            )
        plan = self.repair(racks(a=(2, 3)), group(w=2), {'w-0': 'a1'}, ['w-1'])
        self.assertEqual(2, len(plan.placement))

    def test_one_after_the_other(self):
        plan = self.repair(
            racks(a=(4, 4, 3)),
            group(w=2, x={'class': 'c4'}, y={'class': 'c4'}),
            {'w-0': 'a1', 'w-1': 'a2'},
            ['x'],
            ['y'],
        )
        self.assertEqual({'a3'}, {plan.placement[f'w-{n}'] for n in (0, 1)})

    def test_those_who_go_together_come_in_together(self):
        below = group(
            [policy('affinity', 'rack')], v={'class': 'c2', 'count': 2}
        )
        plan = self.repair(
            racks(a=(2, 2), b=(1,)),
            group(groups={'g': below}, w=1),
            {'w-0': 'a1'},
            ['g/v-0', 'g/v-1'],
        )
        self.assertEqual('b1', plan.placement['w-0'])

    def test_pinned_members_stay(self):
        for free, expected in ((3, 'a2'), (4, 'a1')):
            plan = self.repair(
                racks(a=(free, 4)),
                group(w=1, x={'class': 'c4'}),
                {'w-0': 'a1'},
                ['x'],
                pinned={'w-0': 'a1'},
            )
            # What is pinned takes no room.
            self.assertEqual('a1', plan.placement['w-0'])
            if free == 3:
                self.assertEqual(expected, plan.placement['x'])

    def test_strict_policies_are_kept(self):
        plan = self.repair(
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

    def test_a_broken_policy_may_be_mended_by_who_comes_in(self):
        plan = self.repair(
            racks(a=(2,), b=(2,)),
            group([policy('spread', 'rack', max_skew=0)], w=4),
            {'w-0': 'a1', 'w-1': 'a1'},
            ['w-2', 'w-3'],
        )
        self.assertEqual(4, len(plan.placement))

    def test_no_room_is_no_plan(self):
        self.assertIsNone(
            self.repair(
                racks(a=(4, 0)),
                group(w=1, x={'class': 'c4'}),
                {'w-0': 'a1'},
                ['x'],
            )
        )

    def test_no_time_is_no_plan(self):
        self.assertIsNone(self.make_room_for_one(seconds=0))

    def test_where_programmes_take_too_long_members_are_sent_away(self):
        self.useFixture(
            fixtures.MockPatchObject(reinsertion, '_MOST_SEATS', 1)
        )
        plan = self.make_room_for_one()
        self.assertEqual({'w-0': 'a2', 'x': 'a1'}, plan.placement)

    def test_what_was_broken_elsewhere_is_no_plan(self):
        classes = {'c1': {'request': {'VCPU': 1}, 'hosts': ['c1']}}
        below = group([policy('spread', 'rack')], w=2)
        problem = builders.problem(
            racks(a=(4,), b=(4,), c=(4,)),
            group(groups={'g': below}, x={'class': 'c1'}),
            classes,
        )
        attempts = squeaky_wheel.SqueakyWheel(problem)
        plan = violations.Plan({'g/w-0': 'a1', 'g/w-1': 'a1'}, {})
        attempts.most = plan, [['x']]
        self.assertIsNone(
            reinsertion.Reinsertion(attempts).run(time_budget.TimeBudget(60))
        )

    def test_several_move_for_several(self):
        plan = self.repair(
            racks(a=(5, 5, 5, 5)),
            group(
                x={'class': 'c3', 'count': 3},
                y={'class': 'c2', 'count': 5},
            ),
            {f'y-{n}': f'a{n // 2 + 1}' for n in range(5)},
            ['x-0', 'x-1', 'x-2'],
        )
        self.assertEqual(8, len(plan.placement))

    def test_nobody_is_forgotten_where_only_some_are_allotted_a_domain(self):
        # All together fit nowhere: only those of g are among the bundles.
        below = group([policy('affinity', 'rack')], w=2)
        attempts = self.attempts(
            racks(a=(2,), b=(1,)),
            group([policy('affinity', 'rack')], groups={'g': below}, v=1),
            {},
            ['g/w-0', 'g/w-1', 'v-0'],
        )
        found = reinsertion._Repair(
            attempts,
            lambda budget: master_problem.DomainAssignment(attempts, budget),
        )
        coming = set(found.waiting.popleft())
        found.make_room(coming, time_budget.TimeBudget(60))
        waiting = [path for some in found.waiting for path in some]
        self.assertEqual(
            sorted(coming), sorted([*waiting, *found.plan.placement])
        )
