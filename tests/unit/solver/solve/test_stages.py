# SPDX-License-Identifier: Apache-2.0
"""Decisions as a whole: objectives, pins and alternatives."""

import random
from unittest import mock

import fixtures
from oslotest import base

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.exact import tie_breaking
from nova_groupext.solver.explain import feasibility_oracle
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.proofs import quick_proofs
from nova_groupext.solver.search import feasible
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def optional(count, min_count=0, name='one'):
    return {'class': name, 'count': count, 'min_count': min_count}


class TestObjective(base.BaseTestCase):
    def test_group_that_needs_a_joint_decision_is_placed(self):
        # 8 goes to the host with 12 by capacity, 6 and 6 then need 10 and 2.
        classes = {'large': {'request': {'VCPU': 8}}}
        classes['medium'] = {'request': {'VCPU': 6}}
        answer = builders.solve(
            racks(a=(12, 10)),
            group(l={'class': 'large'}, m={'class': 'medium', 'count': 2}),
            classes,
        )
        self.assertEqual(
            {'a1': ['m-0', 'm-1'], 'a2': ['l']}, builders.by_host(answer)
        )

    def test_members_take_precedence_over_cost(self):
        answer = builders.solve(
            racks(a=(1,), b=(1,)),
            group([policy('affinity', 'rack', False)], w=optional(2)),
        )
        self.assertEqual(2, len(answer.placement))
        self.assertEqual(1, answer.cost['soft'])

    def test_changes_take_precedence_over_cost(self):
        current = {'w-0': 'a1', 'w-1': 'b1'}
        answer = builders.solve(
            racks(a=(2,), b=(2,)),
            group([policy('affinity', 'rack', False)], w=2),
            current=current,
            objective='changes',
        )
        self.assertEqual(current, answer.placement)
        self.assertEqual((0, 1), (answer.cost['changes'], answer.cost['soft']))

    def test_cost_takes_precedence_over_preference(self):
        classes = {'one': {'request': {'VCPU': 1}, 'scores': {'b1': 100}}}
        answer = builders.solve(
            racks(a=(2,), b=(1,)),
            group([policy('affinity', 'rack', False)], w=2),
            classes,
        )
        self.assertEqual({'a1': ['w-0', 'w-1']}, builders.by_host(answer))
        self.assertEqual(0, answer.cost['preference'])

    def test_preference_takes_precedence_over_host_ids(self):
        scores = {'a1': -1.5, 'a2': 0.25, 'b1': 0.1}
        classes = {'one': {'request': {'VCPU': 1}, 'scores': scores}}
        answer = builders.solve(racks(a=(2, 1), b=(8,)), group(w=2), classes)
        self.assertEqual(
            {'a2': ['w-0'], 'b1': ['w-1']}, builders.by_host(answer)
        )
        self.assertEqual(0.35, answer.cost['preference'])

    def test_equal_plans_take_the_smallest_hosts_in_path_order(self):
        answer = builders.solve(racks(a=(2, 10)), group(w=12))
        # By number, not by letter: w-10 is not the third.
        self.assertEqual(
            {
                'a1': ['w-0', 'w-1'],
                'a2': sorted(f'w-{n}' for n in range(2, 12)),
            },
            builders.by_host(answer),
        )

    def test_distant_costs_are_both_minimised(self):
        policies = [
            policy('anti-affinity', 'host', False, weight=1000),
            policy('affinity', 'host', False, weight=0.01),
        ]
        answer = builders.solve(racks(a=(8, 8)), group(policies, w=2))
        self.assertEqual(0.01, answer.cost['soft'])
        self.assertEqual(0.01, answer.cost['bound'])

    def test_weight_of_0_costs_nothing(self):
        answer = builders.solve(
            racks(a=(8,)),
            group([policy('anti-affinity', 'host', False, weight=0)], w=2),
        )
        self.assertEqual(0, answer.cost['soft'])
        self.assertEqual([], answer.violations)

    def test_violations_add_up(self):
        policies = [
            policy('anti-affinity', 'host', False, weight=2),
            policy('survive', 'host', False, min_members=1),
            policy('affinity', 'host', False),
        ]
        answer = builders.solve(racks(a=(8,)), group(policies, w=3))
        self.assertEqual(
            [
                {
                    'at': '',
                    'policy': {'type': 'anti-affinity', 'scope': 'host'},
                    'cost': 6.0,
                },
                {
                    'at': '',
                    'policy': {'type': 'survive', 'scope': 'host'},
                    'cost': 1.0,
                },
            ],
            answer.violations,
        )
        self.assertEqual(7, answer.cost['soft'])


