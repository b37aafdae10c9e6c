# SPDX-License-Identifier: Apache-2.0
"""Randomised greedy construction with squeaky-wheel priorities."""

from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie
from tests.unit.solver.construct import state_snapshots

# Iterations after which every construction here has succeeded.
ITERATIONS = 8


def sizes(*numbers):
    """Classes c2, c3...; a member of c2 requests two VCPU."""
    return {f'c{n}': {'request': {'VCPU': n}} for n in numbers}


def some(name, count, least=None):
    """Members of a class of sizes(), of which some may be left out."""
    least = count if least is None else least
    return {'class': name, 'count': count, 'min_count': least}


class ConstructionCase(base.BaseTestCase):
    def make(self, hosts, topology, classes=None, **others):
        problem = builders.problem(hosts, topology, classes, **others)
        return squeaky_wheel.SqueakyWheel(problem)

    def plans(self, *args, respects_soft=True, **kwargs):
        """Return the plans of some constructions, all of them verified."""
        greedy = self.make(*args, **kwargs)
        before = state_snapshots.of(greedy.state)
        plans = []
        for _ in range(ITERATIONS):
            plan = greedy.run_iteration(respects_soft)
            self.assertEqual(before, state_snapshots.of(greedy.state))
            if plan is not None:
                found_violations = violations.find(greedy.problem, plan)
                self.assertEqual([], found_violations)
                plans.append(plan)
        return plans

    def plan(self, *args, **kwargs):
        """Return {host id: paths of its members} of the first plan."""
        plans = self.plans(*args, **kwargs)
        self.assertNotEqual([], plans)
        return builders.by_host(plans[0])


class TestConstruction(ConstructionCase):
    def test_largest_member_is_placed_first(self):
        # One by one in path order they would not fit.
        found = self.plan(
            racks(a=(8, 4, 4)),
            group(a=some('c4', 2), b={'class': 'c8'}),
            sizes(4, 8),
        )
        self.assertEqual(['b'], found['a1'])

    def test_host_of_the_least_opportunity_cost_is_taken(self):
        found = self.plan(
            racks(a=(9, 8)), group(a=some('c4', 2), b=1), sizes(4)
        )
        self.assertIn('b-0', found['a1'])

    def test_domain_is_chosen_before_any_assignment(self):
        found = self.plan(
            # The best single host is in a rack that is too small.
            racks(a=(3,), b=(2, 2), c=(1, 1, 1)),
            group([policy('affinity', 'rack')], a=some('c2', 2)),
            sizes(2),
        )
        self.assertEqual({'b1': ['a-0'], 'b2': ['a-1']}, found)

    def test_nested_domains_are_chosen_together(self):
        hosts = [
            builders.host(f'{zone}{rack}{number}', f'{zone}{rack}', zone, cpu)
            for zone, cpus in (('y', (3, 1)), ('z', (2, 2)))
            for rack, cpu in zip('ab', cpus, strict=True)
            for number in (1, 2)
        ]
        below = {
            name: group([policy('affinity', 'rack')], w=some('c2', 2))
            for name in ('f', 'g')
        }
        found = self.plan(
            hosts, group([policy('affinity', 'zone')], groups=below), sizes(2)
        )
        self.assertEqual({'za1', 'za2', 'zb1', 'zb2'}, found.keys())

    def test_strict_proximity_places_both_ends_in_one_domain(self):
        ties = [tie('a', 'b', policy('network-proximity', 'rack'))]
        found = self.plan(
            racks(a=(2,), b=(1, 2)),
            group((), ties, a={'class': 'c2'}, b={'class': 'c1'}),
            sizes(1, 2),
        )
        self.assertEqual({'b1': ['b'], 'b2': ['a']}, found)

    def test_anti_affinity_limits_the_members_of_a_domain(self):
        rule = policy('anti-affinity', 'rack', max_per_domain=2)
        found = self.plan(racks(a=(8, 8), b=(8,), c=(1,)), group([rule], w=5))
        by_rack = {name[0]: 0 for name in found}
        for name, paths in found.items():
            by_rack[name[0]] += len(paths)
        self.assertEqual({'a': 2, 'b': 2, 'c': 1}, by_rack)

    def test_spread_balances_the_members_of_domains(self):
        rule = policy('spread', 'rack', max_skew=0, min_domains=2)
        found = self.plan(racks(a=(8,), b=(3,), c=(1,)), group([rule], w=6))
        self.assertEqual([3, 3], [len(paths) for paths in found.values()])

    def test_survive_limits_the_members_of_a_domain(self):
        rule = policy('survive', 'rack', failures=1, min_members=3)
        found = self.plan(racks(a=(9,), b=(9,), c=(2,)), group([rule], w=5))
        self.assertLessEqual(max(map(len, found.values())), 2)

    def test_exclusive_domain_has_no_other_members(self):
        below = {'g': group([policy('exclusive', 'rack')], w=2)}
        hosts = racks(a=(8,), b=(8, 8), c=(8,))
        hosts[0]['foreign'] = True
        found = self.plan(hosts, group(groups=below, o=9))
        own = {name[0] for name in found if 'g/w-0' in found[name]}
        others = {name[0] for name in found if 'o-0' in found[name]}
        self.assertNotIn('a', own)
        self.assertEqual(set(), own & others)

    def test_overlapping_policies_are_met_together(self):
        ties = [tie('f', 'g', policy('anti-affinity', 'host'))]
        policies = [policy('affinity', 'rack')]
        below = {name: group(w=2) for name in ('f', 'g', 'h')}
        found = self.plan(
            racks(a=(2, 2, 2), b=(2, 2, 2, 2)),
            group(policies, ties, groups=below),
        )
        self.assertEqual({'b'}, {name[0] for name in found})

    def test_alternatives_leave_resources_to_other_classes(self):
        classes = {
            'gpu': {
                'request': {'VCPU': 99},
                'alternatives': {'a1': [{'GPU0': 1}, {'GPU1': 1}]},
            },
            'other': {'request': {'GPU1': 1}},
        }
        hosts = racks(a=(8,), b=(8,))
        hosts[0]['free'] = {'GPU0': 2, 'GPU1': 1}
        (plan, *_) = self.plans(
            hosts,
            group(g={'class': 'gpu', 'count': 2}, o={'class': 'other'}),
            classes,
        )
        self.assertEqual({'g-0': 0, 'g-1': 0}, plan.alternative)

    def test_largest_amounts_do_not_overflow(self):
        huge = 2**63 - 1
        hosts = [
            {'id': f'h{n}', 'domains': {'rack': 'a'}, 'free': {'X': huge}}
            for n in range(4)
        ]
        classes = {'all': {'request': {'X': huge}}}
        found = self.plan(
            hosts,
            group(
                [policy('affinity', 'rack')], w={'class': 'all', 'count': 4}
            ),
            classes,
        )
        self.assertEqual(4, len(found))


