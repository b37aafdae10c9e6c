# SPDX-License-Identifier: Apache-2.0
"""Ejection search: inserted and ejected members."""

import fixtures
import hypothesis
from hypothesis import strategies
from oslotest import base

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import colocation_groups
from nova_groupext.solver.repair import ejection
from nova_groupext.solver.repair import joint_reinsertion
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

CLASSES = {f'c{n}': {'request': {'VCPU': n}} for n in (2, 3, 4)}


class EjectionCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(
                colocation_groups, '_MAX_LARGE_DOMAINS', 1
            )
        )

    def start(self, hosts, topology, placement, **others):
        """Start an ejection search with a plan."""
        self.problem = builders.problem(hosts, topology, CLASSES, **others)
        self.greedy = squeaky_wheel.SqueakyWheel(self.problem)
        self.plan = violations.Plan(placement, {})
        self.ejection = ejection.EjectionSearch(
            self.greedy, assignment.AssignmentState(self.problem, self.plan)
        )

    def insert(self, *to_insert):
        result = self.ejection.insert(
            self.plan, set(to_insert), time_budget.TimeBudget(60)
        )
        if result is not None:
            self.check(result, to_insert)
        return result

    def check(self, result, to_insert):
        """Assert that every member is placed or ejected."""
        ejected = [path for paths in result.ejected for path in paths]
        self.assertEqual(
            sorted({*self.plan.placement, *to_insert}),
            sorted([*result.plan.placement, *ejected]),
        )
        absent = self.problem.class_of.keys() - result.plan.placement.keys()
        rest = subproblem.remove_members(self.problem, absent)
        self.assertEqual([], violations.find(rest, result.plan))


class TestInsert(EjectionCase):
    def test_other_members_move_where_possible(self):
        self.start(
            racks(a=(4, 3)), group(w=1, x={'class': 'c4'}), {'w-0': 'a1'}
        )
        result = self.insert('x')
        self.assertEqual({'w-0': 'a2', 'x': 'a1'}, result.plan.placement)
        self.assertEqual(([], 0), (result.ejected, result.penalty))

    def test_members_without_another_host_are_ejected(self):
        self.start(racks(a=(4,)), group(w=2, x={'class': 'c3'}), {'w-0': 'a1'})
        self.start(racks(a=(3,)), group(w=1, x={'class': 'c3'}), {'w-0': 'a1'})
        result = self.insert('x')
        self.assertEqual({'x': 'a1'}, result.plan.placement)
        self.assertEqual([['w-0']], result.ejected)

    def test_pinned_members_are_not_ejected(self):
        self.start(
            [builders.host('a1', 'a', cpu=3)],
            group([policy('anti-affinity', 'host')], w=1, x=1),
            {'w-0': 'a1'},
            pinned={'w-0': 'a1'},
        )
        self.assertIsNone(self.insert('x-0'))

    def test_member_without_a_large_enough_host_is_not_inserted(self):
        self.start(racks(a=(2,)), group(w=1, x={'class': 'c3'}), {})
        self.assertIsNone(self.insert('x'))

    def test_colocated_members_are_ejected_together(self):
        below = group([policy('affinity', 'rack')], v=3)
        self.start(
            racks(a=(3, 2), b=(2,)),
            group(groups={'g': below}, x={'class': 'c3'}),
            {'g/v-0': 'a1', 'g/v-1': 'a2', 'g/v-2': 'a2'},
        )
        result = self.insert('x')
        self.assertEqual([['g/v-0', 'g/v-1', 'g/v-2']], result.ejected)

    def test_fewest_members_are_ejected(self):
        self.start(
            racks(a=(3, 3)),
            group(w=3, v=1, x={'class': 'c3'}),
            {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'a1', 'v-0': 'a2'},
        )
        self.assertEqual(1, self.insert('x').penalty)

    def test_member_that_failed_more_often_is_not_ejected(self):
        # A policy makes the members of one class different.
        self.start(
            racks(a=(3, 3)),
            group(
                groups={
                    name: group(
                        [policy('anti-affinity', 'host')], w={'class': 'c3'}
                    )
                    for name in 'ghi'
                }
            ),
            {'g/w': 'a1', 'h/w': 'a2'},
        )
        for _ in range(5):
            self.insert('g/w')
        self.assertEqual([['h/w']], self.insert('i/w').ejected)

    def test_interchangeable_members_are_not_ejected(self):
        self.start(racks(a=(3,)), group(w=4), {'w-0': 'a1', 'w-1': 'a1'})
        self.assertEqual(3, len(self.insert('w-2').plan.placement))
        self.start(racks(a=(2,)), group(w=4), {'w-0': 'a1', 'w-1': 'a1'})
        self.assertIsNone(self.insert('w-2'))


