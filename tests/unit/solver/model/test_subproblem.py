# SPDX-License-Identifier: Apache-2.0
"""Are the plans of smaller problems plans of the one they come from?"""

import dataclasses

from oslotest import base

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie


def find(problem):
    """Any plan, None if there is none."""
    verdict = feasibility.ask(problem, time_budget.TimeBudget(60))
    return None if verdict.is_impossible else verdict.plan


class TestOnHosts(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.problem = builders.problem(
            racks(a=(8, 8), b=(8, 8)),
            group([policy('spread', 'rack')], w=3, x=1),
            {'one': {'request': {'VCPU': 1}, 'hosts': ['a1', 'b1', 'b2']}},
        )
        (self.unit,) = equivalence.equivalence_classes(self.problem)

    def narrowed(self, *hosts):
        return subproblem.on_hosts(self.problem, {self.unit: set(hosts)})

    def test_members_go_to_the_hosts_they_are_left(self):
        plan = find(self.narrowed('a1', 'b2'))
        self.assertEqual([], violations.find(self.problem, plan))
        self.assertEqual({'a1', 'b2'}, set(plan.placement.values()))

    def test_but_to_none_that_they_could_not_use_before(self):
        part = self.narrowed('a2', 'a1', 'b1')
        (unit,) = equivalence.equivalence_classes(part)
        self.assertEqual({'a1', 'b1'}, unit.member_class.hosts)

    def test_too_few_leave_no_plan(self):
        self.assertIsNone(find(self.narrowed('a1')))
        self.assertIsNone(find(self.narrowed()))

    def test_others_keep_theirs(self):
        problem = builders.problem(
            racks(a=(8,), b=(8,)),
            group(w=1, x={'class': 'two', 'count': 1}),
            {'two': {'request': {'VCPU': 2}, 'hosts': ['b1']}},
        )
        first, second = equivalence.equivalence_classes(problem)
        part = subproblem.on_hosts(problem, {first: {'a1'}})
        self.assertEqual({'w-0': 'a1', 'x-0': 'b1'}, find(part).placement)
        self.assertEqual({'b1'}, part.class_of[second.members[0]].hosts)

    def test_scores_and_alternatives_stay(self):
        classes = {
            'one': {
                'request': {'VCPU': 99},
                'scores': {'a1': 3},
                'alternatives': {'a1': [{'GPU': 1}, {'VCPU': 1}]},
            }
        }
        problem = builders.problem(racks(a=(8,)), group(w=1), classes)
        (unit,) = equivalence.equivalence_classes(problem)
        plan = find(subproblem.on_hosts(problem, {unit: {'a1'}}))
        self.assertEqual({'w-0': 1}, plan.alternative)
        self.assertEqual(3, violations.preference(problem, plan.placement))

    def test_parts_of_a_unit_may_have_different_hosts(self):
        problem = builders.problem(racks(a=(8, 8, 8)), group(w=2))
        (unit,) = equivalence.equivalence_classes(problem)
        parts = [
            equivalence.EquivalenceClass(
                (path,), unit.member_class, '', frozenset()
            )
            for path in unit.members
        ]
        hosts = dict(zip(parts, ({'a3'}, {'a2'}), strict=True))
        plan = find(subproblem.on_hosts(problem, hosts))
        self.assertEqual({'w-0': 'a3', 'w-1': 'a2'}, plan.placement)


class TestApart(base.BaseTestCase):
    def test_some_members_have_needs_of_their_own(self):
        problem = builders.problem(racks(a=(2,), b=(4,)), group(w=3))
        one = problem.class_of['w-0']
        large = dataclasses.replace(
            one, request={'VCPU': 4}, hosts=frozenset(['b1'])
        )

        part = subproblem.apart(problem, {'w-1': large})

        self.assertEqual(
            {'w-0': 'a1', 'w-1': 'b1', 'w-2': 'a1'}, find(part).placement
        )
        self.assertIs(one, part.class_of['w-2'])


class TestWithout(base.BaseTestCase):
    def without(self, topology, *paths):
        problem = builders.problem(racks(a=(8,), b=(8,)), topology)
        return subproblem.without(problem, set(paths))

    def test_members_are_as_if_they_were_not_described(self):
        part = self.without(group(w=3, x=1), 'w-1', 'x-0')
        self.assertEqual(
            ['w-0', 'w-2'], [member.path for member in part.topology.members]
        )
        (stem,) = part.topology.stems
        self.assertEqual((2, 2), (stem.count, stem.min_count))
        self.assertEqual({'w-0', 'w-2'}, find(part).placement.keys())

    def test_those_left_out_count_as_the_first_that_may_be(self):
        some = {'class': 'one', 'count': 5, 'min_count': 3}
        for gone, least in ((1, 2), (2, 1), (4, 0)):
            paths = [f'w-{number}' for number in range(gone)]
            (stem,) = self.without(group(w=some), *paths).topology.stems
            self.assertEqual((5 - gone, least), (stem.count, stem.min_count))

    def test_policies_cover_who_is_left(self):
        part = self.without(
            group([policy('anti-affinity', 'host')], w=2, x=1), 'w-0'
        )
        (rule,) = part.topology.policies
        self.assertEqual((('w-1', 'x-0'),), rule.sides)

    def test_a_tie_with_nobody_at_an_end_is_none(self):
        ties = [tie('w', 'x', policy('network-proximity', 'rack'))]
        topology = group((), ties, w=2, x=2)
        (rule,) = self.without(topology, 'w-0').topology.policies
        self.assertEqual((('w-1',), ('x-0', 'x-1')), rule.sides)
        part = self.without(topology, 'w-0', 'w-1')
        self.assertEqual((), part.topology.policies)

    def test_fewer_need_to_survive(self):
        rule = policy('survive', 'rack', min_members=3)
        for gone, least in ((1, 2), (2, 1), (3, 1)):
            paths = [f'w-{number}' for number in range(gone)]
            part = self.without(group([rule], w=6), *paths)
            (left,) = part.topology.policies
            self.assertEqual(least, left.min_members)

    def test_who_is_away_does_not_survive(self):
        rule = policy('survive', 'host', min_members=4)
        problem = builders.problem(racks(a=(8, 8)), group([rule], w=6))

        part = subproblem.without(problem, {'w-0'}, are_coming=False)

        (left,) = part.topology.policies
        self.assertEqual(4, left.min_members)

    def test_without_nobody_it_is_the_same(self):
        topology = group([policy('spread', 'rack')], w=3)
        problem = builders.problem(racks(a=(8,), b=(8,)), topology)
        self.assertEqual(problem, subproblem.without(problem, set()))


class TestDue(base.BaseTestCase):
    def test_all_that_are_named_have_to_come_and_nobody_else(self):
        some = {'class': 'one', 'count': 5, 'min_count': 1}
        problem = builders.problem(racks(a=(1, 1)), group(w=some))

        for paths, fits in (
            ({'w-1', 'w-4'}, True),
            ({'w-1', 'w-3', 'w-4'}, False),
        ):
            plan = find(subproblem.due(problem, paths))
            self.assertEqual(fits, plan is not None)
            if fits:
                self.assertEqual(paths, plan.placement.keys())


class TestAround(base.BaseTestCase):
    CLASSES = {
        'gpu': {
            'request': {'VCPU': 99},
            'alternatives': {
                'a1': [{'GPU0': 1}, {'GPU1': 1}],
                'b1': [{'VCPU': 1}, {'VCPU': 2}],
            },
        }
    }

    def make(self, policies=(), **others):
        hosts = racks(a=(4, 4), b=(4,))
        hosts[0]['free'].update(GPU0=1, GPU1=1)
        members = {'g': {'class': 'gpu', 'count': 2}}
        self.problem = builders.problem(
            hosts, group(policies, w=2, **members), self.CLASSES, **others
        )
        self.plan = violations.Plan(
            {'g-0': 'a1', 'g-1': 'b1', 'w-0': 'a1', 'w-1': 'a2'},
            {'g-0': 1, 'g-1': 1},
        )
        self.assertEqual([], violations.find(self.problem, self.plan))

    def around(self, *paths):
        return subproblem.around(self.problem, self.plan, set(paths))

    def test_all_but_some_are_pinned(self):
        self.make()
        part = self.around('g-1', 'w-0')
        self.assertEqual({'g-0': 'a1', 'w-1': 'a2'}, part.pinned)

    def test_what_they_take_is_not_free(self):
        self.make()
        part = self.around('g-1', 'w-0')
        self.assertEqual(
            [
                {'VCPU': 4, 'GPU0': 1, 'GPU1': 0},
                {'VCPU': 3},
                {'VCPU': 4},
            ],
            [host.free for host in part.hosts.values()],
        )

    def test_what_was_pinned_before_never_took_anything(self):
        self.make(pinned={'w-1': 'a2'})
        part = self.around('g-1')
        self.assertEqual({'VCPU': 4}, part.hosts['a2'].free)
        self.assertEqual('a2', part.pinned['w-1'])

    def test_policies_that_concern_nobody_who_moves_are_left_out(self):
        self.make([policy('affinity', 'zone'), policy('spread', 'host')])
        self.assertEqual(2, len(self.around('g-0').topology.policies))
        self.assertEqual((), self.around().topology.policies)

    def test_but_strangers_concern_what_is_exclusive(self):
        below = {'g': group([policy('exclusive', 'rack')], w=1)}
        self.problem = builders.problem(
            racks(a=(8,), b=(8,)), group(groups=below, o=1)
        )
        self.plan = violations.Plan({'g/w-0': 'a1', 'o-0': 'b1'}, {})
        part = self.around('o-0')
        self.assertEqual(1, len(part.topology.policies))
        self.assertEqual('b1', find(part).placement['o-0'])

    def test_those_left_out_may_come_in(self):
        some = {'class': 'one', 'count': 3, 'min_count': 1}
        self.problem = builders.problem(racks(a=(2, 2)), group(w=some))
        self.plan = violations.Plan({'w-0': 'a2'}, {})
        part = self.around('w-1')
        self.assertEqual({'w-0': 'a2'}, part.pinned)
        self.assertEqual(3, len(part.topology.members))

    def test_and_keep_their_policies_if_they_do(self):
        some = {'class': 'one', 'count': 1, 'min_count': 0}
        below = {'g': group([policy('affinity', 'host')], v=some, w=1)}
        self.problem = builders.problem(
            racks(a=(1, 3)), group(groups=below, x=1)
        )
        self.plan = violations.Plan({'g/w-0': 'a1', 'x-0': 'a2'}, {})
        part = self.around('x-0')
        self.assertEqual(1, len(part.topology.policies))

    def test_back_tells_the_ways_of_those_who_stay(self):
        self.make()
        part = self.around('g-1', 'w-0')
        plan = subproblem.back(self.plan, find(part))
        self.assertEqual([], violations.find(self.problem, plan))
        self.assertEqual(1, plan.alternative['g-0'])
        self.assertEqual('a2', plan.placement['w-1'])

    def test_back_takes_the_new_ways_of_those_who_moved(self):
        self.make()
        part = violations.Plan(dict(self.plan.placement), {'g-1': 0})
        plan = subproblem.back(self.plan, part)
        self.assertEqual({'g-0': 1, 'g-1': 0}, plan.alternative)

    def test_back_forgets_the_ways_of_hosts_that_were_left(self):
        self.make()
        placement = {**self.plan.placement, 'g-1': 'a1'}
        plan = subproblem.back(
            self.plan, violations.Plan(placement, {'g-1': 0})
        )
        self.assertEqual({'g-0': 1, 'g-1': 0}, plan.alternative)
        placement = {**self.plan.placement, 'w-0': 'b1'}
        del placement['g-1']
        plan = subproblem.back(self.plan, violations.Plan(placement, {}))
        self.assertEqual({'g-0': 1}, plan.alternative)