class TestMembers(ConstructionCase):
    def test_as_many_members_as_fit_are_placed(self):
        for least, expected in ((1, 3), (3, 3), (4, None)):
            plans = self.plans(
                racks(a=(2,), b=(1,)), group(w=some('one', 5, least))
            )
            placed = max((len(p.placement) for p in plans), default=None)
            self.assertEqual(expected, placed)

    def test_all_optional_members_may_be_left_out(self):
        plans = self.plans(racks(a=(0,)), group(w=some('one', 5, 0)))
        self.assertEqual([{}], [plan.placement for plan in plans[:1]])

    def test_pinned_members_stay_and_count(self):
        for least, hosts in ((2, racks(a=(0,), b=(1,))), (1, racks(a=(0,)))):
            (plan, *_) = self.plans(
                hosts, group(w=some('one', 3, least)), pinned={'w-2': 'a1'}
            )
            self.assertEqual('a1', plan.placement['w-2'])
            self.assertEqual(least, len(plan.placement))

    def test_soft_affinity_leaves_the_full_domain_of_a_pin(self):
        found = self.plan(
            racks(a=(0,), b=(8,)),
            group([policy('affinity', 'rack', False)], w=2),
            pinned={'w-0': 'a1'},
        )
        self.assertEqual({'a1': ['w-0'], 'b1': ['w-1']}, found)


class TestSoft(ConstructionCase):
    def test_soft_policies_are_met_if_that_is_easy(self):
        for kind, expected in (('spread', 2), ('affinity', 1)):
            rule = policy(kind, 'rack', False)
            found = self.plan(racks(a=(9,), b=(2,)), group([rule], w=4))
            self.assertEqual(expected, len(found))

    def test_soft_policies_do_not_prevent_a_plan(self):
        self.plan(
            racks(a=(2,), b=(2,)),
            group(
                [
                    policy('affinity', 'rack', False),
                    policy('anti-affinity', 'host', False),
                    policy('exclusive', 'rack', False),
                ],
                w=4,
            ),
        )

    def test_soft_policies_may_be_ignored(self):
        rule = policy('anti-affinity', 'host', False)
        hosts = racks(a=(9,), b=(2,), c=(2,))
        for respects_soft, expected in ((True, 3), (False, 1)):
            found = self.plan(
                hosts, group([rule], w=3), respects_soft=respects_soft
            )
            self.assertEqual(expected, len(found))


class Countdown:
    """A budget that expires after a number of checks."""

    def __init__(self, times):
        self._remaining = times

    def check(self):
        self._remaining -= 1
        if self._remaining < 0:
            raise time_budget.OutOfTime


class TestInterruption(ConstructionCase):
    def test_interrupted_construction_is_undone(self):
        greedy = self.make(
            racks(a=(2, 2), b=(3,), c=(4, 1)),
            group(groups={'g': group([policy('affinity', 'rack')], w=3)}, v=3),
        )
        before = state_snapshots.of(greedy.state)
        found = []
        for times in range(20):
            found.append(greedy.run_iteration(budget=Countdown(times)))
            self.assertEqual(before, state_snapshots.of(greedy.state))
        # Each assignment checks the budget, and each choice of a domain.
        self.assertEqual([None] * 7, found[:7])
        self.assertIsNotNone(found[-1])


