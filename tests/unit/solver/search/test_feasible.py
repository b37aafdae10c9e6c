# SPDX-License-Identifier: Apache-2.0
"""Feasibility search: plans of every stage, and proofs of the last one."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import reinsertion
from nova_groupext.solver.search import feasible
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class FeasibleCase(base.BaseTestCase):
    def find(self, *args, seconds=60, **others):
        problem = builders.problem(*args, **others)
        verdict = feasible.find(problem, time_budget.TimeBudget(seconds))
        if verdict.plan is not None:
            self.assertEqual([], violations.find(problem, verdict.plan))
            self.assertFalse(verdict.is_infeasible)
        return verdict


class TestConstructOnce(base.BaseTestCase):
    def construct(self, *args, **others):
        search = feasible.FeasibilitySearch(
            builders.problem(*args, **others), time_budget.TimeBudget(60)
        )
        verdict = search.construct_once()
        return verdict.stage, verdict.plan and verdict.plan.placement

    def test_current_placement_is_the_first_plan(self):
        self.useFixture(
            fixtures.MockPatchObject(
                *(reinsertion.Reinsertion, 'run'),
                side_effect=AssertionError('nothing is missing'),
            )
        )
        current = {'w-0': 'b1', 'w-1': 'a1'}
        self.assertEqual(
            ('current', current),
            self.construct(racks(a=(2,), b=(2,)), group(w=2), current=current),
        )

    def test_current_placement_is_completed(self):
        self.assertEqual(
            ('current', {'w-0': 'a1', 'w-1': 'c1'}),
            self.construct(
                racks(a=(2,), b=(0,), c=(2,)),
                group([policy('anti-affinity', 'host')], w=2),
                current={'w-0': 'b1', 'w-1': 'c1'},
            ),
        )

    def test_many_new_members_are_constructed(self):
        stage, _placement = self.construct(
            racks(a=(2,), b=(3,)), group(w=5), current={'w-0': 'b1'}
        )
        self.assertEqual('greedy', stage)

    def test_pinned_members_are_no_start(self):
        pinned = {'w-0': 'a1', 'w-1': 'a1'}
        stage, _placement = self.construct(
            *(racks(a=(2,), b=(3,)), group(w=3)),
            pinned=pinned,
            current=pinned,
        )
        self.assertEqual('greedy', stage)

    def test_members_stay_where_insertion_fails(self):
        """The program that follows keeps them by its objective."""
        self.useFixture(
            fixtures.MockPatchObject(
                reinsertion.Reinsertion, 'run', return_value=None
            )
        )
        current = {'w-0': 'b1', 'w-1': 'c1', 'w-2': 'a1'}
        stage, placement = self.construct(
            racks(a=(1,), b=(0,), c=(1,), d=(1,)),
            group([policy('anti-affinity', 'host')], w=3),
            current=current,
            objective='changes',
        )
        self.assertEqual('current', stage)
        self.assertEqual({**current, 'w-0': 'd1'}, placement)


class TestFind(FeasibleCase):
    """Small and large problems."""

    SMALL = tuning.SMALL_VARIABLES

    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'SMALL_VARIABLES', self.SMALL)
        )

    def test_construction_finds_a_plan_of_an_easy_problem(self):
        verdict = self.find(racks(a=(2, 2)), group(w=4))
        self.assertEqual('greedy', verdict.stage)
        self.assertEqual(4, len(verdict.plan.placement))

    def test_program_over_all_hosts_proves_infeasibility(self):
        verdict = self.find(
            racks(a=(3, 3)),
            group(w={'class': 'two', 'count': 3}),
            {'two': {'request': {'VCPU': 2}}},
        )
        self.assertIsNone(verdict.plan)
        self.assertTrue(verdict.is_infeasible)
        self.assertEqual('full', verdict.stage)

    def test_without_time_there_is_no_proof(self):
        problem = builders.hard_problem()
        verdict = feasible.find(problem, time_budget.TimeBudget(0))
        self.assertIsNone(verdict.plan)
        self.assertFalse(verdict.is_infeasible)

    def test_pinned_members_alone_are_a_plan(self):
        verdict = self.find(racks(a=(0,)), group(w=1), pinned={'w-0': 'a1'})
        self.assertEqual({'w-0': 'a1'}, verdict.plan.placement)

    def test_without_hosts_only_optional_members_are_feasible(self):
        self.assertTrue(self.find([], group(w=1)).is_infeasible)
        optional = {'class': 'one', 'min_count': 0}
        self.assertEqual({}, self.find([], group(w=optional)).plan.placement)

    def test_class_without_hosts_is_feasible_only_if_optional(self):
        classes = {'none': {'request': {}, 'hosts': []}}
        for least, is_infeasible in ((0, False), (1, True)):
            optional = {'class': 'none', 'count': 2, 'min_count': least}
            verdict = self.find(racks(a=(8,)), group(w=1, x=optional), classes)
            self.assertEqual(is_infeasible, verdict.is_infeasible)

    def test_all_policies_are_met_together(self):
        below = {
            'f': group([policy('affinity', 'rack')], w=3),
            'g': group(
                [
                    policy('exclusive', 'rack'),
                    policy('anti-affinity', 'host', max_per_domain=2),
                ],
                w=3,
            ),
        }
        verdict = self.find(
            racks(a=(2, 2), b=(3,), c=(3, 3), d=(1, 1, 1)),
            group(
                [
                    policy('spread', 'rack', max_skew=3),
                    policy('survive', 'rack', min_members=5),
                ],
                groups=below,
                o=2,
            ),
        )
        self.assertEqual(8, len(verdict.plan.placement))


class TestFindLarge(TestFind):
    """All problems are treated as large ones."""

    SMALL = 0


class TestStages(FeasibleCase):
    """Stages after constructions that all fail."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(tuning, 'SMALL_VARIABLES', 0))
        run_iteration = squeaky_wheel.SqueakyWheel.run_iteration
        # Their partial plans remain, as if a member had found no host.
        self.useFixture(
            fixtures.MockPatchObject(
                squeaky_wheel.SqueakyWheel,
                'run_iteration',
                lambda *args, **kwargs: (
                    run_iteration(*args, **kwargs) and None
                ),
            )
        )

    def test_program_over_some_hosts_finds_a_plan(self):
        verdict = self.find(racks(a=[2] * 40), group(w=3))
        self.assertEqual('restricted', verdict.stage)

    def test_part_with_all_hosts_is_no_part(self):
        self.patch(tuning, 'MAX_TURN_VARIABLES', 0)
        self.patch(tuning, 'WIDE', 1.0)
        self.patch(tuning, 'PART_CAPACITY', 99)
        verdict = self.find(racks(a=(2, 2, 2)), group(w=3))
        self.assertEqual('full', verdict.stage)

    def test_narrowed_problem_is_used_for_programs(self):
        hosts = racks(a=[2] * 40)
        problem, narrowed = (
            builders.problem(
                hosts,
                group(w={'class': 'two', 'count': 3}),
                {'two': {'request': {'VCPU': 2}, 'hosts': names}},
            )
            for names in ([h['id'] for h in hosts], ['a1', 'a2', 'a3'])
        )
        budget = time_budget.TimeBudget(60)
        verdict = feasible.FeasibilitySearch(problem, budget).find(narrowed)
        self.assertEqual(
            ['a1', 'a2', 'a3'], sorted(verdict.plan.placement.values())
        )

    def solve_parts(self, number, **constants):
        """Run some programs; return which of them were over all hosts."""
        for name, value in constants.items():
            self.patch(tuning, name, value)
        self.patch(
            feasibility,
            'solve',
            lambda *_, **__: feasibility.Verdict(stage='all'),
        )
        problem = builders.problem(racks(a=[1] * 40), group(w=3))
        steps = feasible._Steps(
            squeaky_wheel.SqueakyWheel(problem), time_budget.TimeBudget(60)
        )
        return [steps.solve_part().stage == 'all' for _ in range(number)]

    def test_small_problem_gets_the_program_over_all_hosts(self):
        self.assertEqual([True] * 3, self.solve_parts(3, SMALL_VARIABLES=40))

    def test_larger_one_gets_it_in_turn(self):
        self.assertEqual([False, True] * 2, self.solve_parts(4))

    def test_large_one_gets_it_rarely(self):
        found = self.solve_parts(8, MAX_TURN_VARIABLES=39, RARE_TURN=4)
        self.assertEqual(([False] * 3 + [True]) * 2, found)

    def test_huge_one_never_gets_it(self):
        found = self.solve_parts(
            9, MAX_TURN_VARIABLES=39, MAX_EXACT_VARIABLES=39
        )
        self.assertEqual([False] * 9, found)

    def sample_parts(self, verdict):
        """Run some programs over parts; return their sample sizes."""
        sizes = []
        sample = squeaky_wheel.SqueakyWheel.sample_hosts

        def note(greedy, size, *args, **kwargs):
            sizes.append(size.capacity)
            return sample(greedy, size, *args, **kwargs)

        self.patch(squeaky_wheel.SqueakyWheel, 'sample_hosts', note)
        self.patch(feasibility, 'solve', lambda *_, **__: verdict)
        self.patch(tuning, 'MAX_TURN_VARIABLES', 0)
        problem = builders.problem(racks(a=[1] * 200), group(w=3))
        steps = feasible._Steps(
            squeaky_wheel.SqueakyWheel(problem), time_budget.TimeBudget(60)
        )
        steps._partial_plan = violations.Plan({}, {})
        for _ in range(6):
            steps.solve_part()
        return sizes

    def test_part_grows_when_it_has_no_plan(self):
        near, wide, growth = 1.0, tuning.WIDE, tuning.PART_GROWTH
        proof = feasibility.Verdict(is_infeasible=True)
        expected = [
            *(near, near * growth, wide),
            *(near * growth**2, near * growth**3, wide * growth),
        ]
        for size, actual in zip(
            expected, self.sample_parts(proof), strict=True
        ):
            self.assertAlmostEqual(tuning.PART_CAPACITY * size, actual)

    def test_near_part_stays_when_its_time_ends(self):
        found = self.sample_parts(feasibility.Verdict())
        self.assertEqual(1, len({found[n] for n in (0, 1, 3, 4)}))

    def test_cheaper_proof_ends_the_search(self):
        problem = builders.problem(racks(a=[2] * 40), group(w=3))
        self.patch(
            feasible._Steps, 'solve_part', lambda _: feasibility.Verdict()
        )
        proof = feasibility.Verdict(None, True, 'subproblem', frozenset('a'))
        search = feasible.FeasibilitySearch(
            problem, time_budget.TimeBudget(60)
        )
        found = search.find(prove=lambda: proof)
        self.assertEqual('subproblem', found.stage)

    def patch(self, where, name, value):
        self.useFixture(fixtures.MockPatchObject(where, name, value))

    def test_infeasibility_over_some_hosts_is_no_proof(self):
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in (3, 4, 5)}
        members = {f'm{n}': {'class': f'c{n}', 'count': 2} for n in (3, 4, 5)}
        verdict = self.find(racks(a=(8, 8, 8, 2)), group(**members), classes)
        self.assertIsNotNone(verdict.plan)

    def test_failed_insertion_is_no_proof(self):
        verdict = self.find(
            racks(a=(3, 3)),
            group(w={'class': 'two', 'count': 3}),
            {'two': {'request': {'VCPU': 2}}},
        )
        self.assertTrue(verdict.is_infeasible)
        self.assertEqual('full', verdict.stage)


class TestSolve(base.BaseTestCase):
    """The integer program over all hosts alone."""

    def solve(self, *args, seconds=60, **others):
        problem = builders.problem(*args, **others)
        return feasibility.solve(problem, time_budget.TimeBudget(seconds))

    def test_feasible_problem_has_a_plan(self):
        verdict = self.solve(racks(a=(1, 1)), group(w=2))
        self.assertEqual({'a1', 'a2'}, set(verdict.plan.placement.values()))
        self.assertFalse(verdict.is_infeasible)
        self.assertEqual('full', verdict.stage)

    def test_infeasible_problem_has_a_proof(self):
        verdict = self.solve(racks(a=(1,)), group(w=2))
        self.assertIsNone(verdict.plan)
        self.assertTrue(verdict.is_infeasible)

    def test_problem_without_time_has_neither(self):
        verdict = feasibility.solve(
            builders.hard_problem(), time_budget.TimeBudget(0)
        )
        self.assertIsNone(verdict.plan)
        self.assertFalse(verdict.is_infeasible)