class TestMembers(base.BaseTestCase):
    def test_first_members_are_placed_as_many_as_fit(self):
        answer = builders.solve(racks(a=(2,), b=(1,)), group(w=optional(5, 2)))
        self.assertEqual(['w-0', 'w-1', 'w-2'], list(answer.placement))
        self.assertEqual(['w-3', 'w-4'], answer.unplaced)

    def test_fewer_than_min_count_is_a_refusal(self):
        answer = builders.solve(racks(a=(2,), b=(1,)), group(w=optional(5, 4)))
        self.assertEqual('refused', answer.status)
        self.assertEqual(
            [
                {
                    'kind': 'members',
                    'at': '',
                    'members': 'w',
                    'code': 'vrt.members',
                    'text': 'at least 4 of 5 w',
                }
            ],
            answer.conflict,
        )
        self.assertTrue(answer.minimal)

    def test_optional_members_yield_to_strict_policies(self):
        answer = builders.solve(
            racks(a=(8, 8)),
            group([policy('anti-affinity', 'host')], w=optional(5)),
        )
        self.assertEqual(
            {'a1': ['w-0'], 'a2': ['w-1']}, builders.by_host(answer)
        )

    def test_single_optional_member_may_stay_unplaced(self):
        answer = builders.solve(
            racks(a=(1,)), group(m={'class': 'one'}, x=optional(1))
        )
        self.assertEqual({'m': 'a1'}, answer.placement)
        self.assertEqual(['x-0'], answer.unplaced)

    def test_problem_without_required_members_is_placed(self):
        answer = builders.solve([], group(w=optional(1)))
        self.assertEqual(('placed', {}), (answer.status, answer.placement))
        self.assertEqual({'soft': 0, 'bound': 0, 'preference': 0}, answer.cost)

    def test_cloud_without_hosts_is_refused(self):
        self.assertEqual('refused', builders.solve([], group(w=1)).status)

    def test_class_without_hosts_is_not_placed(self):
        classes = {'one': {'request': {}, 'hosts': []}}
        answer = builders.solve(racks(a=(8,)), group(w=optional(1)), classes)
        self.assertEqual(['w-0'], answer.unplaced)

    def test_missing_resource_counts_as_zero(self):
        classes = {'one': {'request': {'FPGA': 1}}}
        hosts = racks(a=(8,), b=(8,))
        hosts[1]['free']['FPGA'] = 1
        answer = builders.solve(hosts, group(w=optional(2)), classes)
        self.assertEqual({'b1': ['w-0']}, builders.by_host(answer))


class TestAlternatives(base.BaseTestCase):
    CLASSES = {
        'gpu': {
            'request': {'VCPU': 99},
            'hosts': ['a1', 'b1'],
            'alternatives': {
                'a1': [{'GPU0': 1}, {'GPU1': 1}],
                'b2': [{}],
            },
        }
    }

    def test_alternatives_replace_the_request(self):
        hosts = racks(a=(8,), b=(8, 8))
        hosts[0]['free'] = {'GPU0': 1, 'GPU1': 1}
        answer = builders.solve(
            hosts, group(w=optional(3, name='gpu')), self.CLASSES
        )
        self.assertEqual({'a1': ['w-0', 'w-1']}, builders.by_host(answer))
        self.assertEqual({'w-0': 0, 'w-1': 1}, answer.alternative)

    def test_pinned_member_takes_no_alternative(self):
        answer = builders.solve(
            racks(a=(8,), b=(8, 8)),
            group(w={'class': 'gpu'}),
            self.CLASSES,
            pinned={'w': 'a1'},
        )
        self.assertEqual({'w': 'a1'}, answer.placement)
        self.assertEqual({}, answer.alternative)