class TestMoveGroups(EjectionCase):
    def test_colocation_groups_move_to_their_new_domains(self):
        groups = {
            name: group([policy('affinity', 'rack')], w=count)
            for name, count in (('g', 2), ('h', 3))
        }
        self.start(
            racks(a=(3,), b=(2,)),
            group(groups=groups),
            {'g/w-0': 'a1', 'g/w-1': 'a1'},
        )
        prescribed = {
            propagator: {'g': 1, 'h': 0}[propagator.policy.at]
            for propagator in self.greedy.state.propagators
        }
        to_insert = set(self.problem.class_of)
        for domains in (1, 9):
            self.useFixture(
                fixtures.MockPatchObject(
                    colocation_groups, '_MAX_LARGE_DOMAINS', domains
                )
            )
            budget = time_budget.TimeBudget(60)
            result = self.ejection.move_groups(
                self.plan,
                joint_reinsertion.Move(
                    prescribed, list(prescribed), to_insert
                ),
                colocation_groups.ColocationGroups(self.greedy, budget),
                budget,
            )
            self.check(result, to_insert)
            self.assertEqual([], result.ejected)
            self.assertEqual('b1', result.plan.placement['g/w-0'])
            self.assertEqual('a1', result.plan.placement['h/w-0'])


class TestFreeDomains(EjectionCase):
    def test_other_members_keep_their_capacity(self):
        below = group([policy('affinity', 'rack')], v=3)
        self.start(
            racks(a=(4,), b=(4,), c=(3,)),
            group(groups={'g': below}, w=2),
            {'g/v-0': 'c1', 'g/v-1': 'c1', 'g/v-2': 'c1', 'w-0': 'a1'}
            | {'w-1': 'a1'},
        )
        colocated = next(
            each for each in self.greedy.state.propagators if each.needs_domain
        )
        self.assertEqual(
            {colocated: {1, 2}}, self.ejection.find_free_domains([colocated])
        )


class TestInsertAny(EjectionCase):
    @hypothesis.settings(deadline=None, derandomize=True)
    @hypothesis.given(strategies.data())
    def test_every_member_is_placed_or_ejected(self, data):
        draw = data.draw
        sizes = strategies.integers(1, 6)
        hosts = racks(
            **{
                name: draw(strategies.lists(sizes, min_size=1, max_size=3))
                for name in 'abc'
            }
        )
        policies = strategies.sampled_from(
            [
                policy('affinity', 'rack'),
                policy('affinity', 'zone'),
                policy('anti-affinity', 'host'),
                policy('affinity', 'rack', False),
                policy('spread', 'rack', max_skew=9, min_domains=1),
            ]
        )
        groups = {
            name: group(
                draw(strategies.lists(policies, max_size=2)),
                w=draw(sizes),
                v={
                    'class': draw(strategies.sampled_from(sorted(CLASSES))),
                    'count': 2,
                    'min_count': draw(strategies.integers(0, 2)),
                },
            )
            for name in 'gh'
        }
        self.start(hosts, group(groups=groups), {})
        self.greedy.run_iteration()
        if self.greedy.best_partial is None:
            return
        self.plan, unplaced = self.greedy.best_partial
        self.ejection = ejection.EjectionSearch(
            self.greedy, assignment.AssignmentState(self.problem, self.plan)
        )
        for paths in unplaced:
            result = self.ejection.insert(
                self.plan, set(paths), time_budget.TimeBudget(60)
            )
            if result is not None:
                ejected = [path for paths in result.ejected for path in paths]
                self.assertEqual(
                    sorted({*self.plan.placement, *paths}),
                    sorted([*result.plan.placement, *ejected]),
                )
                self.assertLessEqual(set(paths), {*result.plan.placement})
                return
