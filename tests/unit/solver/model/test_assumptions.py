# SPDX-License-Identifier: Apache-2.0
"""Assumptions, and problems restricted to some of them."""

from oslotest import base

from nova_groupext.solver.model import assumptions
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie

SPREAD = assumptions.PolicyAssumption('', 'spread', 'rack')
AFFINITY = assumptions.PolicyAssumption('', 'affinity', 'rack')


def optional(count, min_count=0):
    return {'class': 'one', 'count': count, 'min_count': min_count}


def members(problem):
    return [member.path for member in problem.topology.members]


class TestAssumptions(base.BaseTestCase):
    def test_required_members_and_strict_policies_are_assumptions(self):
        problem = builders.problem(
            racks(a=(8,)),
            group(
                [policy('affinity', 'rack'), policy('spread', 'rack', False)],
                must=2,
                may=optional(2),
                here=optional(2, 1),
            ),
            pinned={'here-1': 'a1'},
        )
        self.assertEqual(
            [assumptions.MemberAssumption('must'), AFFINITY],
            assumptions.of_problem(problem),
        )

    def test_policies_of_one_type_and_scope_are_one_assumption(self):
        problem = builders.problem(
            racks(a=(8,)),
            group([policy('spread', 'rack', max_skew=n) for n in (1, 2)], w=1),
        )
        self.assertEqual(
            [assumptions.MemberAssumption('w'), SPREAD],
            assumptions.of_problem(problem),
        )
        self.assertEqual(
            2, len(assumptions.assumed_policies(problem, {SPREAD}))
        )


class TestRestrictTo(base.BaseTestCase):
    def test_other_members_and_policies_are_removed(self):
        problem = builders.problem(
            racks(a=(8,)),
            group([policy('affinity', 'rack')], w=2, x=3),
        )
        reduced = assumptions.restrict_to(
            problem, {assumptions.MemberAssumption('w')}
        )
        self.assertEqual(['w-0', 'w-1'], members(reduced))
        self.assertEqual((), reduced.topology.policies)

    def test_pinned_members_are_kept(self):
        problem = builders.problem(
            racks(a=(8,)), group(w=2), pinned={'w-1': 'a1'}
        )
        self.assertEqual(
            ['w-1'], members(assumptions.restrict_to(problem, set()))
        )

    def test_optional_members_are_removed(self):
        problem = builders.problem(
            racks(a=(8,)),
            group([policy('affinity', 'rack')], w=optional(5, 3)),
            pinned={'w-4': 'a1'},
        )
        reduced = assumptions.restrict_to(
            problem, {assumptions.MemberAssumption('w'), AFFINITY}
        )
        self.assertEqual(['w-0', 'w-1', 'w-4'], members(reduced))
        self.assertEqual(
            [(3, 3)],
            [
                (member_set.count, member_set.min_count)
                for member_set in reduced.topology.member_sets
            ],
        )
        self.assertEqual(
            (('w-0', 'w-1', 'w-4'),), reduced.topology.policies[0].sides
        )

    def test_members_that_a_policy_distinguishes_are_all_kept(self):
        problem = builders.problem(
            racks(a=(8,)),
            group(
                (),
                [tie('w-0', 'x', policy('affinity', 'rack'))],
                w=optional(3, 1),
                x=1,
            ),
        )
        rule = assumptions.PolicyAssumption('tie', 'affinity', 'rack')
        reduced = assumptions.restrict_to(
            problem, {assumptions.MemberAssumption('w'), rule}
        )
        self.assertEqual(['w-0', 'w-1', 'w-2'], members(reduced))
        self.assertEqual((('w-0',),), reduced.topology.policies[0].sides)

    def test_members_that_may_help_a_policy_are_optional(self):
        for kind, options in (('spread', {}), ('survive', {'min_members': 1})):
            problem = builders.problem(
                racks(a=(8,)),
                group([policy(kind, 'rack', **options)], w=2, x=1),
            )
            rule = assumptions.PolicyAssumption('', kind, 'rack')
            reduced = assumptions.restrict_to(
                problem, {assumptions.MemberAssumption('x'), rule}
            )
            self.assertEqual(['w-0', 'w-1', 'x-0'], members(reduced))
            self.assertEqual(0, reduced.topology.member_sets[0].min_count)


class TestInterchangeable(base.BaseTestCase):
    def test_members_with_the_same_policies_are_interchangeable(self):
        problem = builders.problem(
            racks(a=(8,)),
            group(
                [policy('affinity', 'rack')],
                [tie('e-0', 'd', policy('affinity', 'host'))],
                a=2,
                b=2,
                c=3,
                d=2,
                e=2,
                f=2,
            ),
            pinned={'f-0': 'a1'},
        )
        keys = assumptions.interchangeable(problem, {AFFINITY})
        equal = [name for name in 'abcdef' if keys[(name,)] == keys[('a',)]]
        self.assertEqual(['a', 'b', 'd', 'e'], equal)
        near = assumptions.PolicyAssumption('tie', 'affinity', 'host')
        keys = assumptions.interchangeable(problem, {AFFINITY, near})
        self.assertEqual(5, len(set(keys.values())))
