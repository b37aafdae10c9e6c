# SPDX-License-Identifier: Apache-2.0
"""Who loses a seat to whom, and is nobody forgotten?"""

import fixtures
import hypothesis
from hypothesis import strategies
from oslotest import base

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
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
            fixtures.MockPatchObject(colocation_groups, '_FEW_DOMAINS', 1)
        )

    def start(self, hosts, topology, placement, **others):
        """An ejection among members that sit somewhere."""
        self.problem = builders.problem(hosts, topology, CLASSES, **others)
        self.finder = squeaky_wheel.SqueakyWheel(self.problem)
        self.plan = violations.Plan(placement, {})
        self.ejection = ejection.Ejection(
            self.finder, assignment.AssignmentState(self.problem, self.plan)
        )

    def seat(self, *coming):
        found = self.ejection.seat(
            self.plan, set(coming), time_budget.TimeBudget(60)
        )
        if found is not None:
            self.check(found, coming)
        return found

    def check(self, change, coming):
        """All sit lawfully, or are told to have lost their seats."""
        lost = [path for some in change.lost for path in some]
        self.assertEqual(
            sorted({*self.plan.placement, *coming}),
            sorted([*change.plan.placement, *lost]),
        )
        gone = self.problem.class_of.keys() - change.plan.placement.keys()
        rest = subproblem.without(self.problem, gone)
        self.assertEqual([], violations.find(rest, change.plan))


class TestSeat(EjectionCase):
    def test_others_move_where_they_can(self):
        self.start(
            racks(a=(4, 3)), group(w=1, x={'class': 'c4'}), {'w-0': 'a1'}
        )
        change = self.seat('x')
        self.assertEqual({'w-0': 'a2', 'x': 'a1'}, change.plan.placement)
        self.assertEqual(([], 0), (change.lost, change.price))

    def test_others_lose_their_seats_where_they_cannot(self):
        self.start(racks(a=(4,)), group(w=2, x={'class': 'c3'}), {'w-0': 'a1'})
        self.start(racks(a=(3,)), group(w=1, x={'class': 'c3'}), {'w-0': 'a1'})
        change = self.seat('x')
        self.assertEqual({'x': 'a1'}, change.plan.placement)
        self.assertEqual([['w-0']], change.lost)

    def test_pinned_members_stay(self):
        self.start(
            [builders.host('a1', 'a', cpu=3)],
            group([policy('anti-affinity', 'host')], w=1, x=1),
            {'w-0': 'a1'},
            pinned={'w-0': 'a1'},
        )
        self.assertIsNone(self.seat('x-0'))

    def test_there_is_none_for_those_who_fit_nowhere(self):
        self.start(racks(a=(2,)), group(w=1, x={'class': 'c3'}), {})
        self.assertIsNone(self.seat('x'))

    def test_those_who_share_a_domain_lose_it_together(self):
        below = group([policy('affinity', 'rack')], v=3)
        self.start(
            racks(a=(3, 2), b=(2,)),
            group(groups={'g': below}, x={'class': 'c3'}),
            {'g/v-0': 'a1', 'g/v-1': 'a2', 'g/v-2': 'a2'},
        )
        change = self.seat('x')
        self.assertEqual([['g/v-0', 'g/v-1', 'g/v-2']], change.lost)

    def test_fewer_lose_their_seats_rather_than_more(self):
        self.start(
            racks(a=(3, 3)),
            group(w=3, v=1, x={'class': 'c3'}),
            {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'a1', 'v-0': 'a2'},
        )
        self.assertEqual(1, self.seat('x').price)

    def test_who_failed_more_often_is_worth_more(self):
        # Those who are alike are told apart by a policy.
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
            self.seat('g/w')
        self.assertEqual([['h/w']], self.seat('i/w').lost)

    def test_nobody_goes_for_one_who_is_alike(self):
        self.start(racks(a=(3,)), group(w=4), {'w-0': 'a1', 'w-1': 'a1'})
        self.assertEqual(3, len(self.seat('w-2').plan.placement))
        self.start(racks(a=(2,)), group(w=4), {'w-0': 'a1', 'w-1': 'a1'})
        self.assertIsNone(self.seat('w-2'))


class TestSettle(EjectionCase):
    def test_bundles_move_to_their_new_domains(self):
        groups = {
            name: group([policy('affinity', 'rack')], w=count)
            for name, count in (('g', 2), ('h', 3))
        }
        self.start(
            racks(a=(3,), b=(2,)),
            group(groups=groups),
            {'g/w-0': 'a1', 'g/w-1': 'a1'},
        )
        homes = {
            propagator: {'g': 1, 'h': 0}[propagator.policy.at]
            for propagator in self.finder.state.propagators
        }
        coming = set(self.problem.class_of)
        for domains in (1, 9):
            self.useFixture(
                fixtures.MockPatchObject(
                    colocation_groups, '_FEW_DOMAINS', domains
                )
            )
            budget = time_budget.TimeBudget(60)
            change = self.ejection.settle(
                self.plan,
                joint_reinsertion.Move(homes, list(homes), coming),
                colocation_groups.ColocationGroups(self.finder, budget),
                budget,
            )
            self.check(change, coming)
            self.assertEqual([], change.lost)
            self.assertEqual('b1', change.plan.placement['g/w-0'])
            self.assertEqual('a1', change.plan.placement['h/w-0'])


class TestRoomy(EjectionCase):
    def test_only_bundles_stand_up(self):
        below = group([policy('affinity', 'rack')], v=3)
        self.start(
            racks(a=(4,), b=(4,), c=(3,)),
            group(groups={'g': below}, w=2),
            {'g/v-0': 'c1', 'g/v-1': 'c1', 'g/v-2': 'c1', 'w-0': 'a1'}
            | {'w-1': 'a1'},
        )
        bundle = next(
            filter(propagators.needs_domain, self.finder.state.propagators)
        )
        self.assertEqual({bundle: {1, 2}}, self.ejection.find_roomy([bundle]))


class TestAny(EjectionCase):
    @hypothesis.settings(deadline=None, derandomize=True)
    @hypothesis.given(strategies.data())
    def test_nobody_is_forgotten(self, data):
        draw = data.draw
        sizes = strategies.integers(1, 6)
        hosts = racks(
            **{
                name: draw(strategies.lists(sizes, min_size=1, max_size=3))
                for name in 'abc'
            }
        )
        kinds = strategies.sampled_from(
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
                draw(strategies.lists(kinds, max_size=2)),
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
        self.finder.attempt()
        if self.finder.most is None:
            return
        self.plan, missing = self.finder.most
        self.ejection = ejection.Ejection(
            self.finder, assignment.AssignmentState(self.problem, self.plan)
        )
        for some in missing:
            found = self.ejection.seat(
                self.plan, set(some), time_budget.TimeBudget(60)
            )
            if found is not None:
                lost = [path for each in found.lost for path in each]
                self.assertEqual(
                    sorted({*self.plan.placement, *some}),
                    sorted([*found.plan.placement, *lost]),
                )
                self.assertLessEqual(set(some), {*found.plan.placement})
                return