class TestPins(base.BaseTestCase):
    def test_pin_ignores_its_class_and_takes_no_capacity(self):
        classes = {'one': {'request': {'VCPU': 1}, 'hosts': ['b1']}}
        answer = builders.solve(
            racks(a=(0,), b=(1,)), group(w=2), classes, pinned={'w-1': 'a1'}
        )
        self.assertEqual({'w-0': 'b1', 'w-1': 'a1'}, answer.placement)

    def test_a_pin_counts_for_min_count(self):
        answer = builders.solve(
            racks(a=(1,)), group(w=optional(3, 2)), pinned={'w-2': 'a1'}
        )
        self.assertEqual({'w-0': 'a1', 'w-2': 'a1'}, answer.placement)

    def test_a_pin_counts_for_policies(self):
        answer = builders.solve(
            racks(a=(8, 8), b=(8,)),
            group([policy('anti-affinity', 'rack')], w=2),
            pinned={'w-1': 'a2'},
        )
        self.assertEqual({'w-0': 'b1', 'w-1': 'a2'}, answer.placement)

    def test_pin_of_another_member_makes_its_domain_shared(self):
        exclusive = group([policy('exclusive', 'rack')], w=1)
        answer = builders.solve(
            racks(a=(8, 8), b=(8,)),
            group(groups={'g': exclusive}, o=1),
            pinned={'o-0': 'a1'},
        )
        self.assertEqual('b1', answer.placement['g/w-0'])

    def test_pins_that_break_a_strict_policy_are_refused(self):
        hosts = [*racks(a=(8, 8), b=(8,)), builders.host('n1', None, 'z')]
        for kind, pins in (
            ('affinity', ['a1', 'b1']),
            ('anti-affinity', ['a1', 'a2']),
            ('network-proximity', ['a1', 'b1']),
            ('spread', ['n1']),
        ):
            answer = builders.solve(
                hosts,
                group([policy(kind, 'rack')], w=3),
                pinned={f'w-{n}': host for n, host in enumerate(pins)},
            )
            self._assert_policy_conflict(kind, answer)

    def test_pins_in_a_foreign_domain_break_exclusive(self):
        answer = builders.solve(
            [builders.host('a1', 'a', foreign=True)],
            group([policy('exclusive', 'rack')], w=1),
            pinned={'w-0': 'a1'},
        )
        self._assert_policy_conflict('exclusive', answer)

    def test_pins_that_other_members_cannot_balance_are_refused(self):
        pinned = {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'a1'}
        answer = builders.solve(
            racks(a=(8,), b=(8,)),
            group([policy('spread', 'rack')], w=4),
            pinned=pinned,
        )
        self._assert_policy_conflict('spread', answer)
        answer = builders.solve(
            racks(a=(8,), b=(8,)),
            group([policy('survive', 'rack', min_members=2)], w=4),
            pinned=pinned,
        )
        self._assert_policy_conflict('survive', answer)

    def test_pins_that_other_members_balance_are_placed(self):
        answer = builders.solve(
            racks(a=(8,), b=(8,)),
            group([policy('spread', 'rack')], w=5),
            pinned={'w-0': 'a1', 'w-1': 'a1', 'w-2': 'a1'},
        )
        self.assertEqual('b1', answer.placement['w-3'])
        self.assertEqual('b1', answer.placement['w-4'])

    def _assert_policy_conflict(self, kind, answer):
        self.assertEqual('refused', answer.status)
        self.assertEqual(
            [
                {
                    'kind': 'policy',
                    'at': '',
                    'policy': {'type': kind, 'scope': 'rack'},
                    'code': f'vrt.{kind}',
                }
            ],
            [
                {key: entry[key] for key in entry if key != 'text'}
                for entry in answer.conflict
            ],
        )
        self.assertTrue(answer.minimal)


class TestNumbers(base.BaseTestCase):
    def test_amounts_that_the_solver_rounds_are_exact(self):
        for free in (10**7, 10**12, 2**63 - 1):
            hosts = [{'id': 'a', 'free': {'BYTES': free}}]
            classes = {
                'all': {'request': {'BYTES': free}},
                'bit': {'request': {'BYTES': 1}},
            }
            answer = builders.solve(
                hosts,
                group(a=optional(1, name='all'), b=optional(1, name='bit')),
                classes,
            )
            self.assertEqual({'a-0': 'a'}, answer.placement)

    def test_weights_beyond_the_precision_of_the_solver_are_exact(self):
        policies = [
            policy('anti-affinity', 'host', False, weight=1e9),
            policy('affinity', 'host', False, weight=1e-9),
        ]
        answer = builders.solve(racks(a=(8, 8)), group(policies, w=2))
        self.assertEqual(1e-9, answer.cost['soft'])

    def test_largest_of_distant_scores_decides(self):
        scores = {'a1': 1e-9, 'b1': 1e12}
        classes = {'one': {'request': {'VCPU': 1}, 'scores': scores}}
        answer = builders.solve(racks(a=(8,), b=(8,)), group(w=1), classes)
        self.assertEqual({'w-0': 'b1'}, answer.placement)


