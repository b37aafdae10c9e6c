# SPDX-License-Identifier: Apache-2.0
"""Do attempts find plans, and only lawful ones?"""

from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie
from tests.unit.solver.construct import state_snapshots

# Within so many attempts all that is tried here succeeds.
ATTEMPTS = 8


def sizes(*numbers):
    """Classes c2, c3...; a member of one asks for so many VCPU."""
    return {f'c{n}': {'request': {'VCPU': n}} for n in numbers}


def some(name, count, least=None):
    """Members of a class of sizes(), of which some may be left out."""
    least = count if least is None else least
    return {'class': name, 'count': count, 'min_count': least}


class GreedyCase(base.BaseTestCase):
    def make(self, hosts, topology, classes=None, **others):
        problem = builders.problem(hosts, topology, classes, **others)
        return squeaky_wheel.SqueakyWheel(problem)

    def plans(self, *args, heeds_soft=True, **kwargs):
        """All plans of some attempts, each looked at."""
        attempts = self.make(*args, **kwargs)
        before = state_snapshots.of(attempts.state)
        plans = []
        for _ in range(ATTEMPTS):
            plan = attempts.attempt(heeds_soft)
            self.assertEqual(before, state_snapshots.of(attempts.state))
            if plan is not None:
                faults = violations.find(attempts.problem, plan)
                self.assertEqual([], faults)
                plans.append(plan)
        return plans

    def plan(self, *args, **kwargs):
        """The first of them; host id -> paths of the members there."""
        plans = self.plans(*args, **kwargs)
        self.assertNotEqual([], plans)
        return builders.by_host(plans[0])


class TestAttempt(GreedyCase):
    def test_the_largest_sit_down_first(self):
        # One by one in path order they would not fit.
        found = self.plan(
            racks(a=(8, 4, 4)),
            group(a=some('c4', 2), b={'class': 'c8'}),
            sizes(4, 8),
        )
        self.assertEqual(['b'], found['a1'])

    def test_each_where_the_others_lose_least(self):
        found = self.plan(
            racks(a=(9, 8)), group(a=some('c4', 2), b=1), sizes(4)
        )
        self.assertIn('b-0', found['a1'])

    def test_a_domain_for_all_is_found_before_anybody_sits(self):
        found = self.plan(
            # The best single host is in a rack that is too small.
            racks(a=(3,), b=(2, 2), c=(1, 1, 1)),
            group([policy('affinity', 'rack')], a=some('c2', 2)),
            sizes(2),
        )
        self.assertEqual({'b1': ['a-0'], 'b2': ['a-1']}, found)

    def test_domains_in_domains(self):
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

    def test_what_is_next_to_each_other_is_in_one_domain(self):
        ties = [tie('a', 'b', policy('network-proximity', 'rack'))]
        found = self.plan(
            racks(a=(2,), b=(1, 2)),
            group((), ties, a={'class': 'c2'}, b={'class': 'c1'}),
            sizes(1, 2),
        )
        self.assertEqual({'b1': ['b'], 'b2': ['a']}, found)

    def test_no_more_than_so_many_in_a_domain(self):
        rule = policy('anti-affinity', 'rack', max_per_domain=2)
        found = self.plan(racks(a=(8, 8), b=(8,), c=(1,)), group([rule], w=5))
        by_rack = {name[0]: 0 for name in found}
        for name, paths in found.items():
            by_rack[name[0]] += len(paths)
        self.assertEqual({'a': 2, 'b': 2, 'c': 1}, by_rack)

    def test_as_many_in_each_of_some_domains(self):
        rule = policy('spread', 'rack', max_skew=0, min_domains=2)
        found = self.plan(racks(a=(8,), b=(3,), c=(1,)), group([rule], w=6))
        self.assertEqual([3, 3], [len(paths) for paths in found.values()])

    def test_enough_survive(self):
        rule = policy('survive', 'rack', failures=1, min_members=3)
        found = self.plan(racks(a=(9,), b=(9,), c=(2,)), group([rule], w=5))
        self.assertLessEqual(max(map(len, found.values())), 2)

    def test_nobody_else_in_a_domain(self):
        below = {'g': group([policy('exclusive', 'rack')], w=2)}
        hosts = racks(a=(8,), b=(8, 8), c=(8,))
        hosts[0]['foreign'] = True
        found = self.plan(hosts, group(groups=below, o=9))
        own = {name[0] for name in found if 'g/w-0' in found[name]}
        others = {name[0] for name in found if 'o-0' in found[name]}
        self.assertNotIn('a', own)
        self.assertEqual(set(), own & others)

    def test_union_of_overlapping_sets(self):
        ties = [tie('f', 'g', policy('anti-affinity', 'host'))]
        policies = [policy('affinity', 'rack')]
        below = {name: group(w=2) for name in ('f', 'g', 'h')}
        found = self.plan(
            racks(a=(2, 2, 2), b=(2, 2, 2, 2)),
            group(policies, ties, groups=below),
        )
        self.assertEqual({'b'}, {name[0] for name in found})

    def test_alternatives(self):
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

    def test_amounts_as_large_as_they_may_be(self):
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


