# SPDX-License-Identifier: Apache-2.0
"""Subproblems, whose plans are plans of the whole problem."""

import dataclasses

from oslotest import base

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie


def find(problem):
    """Return any plan, None if the problem is infeasible."""
    verdict = feasibility.solve(problem, time_budget.TimeBudget(60))
    return None if verdict.is_infeasible else verdict.plan


class TestRestrictHosts(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.problem = builders.problem(
            racks(a=(8, 8), b=(8, 8)),
            group([policy('spread', 'rack')], w=3, x=1),
            {'one': {'request': {'VCPU': 1}, 'hosts': ['a1', 'b1', 'b2']}},
        )
        (self.eq_class,) = equivalence.equivalence_classes(self.problem)

    def restrict(self, *hosts):
        return subproblem.restrict_hosts(
            self.problem, {self.eq_class: set(hosts)}
        )

    def test_members_are_placed_on_the_remaining_hosts(self):
        plan = find(self.restrict('a1', 'b2'))
        self.assertEqual([], violations.find(self.problem, plan))
        self.assertEqual({'a1', 'b2'}, set(plan.placement.values()))

    def test_hosts_outside_the_class_stay_excluded(self):
        part = self.restrict('a2', 'a1', 'b1')
        (eq_class,) = equivalence.equivalence_classes(part)
        self.assertEqual({'a1', 'b1'}, eq_class.member_class.hosts)

    def test_too_few_hosts_leave_no_plan(self):
        self.assertIsNone(find(self.restrict('a1')))
        self.assertIsNone(find(self.restrict()))

    def test_other_classes_keep_their_hosts(self):
        problem = builders.problem(
            racks(a=(8,), b=(8,)),
            group(w=1, x={'class': 'two', 'count': 1}),
            {'two': {'request': {'VCPU': 2}, 'hosts': ['b1']}},
        )
        first, second = equivalence.equivalence_classes(problem)
        part = subproblem.restrict_hosts(problem, {first: {'a1'}})
        self.assertEqual({'w-0': 'a1', 'x-0': 'b1'}, find(part).placement)
        self.assertEqual({'b1'}, part.class_of[second.members[0]].hosts)

    def test_scores_and_alternatives_are_kept(self):
        classes = {
            'one': {
                'request': {'VCPU': 99},
                'scores': {'a1': 3},
                'alternatives': {'a1': [{'GPU': 1}, {'VCPU': 1}]},
            }
        }
        problem = builders.problem(racks(a=(8,)), group(w=1), classes)
        (eq_class,) = equivalence.equivalence_classes(problem)
        plan = find(subproblem.restrict_hosts(problem, {eq_class: {'a1'}}))
        self.assertEqual({'w-0': 1}, plan.alternative)
        self.assertEqual(3, violations.preference(problem, plan.placement))

    def test_parts_of_a_class_may_have_different_hosts(self):
        problem = builders.problem(racks(a=(8, 8, 8)), group(w=2))
        (eq_class,) = equivalence.equivalence_classes(problem)
        parts = [
            equivalence.EquivalenceClass(
                (path,), eq_class.member_class, '', frozenset()
            )
            for path in eq_class.members
        ]
        hosts = dict(zip(parts, ({'a3'}, {'a2'}), strict=True))
        plan = find(subproblem.restrict_hosts(problem, hosts))
        self.assertEqual({'w-0': 'a3', 'w-1': 'a2'}, plan.placement)


class TestSeparateClasses(base.BaseTestCase):
    def test_some_members_get_another_class(self):
        problem = builders.problem(racks(a=(2,), b=(4,)), group(w=3))
        one = problem.class_of['w-0']
        large = dataclasses.replace(
            one, request={'VCPU': 4}, hosts=frozenset(['b1'])
        )

        part = subproblem.separate_classes(problem, {'w-1': large})

        self.assertEqual(
            {'w-0': 'a1', 'w-1': 'b1', 'w-2': 'a1'}, find(part).placement
        )
        self.assertIs(one, part.class_of['w-2'])


class TestRemoveMembers(base.BaseTestCase):
    def remove(self, topology, *paths):
        problem = builders.problem(racks(a=(8,), b=(8,)), topology)
        return subproblem.remove_members(problem, set(paths))

    def test_removed_members_are_not_in_the_topology(self):
        part = self.remove(group(w=3, x=1), 'w-1', 'x-0')
        self.assertEqual(
            ['w-0', 'w-2'], [member.path for member in part.topology.members]
        )
        (member_set,) = part.topology.member_sets
        self.assertEqual((2, 2), (member_set.count, member_set.min_count))
        self.assertEqual({'w-0', 'w-2'}, find(part).placement.keys())

    def test_removed_members_lower_the_min_count(self):
        members = {'class': 'one', 'count': 5, 'min_count': 3}
        for removed, expected in ((1, 2), (2, 1), (4, 0)):
            paths = [f'w-{number}' for number in range(removed)]
            (member_set,) = self.remove(
                group(w=members), *paths
            ).topology.member_sets
            self.assertEqual(
                (5 - removed, expected),
                (member_set.count, member_set.min_count),
            )

    def test_policies_cover_the_remaining_members(self):
        part = self.remove(
            group([policy('anti-affinity', 'host')], w=2, x=1), 'w-0'
        )
        (remaining,) = part.topology.policies
        self.assertEqual((('w-1', 'x-0'),), remaining.sides)

    def test_relationship_with_an_empty_end_is_removed(self):
        relationships = [tie('w', 'x', policy('network-proximity', 'rack'))]
        topology = group((), relationships, w=2, x=2)
        (remaining,) = self.remove(topology, 'w-0').topology.policies
        self.assertEqual((('w-1',), ('x-0', 'x-1')), remaining.sides)
        part = self.remove(topology, 'w-0', 'w-1')
        self.assertEqual((), part.topology.policies)

    def test_removed_members_lower_min_members_of_survive(self):
        survive = policy('survive', 'rack', min_members=3)
        for removed, expected in ((1, 2), (2, 1), (3, 1)):
            paths = [f'w-{number}' for number in range(removed)]
            part = self.remove(group([survive], w=6), *paths)
            (remaining,) = part.topology.policies
            self.assertEqual(expected, remaining.min_members)

    def test_min_members_is_kept_if_members_stay_away(self):
        survive = policy('survive', 'host', min_members=4)
        problem = builders.problem(racks(a=(8, 8)), group([survive], w=6))

        part = subproblem.remove_members(
            problem, {'w-0'}, are_placed_later=False
        )

        (remaining,) = part.topology.policies
        self.assertEqual(4, remaining.min_members)

    def test_removal_of_no_member_changes_nothing(self):
        topology = group([policy('spread', 'rack')], w=3)
        problem = builders.problem(racks(a=(8,), b=(8,)), topology)
        self.assertEqual(problem, subproblem.remove_members(problem, set()))


class TestRequireOnly(base.BaseTestCase):
    def test_exactly_the_named_members_are_required(self):
        members = {'class': 'one', 'count': 5, 'min_count': 1}
        problem = builders.problem(racks(a=(1, 1)), group(w=members))

        for paths, fits in (
            ({'w-1', 'w-4'}, True),
            ({'w-1', 'w-3', 'w-4'}, False),
        ):
            plan = find(subproblem.require_only(problem, paths))
            self.assertEqual(fits, plan is not None)
            if fits:
                self.assertEqual(paths, plan.placement.keys())


class TestFixOthers(base.BaseTestCase):
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

    def fix_others(self, *paths):
        return subproblem.fix_others(self.problem, self.plan, set(paths))

    def test_other_members_are_pinned(self):
        self.make()
        part = self.fix_others('g-1', 'w-0')
        self.assertEqual({'g-0': 'a1', 'w-1': 'a2'}, part.pinned)

    def test_capacity_of_pinned_members_is_consumed(self):
        self.make()
        part = self.fix_others('g-1', 'w-0')
        self.assertEqual(
            [
                {'VCPU': 4, 'GPU0': 1, 'GPU1': 0},
                {'VCPU': 3},
                {'VCPU': 4},
            ],
            [host.free for host in part.hosts.values()],
        )

    def test_members_pinned_before_consume_nothing(self):
        self.make(pinned={'w-1': 'a2'})
        part = self.fix_others('g-1')
        self.assertEqual({'VCPU': 4}, part.hosts['a2'].free)
        self.assertEqual('a2', part.pinned['w-1'])

    def test_policies_without_a_free_member_are_left_out(self):
        self.make([policy('affinity', 'zone'), policy('spread', 'host')])
        self.assertEqual(2, len(self.fix_others('g-0').topology.policies))
        self.assertEqual((), self.fix_others().topology.policies)

    def test_exclusive_policy_concerns_uncovered_members(self):
        below = {'g': group([policy('exclusive', 'rack')], w=1)}
        self.problem = builders.problem(
            racks(a=(8,), b=(8,)), group(groups=below, o=1)
        )
        self.plan = violations.Plan({'g/w-0': 'a1', 'o-0': 'b1'}, {})
        part = self.fix_others('o-0')
        self.assertEqual(1, len(part.topology.policies))
        self.assertEqual('b1', find(part).placement['o-0'])

    def test_unplaced_members_may_be_placed(self):
        members = {'class': 'one', 'count': 3, 'min_count': 1}
        self.problem = builders.problem(racks(a=(2, 2)), group(w=members))
        self.plan = violations.Plan({'w-0': 'a2'}, {})
        part = self.fix_others('w-1')
        self.assertEqual({'w-0': 'a2'}, part.pinned)
        self.assertEqual(3, len(part.topology.members))

    def test_unplaced_members_keep_their_policies(self):
        members = {'class': 'one', 'count': 1, 'min_count': 0}
        below = {'g': group([policy('affinity', 'host')], v=members, w=1)}
        self.problem = builders.problem(
            racks(a=(1, 3)), group(groups=below, x=1)
        )
        self.plan = violations.Plan({'g/w-0': 'a1', 'x-0': 'a2'}, {})
        part = self.fix_others('x-0')
        self.assertEqual(1, len(part.topology.policies))

    def test_alternatives_of_pinned_members_are_restored(self):
        self.make()
        part = self.fix_others('g-1', 'w-0')
        plan = subproblem.restore_alternatives(self.plan, find(part))
        self.assertEqual([], violations.find(self.problem, plan))
        self.assertEqual(1, plan.alternative['g-0'])
        self.assertEqual('a2', plan.placement['w-1'])

    def test_alternatives_of_moved_members_are_the_new_ones(self):
        self.make()
        part = violations.Plan(dict(self.plan.placement), {'g-1': 0})
        plan = subproblem.restore_alternatives(self.plan, part)
        self.assertEqual({'g-0': 1, 'g-1': 0}, plan.alternative)

    def test_alternatives_of_left_hosts_are_dropped(self):
        self.make()
        placement = {**self.plan.placement, 'g-1': 'a1'}
        plan = subproblem.restore_alternatives(
            self.plan, violations.Plan(placement, {'g-1': 0})
        )
        self.assertEqual({'g-0': 1, 'g-1': 0}, plan.alternative)
        placement = {**self.plan.placement, 'w-0': 'b1'}
        del placement['g-1']
        plan = subproblem.restore_alternatives(
            self.plan, violations.Plan(placement, {})
        )
        self.assertEqual({'g-0': 1}, plan.alternative)
