# SPDX-License-Identifier: Apache-2.0
"""Relaxations that are offered for a refused problem."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.explain import feasibility_oracle
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.explain import relax
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import partial_plans
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

AFFINITY = policy('affinity', 'rack')


def relaxations_of(*args, **kwargs):
    """Return {text: change} of the relaxations of a problem."""
    found = builders.solve(*args, **kwargs).relaxations
    return {entry['text']: entry['change'] for entry in found}


class TestRelaxations(base.BaseTestCase):
    SMALL = tuning.SMALL_VARIABLES

    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'SMALL_VARIABLES', self.SMALL)
        )
        # The time of a busy test process is no subject here.
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'RELAXATION_SECONDS', (20, 0, 0))
        )

    def assertOffered(self, expected, *args, **kwargs):
        offered = relaxations_of(*args, **kwargs)
        self.assertEqual(expected, offered)
        self.assertEqual(list(expected), list(offered))

    def test_soft_policy_and_fewer_members_are_offered(self):
        self.assertOffered(
            {
                'fits if the rack affinity of g is soft': {
                    'at': 'g',
                    'policy': 'affinity',
                    'scope': 'rack',
                    'strict': False,
                },
                'fits with 6 of 8 w in g': {
                    'at': 'g',
                    'members': 'w',
                    'min_count': 6,
                },
            },
            racks(a=(4, 2), b=(5,)),
            group(groups={'g': group([AFFINITY], w=8)}),
        )

    def test_change_that_loses_the_fewest_members_comes_first(self):
        self.assertOffered(
            {
                'fits without b': {'at': '', 'members': 'b', 'min_count': 0},
                'fits with 1 of 3 a': {
                    'at': '',
                    'members': 'a',
                    'min_count': 1,
                },
            },
            racks(a=(3,)),
            group(a=3, b={'class': 'two'}),
            {'two': {'request': {'VCPU': 2}}},
        )

    def test_a_policy_that_does_not_help_is_not_offered(self):
        offered = relaxations_of(
            racks(a=(2,), b=(2,)),
            group([AFFINITY, policy('spread', 'host')], w=3),
        )
        self.assertIn('fits with 1 of 3 w', offered)
        self.assertNotIn('fits if the host spread of the group', str(offered))

    def test_pinned_members_are_not_left_out(self):
        self.assertOffered(
            {
                'fits with 2 of 4 w': {
                    'at': '',
                    'members': 'w',
                    'min_count': 2,
                },
            },
            racks(a=(0,)),
            group(w=4),
            pinned={'w-0': 'a1', 'w-3': 'a1'},
        )

    def test_fewer_members_of_a_class_are_offered(self):
        three = {'class': 'two', 'count': 3}
        self.assertOffered(
            {
                'fits with 2 of 6 members like a': {
                    'class': 'two',
                    'min_counts': {'a': 1, 'b': 1},
                },
            },
            racks(a=(4,), b=(6,)),
            group(a=three, b=three, c=three),
            {'two': {'request': {'VCPU': 2}}},
        )

    def offered_for_many(self, hosts, sizes):
        """Return relaxations of 16 member sets of classes of these sizes."""
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in sizes}
        members = {
            f'm{n:02}': {'class': f'c{sizes[n % len(sizes)]}', 'count': 2}
            for n in range(16)
        }
        return relaxations_of(hosts, {'members': members}, classes)

    def test_number_of_a_class_that_fits_is_offered_for_many_sets(self):
        offered = self.offered_for_many(racks(a=(8, 8, 8)), [1])

        self.assertEqual(['fits with 24 of 32 members like m00'], [*offered])
        [change] = offered.values()
        self.assertEqual('c1', change['class'])
        self.assertEqual(24, sum(change['min_counts'].values()))
        self.assertEqual({1, 2}, set(change['min_counts'].values()))

    def test_numbers_of_three_classes_that_fit_are_offered_together(self):
        offered = self.offered_for_many(racks(a=(4,)), [2, 3, 4])

        [change] = offered.values()
        self.assertEqual(
            ['c2', 'c3', 'c4'], [part['class'] for part in change['together']]
        )

    def test_class_of_which_all_fit_is_no_change(self):
        classes = {
            'small': {'request': {'VCPU': 1}},
            'large': {'request': {'VCPU': 2}},
        }
        members = {
            f'm{n:02}': {'class': 'small' if n % 2 else 'large', 'count': 2}
            for n in range(24)
        }
        hosts = [builders.host(f'h{n}', 'a', cpu=1) for n in range(24)]
        offered = relaxations_of(hosts, {'members': members}, classes)

        self.assertEqual(['fits without any members like m00'], [*offered])

    def test_number_of_the_group_that_fits_is_offered_for_many_classes(self):
        offered = self.offered_for_many(racks(a=(6,)), [2, 3, 4, 5])

        [[text, change]] = offered.items()
        self.assertRegex(text, r'^fits with \d of 32 members$')
        self.assertEqual(['min_counts'], [*change])

    def test_changes_of_more_than_three_parts_are_not_offered(self):
        below = {f'g{n}': group([AFFINITY], w=3) for n in range(4)}
        for text, change in relaxations_of(
            racks(**{f'r{n}': (2,) for n in range(6)}), group(groups=below)
        ).items():
            self.assertLessEqual(len(change.get('together', [0])), 3, text)

    def test_joint_changes_are_offered_if_single_ones_do_not_help(self):
        self.assertOffered(
            {
                'fits if the rack affinity of g and the rack affinity of h '
                'are soft': {
                    'together': [
                        {
                            'at': at,
                            'policy': 'affinity',
                            'scope': 'rack',
                            'strict': False,
                        }
                        for at in 'gh'
                    ]
                },
                'fits with 2 of 3 v in g and 2 of 3 w in h': {
                    'together': [
                        {'at': 'g', 'members': 'v', 'min_count': 2},
                        {'at': 'h', 'members': 'w', 'min_count': 2},
                    ]
                },
            },
            racks(a=(2,), b=(2,), c=(2,)),
            group(
                groups={
                    'g': group([AFFINITY], v=3),
                    'h': group([AFFINITY], w=3),
                }
            ),
        )

    def test_joint_change_of_policies_and_members_is_offered(self):
        self.assertOffered(
            {
                'fits with 1 of 2 w if the rack affinity of the group is '
                'soft': {
                    'together': [
                        {
                            'at': '',
                            'policy': 'affinity',
                            'scope': 'rack',
                            'strict': False,
                        },
                        {'at': '', 'members': 'w', 'min_count': 1},
                    ]
                }
            },
            racks(a=(0,), b=(0, 1)),
            group([AFFINITY], p=2, w=2),
            pinned={'p-0': 'a1', 'p-1': 'b1'},
        )

    def test_offered_change_makes_the_problem_feasible(self):
        raw = builders.raw_problem(
            racks(a=(4, 2), b=(5,)), group([AFFINITY], w=8)
        )
        raw['topology']['members']['w']['min_count'] = 6
        self.assertEqual('placed', stages.solve(problems.parse(raw)).status)
        raw['topology']['members']['w']['min_count'] = 7
        self.assertEqual('refused', stages.solve(problems.parse(raw)).status)


class TestRelaxationsOfLarge(TestRelaxations):
    """The same changes, found without solving whole problems."""

    SMALL = 0


class SlowOracle(feasibility_oracle.Oracle):
    """An oracle of a problem that takes too long as a whole."""

    def __init__(self, problem, verdicts):
        """Answer only the first queries.

        :param verdicts: feasibility.Verdict objects, first on a plan without
            the conflict, then on the next queries
        """
        super().__init__(problem, time_budget.TimeBudget(60))
        self._verdicts = list(verdicts)

    def find(self, problem, share=0.1):
        if self._verdicts:
            verdict = self._verdicts.pop(0)
            self.is_cut_short = verdict == feasibility.Verdict(
                best_partial_plan=verdict.best_partial_plan
            )
            return verdict
        if not problem.pinned:
            self.is_cut_short = True
            return feasibility.Verdict()
        return super().find(problem, share)


class TestHardProblems(base.BaseTestCase):
    """Relaxations that are offered if whole problems take too long."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(tuning, 'SMALL_VARIABLES', 0))
        self.useFixture(
            fixtures.MockPatchObject(
                partial_plans, 'complete', lambda *_: None
            )
        )
        self.problem = builders.problem(
            racks(a=(2, 3), b=(3,)),
            group(u=1, v=1, groups={'g': group([AFFINITY], w=5)}),
        )
        affinity = assumptions.PolicyAssumption('g', 'affinity', 'rack')
        self.conflict = minimal_conflict.Conflict(
            (affinity, assumptions.MemberAssumption('g/w')), True
        )

    def relaxations_of(self, *verdicts):
        oracle = SlowOracle(self.problem, verdicts)
        found = relax.find_corrections(oracle, self.conflict)
        return [entry['text'] for entry in found], oracle.is_cut_short

    def test_plan_without_the_conflict_is_extended(self):
        texts, _ = self.relaxations_of(
            feasibility.Verdict(
                violations.Plan({'u-0': 'a1', 'v-0': 'a1'}, {})
            )
        )
        self.assertEqual(
            [
                'fits if the rack affinity of g is soft',
                'fits with 3 of 5 w in g',
            ],
            texts,
        )

    def test_members_missing_from_a_partial_plan_may_be_left_out(self):
        texts, is_cut_short = self.relaxations_of(
            feasibility.Verdict(
                best_partial_plan=violations.Plan({'u-0': 'a1'}, {})
            )
        )
        self.assertEqual(['fits with 4 of 5 w in g'], texts)
        self.assertTrue(is_cut_short)

    def test_members_may_be_left_out_despite_a_second_conflict(self):
        texts, is_cut_short = self.relaxations_of(
            feasibility.Verdict(is_infeasible=True),
            feasibility.Verdict(
                best_partial_plan=violations.Plan({'u-0': 'a1'}, {})
            ),
        )
        self.assertEqual(['fits with 4 of 5 w in g'], texts)
        self.assertTrue(is_cut_short)

    def test_no_change_is_offered_without_a_plan(self):
        self.assertEqual([], self.relaxations_of()[0])

    def test_sets_of_a_partial_plan_are_counted_with_all_of_their_class(self):
        self.useFixture(fixtures.MockPatchObject(tuning, 'MAX_RAISED_SETS', 3))
        self.problem = builders.problem(
            racks(a=(1,)), group(p=1, q=1, r=1, s=1, t=1)
        )
        self.conflict = minimal_conflict.Conflict(
            tuple(map(assumptions.MemberAssumption, 'pqrst')), True
        )

        texts, _ = self.relaxations_of(
            feasibility.Verdict(
                best_partial_plan=violations.Plan({'p-0': 'a1'}, {})
            )
        )

        self.assertEqual(['fits with 1 of 5 members like p'], texts)