class TestMembers(GreedyCase):
    def test_as_many_as_fit_but_no_fewer_than_have_to(self):
        for least, expected in ((1, 3), (3, 3), (4, None)):
            plans = self.plans(
                racks(a=(2,), b=(1,)), group(w=some('one', 5, least))
            )
            placed = max((len(p.placement) for p in plans), default=None)
            self.assertEqual(expected, placed)

    def test_all_may_be_left_out(self):
        plans = self.plans(racks(a=(0,)), group(w=some('one', 5, 0)))
        self.assertEqual([{}], [plan.placement for plan in plans[:1]])

    def test_pinned_members_stay_and_count(self):
        for least, hosts in ((2, racks(a=(0,), b=(1,))), (1, racks(a=(0,)))):
            (plan, *_) = self.plans(
                hosts, group(w=some('one', 3, least)), pinned={'w-2': 'a1'}
            )
            self.assertEqual('a1', plan.placement['w-2'])
            self.assertEqual(least, len(plan.placement))

    def test_a_full_domain_of_a_pinned_member_is_no_end_of_a_soft_policy(self):
        found = self.plan(
            racks(a=(0,), b=(8,)),
            group([policy('affinity', 'rack', False)], w=2),
            pinned={'w-0': 'a1'},
        )
        self.assertEqual({'a1': ['w-0'], 'b1': ['w-1']}, found)


class TestSoft(GreedyCase):
    def test_soft_policies_are_kept_where_that_is_easy(self):
        for kind, expected in (('spread', 2), ('affinity', 1)):
            rule = policy(kind, 'rack', False)
            found = self.plan(racks(a=(9,), b=(2,)), group([rule], w=4))
            self.assertEqual(expected, len(found))

    def test_they_do_not_stand_in_the_way(self):
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

    def test_they_may_be_left_out_of_account(self):
        rule = policy('anti-affinity', 'host', False)
        hosts = racks(a=(9,), b=(2,), c=(2,))
        for heeds_soft, expected in ((True, 3), (False, 1)):
            found = self.plan(hosts, group([rule], w=3), heeds_soft=heeds_soft)
            self.assertEqual(expected, len(found))


class Countdown:
    """A budget that strikes when it was asked so many times."""

    def __init__(self, times):
        self._left = times

    def check(self):
        self._left -= 1
        if self._left < 0:
            raise time_budget.OutOfTime


class TestBreakingOff(GreedyCase):
    def test_what_takes_too_long_is_undone_wherever_it_is_broken_off(self):
        attempts = self.make(
            racks(a=(2, 2), b=(3,), c=(4, 1)),
            group(groups={'g': group([policy('affinity', 'rack')], w=3)}, v=3),
        )
        before = state_snapshots.of(attempts.state)
        found = []
        for times in range(20):
            found.append(attempts.attempt(budget=Countdown(times)))
            self.assertEqual(before, state_snapshots.of(attempts.state))
        # Each seat asks, and each domain that is to be shared.
        self.assertEqual([None] * 7, found[:7])
        self.assertIsNotNone(found[-1])