class TestStages(base.BaseTestCase):
    def test_every_answer_is_at_least_as_good_as_the_one_before(self):
        scores = {'a1': 1, 'b1': 2, 'c1': 3}
        classes = {'one': {'request': {'VCPU': 1}, 'scores': scores}}
        problem = builders.problem(
            racks(a=(3,), b=(2,), c=(1,)),
            group([policy('spread', 'rack', False)], w=optional(5)),
            classes,
        )
        answers = list(stages.search(problem))
        self.assertEqual(
            ['greedy', 'members', 'cost', 'preference', 'tie-breaking'],
            [answer.stats['stage'] for answer in answers],
        )
        costs = [answer.cost['soft'] for answer in answers]
        self.assertEqual(sorted(costs, reverse=True), costs)

    def test_bound_is_below_the_cost_if_time_ran_out(self):
        answer = stages.solve(builders.slow_problem(time_limit=1))
        self.assertEqual('placed', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertLess(answer.cost['bound'], answer.cost['soft'])

    def test_hard_problem_without_time_is_undecided(self):
        answer = stages.solve(builders.hard_problem(time_limit=0))
        self.assertEqual('undecided', answer.status)
        self.assertTrue(answer.stats['cut_short'])

    def test_ties_of_large_problems_are_not_broken(self):
        run = objectives.ExactSolver(
            builders.problem(racks(a=(200,) * 20), group(w=2000)),
            time_budget.TimeBudget(10),
        )
        self.assertIs(milp.Status.OPTIMAL, run.place_members())
        self.assertFalse(tie_breaking.is_affordable(run))


class TestSameInputSamePlan(base.BaseTestCase):
    def test_the_order_of_the_input_does_not_matter(self):
        raw = builders.raw_problem(
            racks(a=(2, 3), b=(2, 2), c=(4,)),
            group(
                [
                    policy('spread', 'rack', False),
                    policy('anti-affinity', 'host', max_per_domain=3),
                ],
                [
                    builders.tie(
                        'db',
                        'web',
                        policy('network-proximity', 'rack', False),
                        policy('affinity', 'zone', False),
                    )
                ],
                web=optional(6, 4),
                db=3,
                lone={'class': 'two'},
            ),
            {'two': {'request': {'VCPU': 2}, 'scores': {'c1': 1, 'a1': 1}}},
            pinned={'web-3': 'a1', 'db-1': 'b2'},
        )
        expected = builders.untimed(stages.solve(problems.parse(raw)))
        self.assertEqual('tie-breaking', expected.stats['stage'])
        for seed in range(10):
            shuffled = _shuffle(raw, random.Random(seed))
            answer = stages.solve(problems.parse(shuffled))
            self.assertEqual(expected, builders.untimed(answer))


def _shuffle(value, generator, key=None):
    """The same problem, its objects and unordered lists in another order."""
    if isinstance(value, dict):
        items = [(k, _shuffle(v, generator, k)) for k, v in value.items()]
        generator.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        value = [_shuffle(entry, generator) for entry in value]
        if key in ('hosts', 'policies', 'relationships'):
            generator.shuffle(value)
    return value


class TestProofs(base.BaseTestCase):
    """Proofs ask for any plan, with no member kept on its host."""

    def patch_spy(self, module, name):
        spy = mock.Mock(side_effect=getattr(module, name))
        self.useFixture(fixtures.MockPatchObject(module, name, spy))
        return spy

    def check(self, spy, *problem):
        """Check that a function gets a problem that keeps no member."""
        builders.solve(
            *problem,
            current={'w-0': 'a1', 'w-1': 'a1', 'w-2': 'b1'},
            objective='changes',
        )
        spy.assert_called()
        for call in spy.call_args_list:
            self.assertFalse(call.args[0].keeps_current)

    def test_explanations_ignore_the_changes(self):
        spy = self.patch_spy(feasibility_oracle, 'Oracle')

        self.check(
            *(spy, racks(a=(2,), b=(2,))),
            group([policy('affinity', 'rack')], w=3),
        )

    def test_quick_proofs_ignore_the_changes(self):
        spy = self.patch_spy(quick_proofs, 'find')
        for name, find in (
            ('construct_once', lambda _search: feasibility.Verdict()),
            ('find', lambda _search, _reduced, prove: prove()),
        ):
            self.useFixture(
                fixtures.MockPatchObject(
                    feasible.FeasibilitySearch, name, find
                )
            )

        self.check(spy, racks(a=(2,), b=(2,)), group(w=3))
