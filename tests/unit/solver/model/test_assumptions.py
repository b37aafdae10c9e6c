# SPDX-License-Identifier: Apache-2.0
"""Which members and policies a question about some tags needs."""

from oslotest import base

from nova_groupext.solver.model import assumptions
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie

SPREAD = assumptions.PolicyAssumption('', 'spread', 'rack')
AFFINITY = assumptions.PolicyAssumption('', 'affinity', 'rack')


def optional(count, least=0):
    return {'class': 'one', 'count': count, 'min_count': least}


def members(problem):
    return [member.path for member in problem.topology.members]


class TestTags(base.BaseTestCase):
    def test_members_that_have_to_come_and_strict_policies(self):
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
            assumptions.of(problem),
        )

    def test_policies_that_an_answer_cannot_tell_apart_are_one(self):
        problem = builders.problem(
            racks(a=(8,)),
            group([policy('spread', 'rack', max_skew=n) for n in (1, 2)], w=1),
        )
        self.assertEqual(
            [assumptions.MemberAssumption('w'), SPREAD],
            assumptions.of(problem),
        )
        self.assertEqual(2, len(assumptions.policies(problem, {SPREAD})))


class TestKeep(base.BaseTestCase):
    def test_what_is_not_kept_is_gone(self):
        problem = builders.problem(
            racks(a=(8,)),
            group([policy('affinity', 'rack')], w=2, x=3),
        )
        kept = assumptions.restrict_to(
            problem, {assumptions.MemberAssumption('w')}
        )
        self.assertEqual(['w-0', 'w-1'], members(kept))
        self.assertEqual((), kept.topology.policies)

    def test_pinned_members_stay(self):
        problem = builders.problem(
            racks(a=(8,)), group(w=2), pinned={'w-1': 'a1'}
        )
        self.assertEqual(
            ['w-1'], members(assumptions.restrict_to(problem, set()))
        )

    def test_no_more_members_than_have_to_come(self):
        problem = builders.problem(
            racks(a=(8,)),
            group([policy('affinity', 'rack')], w=optional(5, 3)),
            pinned={'w-4': 'a1'},
        )
        kept = assumptions.restrict_to(
            problem, {assumptions.MemberAssumption('w'), AFFINITY}
        )
        self.assertEqual(['w-0', 'w-1', 'w-4'], members(kept))
        self.assertEqual(
            [(3, 3)],
            [(stem.count, stem.min_count) for stem in kept.topology.stems],
        )
        self.assertEqual(
            (('w-0', 'w-1', 'w-4'),), kept.topology.policies[0].sides
        )

    def test_members_that_a_policy_tells_apart_can_all_be_chosen(self):
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
        kept = assumptions.restrict_to(
            problem, {assumptions.MemberAssumption('w'), rule}
        )
        self.assertEqual(['w-0', 'w-1', 'w-2'], members(kept))
        self.assertEqual((('w-0',),), kept.topology.policies[0].sides)

    def test_members_that_may_help_a_policy_stay(self):
        for kind, options in (('spread', {}), ('survive', {'min_members': 1})):
            problem = builders.problem(
                racks(a=(8,)),
                group([policy(kind, 'rack', **options)], w=2, x=1),
            )
            rule = assumptions.PolicyAssumption('', kind, 'rack')
            kept = assumptions.restrict_to(
                problem, {assumptions.MemberAssumption('x'), rule}
            )
            self.assertEqual(['w-0', 'w-1', 'x-0'], members(kept))
            self.assertEqual(0, kept.topology.stems[0].min_count)


class TestAlike(base.BaseTestCase):
    def test_members_that_could_change_places(self):
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
        alike = [name for name in 'abcdef' if keys[(name,)] == keys[('a',)]]
        self.assertEqual(['a', 'b', 'd', 'e'], alike)
        near = assumptions.PolicyAssumption('tie', 'affinity', 'host')
        keys = assumptions.interchangeable(problem, {AFFINITY, near})
        self.assertEqual(5, len(set(keys.values())))