class TestFailing(GreedyCase):
    def test_what_failed_is_not_tried_again_in_the_same_room(self):
        # There is room for any of the three, and for all of them none.
        below = group(
            [policy('affinity', 'rack')], a=some('c3', 2), b=some('c2', 1)
        )
        hosts = racks(a=(4, 4), b=(5,))
        for host in hosts:
            host['domains']['zone'] = 'z'
        attempts = self.make(
            hosts,
            # Without those three the others are seated in the zone.
            group([policy('affinity', 'zone')], groups={'g': below}, o=5),
            sizes(2, 3),
        )
        narrow = next(
            propagator
            for propagator in attempts.state.propagators
            if propagator.policy.scope == 'rack'
        )
        tried = []
        settle = narrow.settle
        narrow.settle = lambda home: (tried.append(home), settle(home))
        self.assertIsNone(attempts.attempt())
        self.assertEqual(sorted(set(tried)), sorted(tried))
        self.assertNotEqual([], tried)


class TestMost(GreedyCase):
    """What an attempt that failed has come to."""

    def test_nothing_before_an_attempt_failed(self):
        attempts = self.make(racks(a=(2,)), group(w=2))
        attempts.attempt()
        self.assertIsNone(attempts.most)

    def test_those_who_sit_and_those_who_found_no_place(self):
        attempts = self.make(
            racks(a=(4, 4)),
            group(a=some('c3', 2), b=some('c2', 2)),
            sizes(2, 3),
        )
        self.assertIsNone(attempts.attempt())
        plan, missing = attempts.most
        self.assertEqual({'a-0': 'a1', 'a-1': 'a2'}, plan.placement)
        self.assertEqual([['b-0', 'b-1']], missing)

    def test_those_who_go_together_are_missing_together(self):
        attempts = self.make(
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
        self.assertIsNone(attempts.attempt())
        plan, missing = attempts.most
        self.assertEqual({'o-0'}, plan.placement.keys())
        self.assertEqual(
            [['g/v-0', 'g/w-0', 'g/w-1']], [sorted(m) for m in missing]
        )

    def test_the_attempt_that_came_furthest(self):
        attempts = self.make(
            racks(a=(4, 4, 4)),
            group(
                **{f'm{n}': {'class': f'c{n}'} for n in (2, 3, 4)},
                b=some('c4', 2),
            ),
            sizes(2, 3, 4),
        )
        fewest = 9
        for _ in range(ATTEMPTS):
            self.assertIsNone(attempts.attempt())
            missing = attempts.most[1]
            self.assertLessEqual(len(missing), fewest)
            fewest = len(missing)
        self.assertEqual(1, fewest)


class TestSeed(GreedyCase):
    def series(self, seed):
        """Placements of several attempts."""
        attempts = self.make(
            racks(a=(3, 3, 3), b=(3, 3, 3), c=(3, 3, 3)),
            group(
                [policy('spread', 'rack', False, min_domains=3)],
                w=7,
                v=some('c2', 4),
            ),
            sizes(2),
            seed=seed,
        )
        plans = [attempts.attempt() for _ in range(ATTEMPTS)]
        return [plan and plan.placement for plan in plans]

    def test_the_same_seed_gives_the_same_plans(self):
        self.assertEqual(self.series(7), self.series(7))

    def test_other_seeds_give_other_plans(self):
        self.assertNotEqual(self.series(7), self.series(8))

    def test_no_two_attempts_need_be_alike(self):
        plans = {repr(plan) for plan in self.series(7)}
        self.assertGreater(len(plans), 1)


class TestRaising(GreedyCase):
    def test_what_failed_before_is_tried_first(self):
        # By what they need in all, s comes first, and takes the only rack
        # that r could use.
        hosts = [
            *(builders.host(f'a{n}', 'a', 'z', 6) for n in (1, 2)),
            *(builders.host(f'b{n}', 'b', 'z', 4) for n in (1, 2, 3, 4)),
        ]
        together = [policy('affinity', 'rack')]
        below = {
            'r': group(together, w=some('c6', 1), v=some('c5', 1)),
            's': group(together, w=some('c3', 4)),
        }
        attempts = self.make(hosts, group(groups=below), sizes(3, 5, 6))
        plans = [attempts.attempt() for _ in range(ATTEMPTS)]
        found = [plan for plan in plans if plan is not None]
        self.assertNotEqual([], found)
        self.assertEqual('a1', found[0].placement['r/w-0'])