class TestFailure(ConstructionCase):
    def test_failed_domain_is_not_tried_twice(self):
        # Each of the three members fits alone, all of them do not.
        below = group(
            [policy('affinity', 'rack')], a=some('c3', 2), b=some('c2', 1)
        )
        hosts = racks(a=(4, 4), b=(5,))
        for host in hosts:
            host['domains']['zone'] = 'z'
        greedy = self.make(
            hosts,
            # Without these three the others are placed in the zone.
            group([policy('affinity', 'zone')], groups={'g': below}, o=5),
            sizes(2, 3),
        )
        rack_propagator = next(
            propagator
            for propagator in greedy.state.propagators
            if propagator.policy.scope == 'rack'
        )
        tried = []
        fix_domain = rack_propagator.fix_domain
        rack_propagator.fix_domain = lambda fixed_domain: (
            tried.append(fixed_domain),
            fix_domain(fixed_domain),
        )
        self.assertIsNone(greedy.run_iteration())
        self.assertEqual(sorted(set(tried)), sorted(tried))
        self.assertNotEqual([], tried)


class TestBestPartialPlan(ConstructionCase):
    """The best partial plan of failed constructions."""

    def test_partial_plan_is_none_before_a_failure(self):
        greedy = self.make(racks(a=(2,)), group(w=2))
        greedy.run_iteration()
        self.assertIsNone(greedy.best_partial)

    def test_partial_plan_has_placed_and_unplaced_members(self):
        greedy = self.make(
            racks(a=(4, 4)),
            group(a=some('c3', 2), b=some('c2', 2)),
            sizes(2, 3),
        )
        self.assertIsNone(greedy.run_iteration())
        plan, unplaced = greedy.best_partial
        self.assertEqual({'a-0': 'a1', 'a-1': 'a2'}, plan.placement)
        self.assertEqual([['b-0', 'b-1']], unplaced)

    def test_affine_members_are_unplaced_together(self):
        greedy = self.make(
            racks(a=(2,), b=(2,)),
            group(
                groups={
                    'g': group(
                        [policy('affinity', 'rack')], w=2, v=some('c2', 1)
                    )
                },
                o=1,
            ),
            sizes(2),
        )
        self.assertIsNone(greedy.run_iteration())
        plan, unplaced = greedy.best_partial
        self.assertEqual({'o-0'}, plan.placement.keys())
        self.assertEqual(
            [['g/v-0', 'g/w-0', 'g/w-1']], [sorted(m) for m in unplaced]
        )

    def test_partial_plan_with_the_fewest_unplaced_is_kept(self):
        greedy = self.make(
            racks(a=(4, 4, 4)),
            group(
                **{f'm{n}': {'class': f'c{n}'} for n in (2, 3, 4)},
                b=some('c4', 2),
            ),
            sizes(2, 3, 4),
        )
        fewest = 9
        for _ in range(ITERATIONS):
            self.assertIsNone(greedy.run_iteration())
            unplaced = greedy.best_partial[1]
            self.assertLessEqual(len(unplaced), fewest)
            fewest = len(unplaced)
        self.assertEqual(1, fewest)


class TestSeed(ConstructionCase):
    def series(self, seed):
        """Return the placements of several constructions."""
        greedy = self.make(
            racks(a=(3, 3, 3), b=(3, 3, 3), c=(3, 3, 3)),
            group(
                [policy('spread', 'rack', False, min_domains=3)],
                w=7,
                v=some('c2', 4),
            ),
            sizes(2),
            seed=seed,
        )
        plans = [greedy.run_iteration() for _ in range(ITERATIONS)]
        return [plan and plan.placement for plan in plans]

    def test_the_same_seed_gives_the_same_plans(self):
        self.assertEqual(self.series(7), self.series(7))

    def test_other_seeds_give_other_plans(self):
        self.assertNotEqual(self.series(7), self.series(8))

    def test_constructions_of_one_seed_differ(self):
        plans = {repr(plan) for plan in self.series(7)}
        self.assertGreater(len(plans), 1)


class TestPriorities(ConstructionCase):
    def test_members_that_failed_are_placed_first(self):
        # By total need s comes first, and takes the only rack that r could
        # use.
        hosts = [
            *(builders.host(f'a{n}', 'a', 'z', 6) for n in (1, 2)),
            *(builders.host(f'b{n}', 'b', 'z', 4) for n in (1, 2, 3, 4)),
        ]
        together = [policy('affinity', 'rack')]
        below = {
            'r': group(together, w=some('c6', 1), v=some('c5', 1)),
            's': group(together, w=some('c3', 4)),
        }
        greedy = self.make(hosts, group(groups=below), sizes(3, 5, 6))
        plans = [greedy.run_iteration() for _ in range(ITERATIONS)]
        found = [plan for plan in plans if plan is not None]
        self.assertNotEqual([], found)
        self.assertEqual('a1', found[0].placement['r/w-0'])
