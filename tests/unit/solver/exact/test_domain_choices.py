# SPDX-License-Identifier: Apache-2.0
"""Choices of domains: groups of members that share one, and their rows."""

from oslotest import base

from nova_groupext.solver.exact import domain_choices
from nova_groupext.solver.exact import member_counts
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.model import time_budget
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

RACK = policy('affinity', 'rack')
NEAR = policy('network-proximity', 'rack')
# Both with w.
TIES = [{**builders.tie(name, 'w', NEAR), 'name': name} for name in 'uv']
OPTIONAL = {'class': 'one', 'count': 2, 'min_count': 0}


def related(*parts, **members):
    """A group with strict proximity between some of its members."""
    return group(
        relationships=[builders.tie(*parts, NEAR)],
        **members,
    )


class TestColocationGroups(base.BaseTestCase):
    """Which members policies bind to one domain, and which together."""

    def find(self, topology, **others):
        problem = builders.problem(racks(a=(9,), b=(9,)), topology, **others)
        model = member_counts.Model(problem, time_budget.TimeBudget(60))
        binding = [
            each
            for each in problem.topology.policies
            if domain_choices.is_binding(model, each)
        ]
        found = domain_choices.colocation_groups(problem, binding)
        return sorted((each.scope, sorted(each.paths)) for each in found)

    def test_group_with_affinity_is_one(self):
        self.assertEqual(
            [('rack', ['w-0', 'w-1'])], self.find(group([RACK], w=2))
        )

    def test_related_parts_are_one_if_both_have_to_come(self):
        self.assertEqual(
            [('rack', ['v-0', 'w-0'])], self.find(related('v', 'w', v=1, w=1))
        )

    def test_related_parts_are_none_if_one_may_be_left_out(self):
        self.assertEqual([], self.find(related('v', 'w', v=1, w=OPTIONAL)))

    def test_pinned_members_have_to_come(self):
        found = self.find(
            related('v', 'w', v=1, w=OPTIONAL), pinned={'w-1': 'a1'}
        )
        self.assertEqual([('rack', ['v-0', 'w-0', 'w-1'])], found)

    def test_policies_with_a_common_member_are_one_group(self):
        found = self.find(
            group(
                groups={'g': group([RACK], u=1, v=1), 'h': group([RACK], x=1)},
                relationships=[builders.tie('g', 'w', NEAR)],
                w=1,
            )
        )
        self.assertEqual(
            [('rack', ['g/u-0', 'g/v-0', 'w-0']), ('rack', ['h/x-0'])], found
        )

    def test_policies_with_a_common_optional_member_are_not(self):
        found = self.find(
            group(
                relationships=TIES,
                u=1,
                v=1,
                w={**OPTIONAL, 'min_count': 1},
            )
        )
        self.assertEqual(2, len(found))

    def test_policies_of_different_scopes_are_not_merged(self):
        found = self.find(group([RACK, policy('affinity', 'zone')], w=1))
        self.assertEqual({'rack', 'zone'}, {scope for scope, _ in found})


class TestAddChoice(base.BaseTestCase):
    """Plans of programs with such rows."""

    def solve(self, *args, **others):
        """Return the hosts of the plan with the most members, None without."""
        problem = builders.problem(*args, **others)
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        exact.place_members()
        return exact.plan and sorted(exact.plan.placement.values())

    def test_members_share_the_domain_with_room_for_all(self):
        self.assertEqual(
            ['b1', 'b2', 'b2'],
            self.solve(racks(a=(2,), b=(1, 2)), group([RACK], w=3)),
        )

    def test_no_domain_with_room_for_all_is_no_plan(self):
        self.assertIsNone(
            self.solve(racks(a=(2,), b=(1, 1)), group([RACK], w=3))
        )

    def test_optional_members_come_as_far_as_the_domain_allows(self):
        optional = {'class': 'one', 'count': 5, 'min_count': 1}
        self.assertEqual(
            ['b1', 'b2', 'b2'],
            self.solve(racks(a=(2,), b=(1, 2)), group([RACK], w=optional)),
        )

    def test_members_follow_a_pinned_one(self):
        self.assertEqual(
            ['a1', 'a1'],
            self.solve(
                racks(a=(2,), b=(9,)),
                group([RACK], w=2),
                pinned={'w-0': 'a1'},
            ),
        )

    def test_pinned_members_of_two_domains_have_no_plan(self):
        self.assertIsNone(
            self.solve(
                racks(a=(9,), b=(9,)),
                group([RACK], w=3),
                pinned={'w-0': 'a1', 'w-1': 'b1'},
            )
        )

    def test_policies_with_a_common_member_choose_the_same_domain(self):
        topology = group(
            relationships=TIES,
            u=1,
            v=1,
            w=1,
        )
        self.assertIsNone(self.solve(racks(a=(2,), b=(2,)), topology))
        self.assertEqual(
            ['b1', 'b1', 'b2'], self.solve(racks(a=(2,), b=(2, 1)), topology)
        )
