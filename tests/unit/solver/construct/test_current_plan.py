# SPDX-License-Identifier: Apache-2.0
"""The members of a current placement that can stay."""

import dataclasses

from oslotest import base

from nova_groupext.solver.construct import current_plan
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestFind(base.BaseTestCase):
    def find(self, hosts, topology, current, classes=None, **others):
        problem = builders.problem(
            hosts, topology, classes, current=current, **others
        )
        return current_plan.find(problem, time_budget.TimeBudget(60))

    def check(self, staying, *args, **others):
        """Check which members stay."""
        plan = self.find(*args, **others)
        self.assertEqual(staying, ' '.join(sorted(plan.placement)))

    def test_lawful_placement_stays(self):
        current = {'w-0': 'a1', 'w-1': 'a2', 'w-2': 'b1'}

        plan = self.find(racks(a=(1, 1), b=(1,)), group(w=3), current)

        self.assertEqual(current, plan.placement)

    def test_full_host_keeps_as_many_as_fit(self):
        current = dict.fromkeys(('w-0', 'w-1', 'w-2'), 'a1')

        self.check('w-0 w-1', racks(a=(2, 2)), group(w=3), current)

    def test_member_leaves_a_host_that_its_class_may_not_use(self):
        classes = {'one': {'request': {}, 'hosts': ['a1']}}

        self.check(
            *('w-0', racks(a=(2, 2)), group(w=2)),
            *({'w-0': 'a1', 'w-1': 'a2'}, classes),
        )

    def test_member_leaves_a_host_that_a_search_leaves_out(self):
        problem = builders.problem(
            racks(a=(2,), b=(2,)), group(w=1), current={'w-0': 'b1'}
        )
        problem = dataclasses.replace(
            problem,
            hosts={'a1': problem.hosts['a1']},
            classes={
                name: dataclasses.replace(each, hosts=frozenset(['a1']))
                for name, each in problem.classes.items()
            },
        )

        plan = current_plan.find(problem, time_budget.TimeBudget(60))
        self.assertEqual({}, plan.placement)
        plan = squeaky_wheel.SqueakyWheel(problem).run_iteration()
        self.assertEqual({'w-0': 'a1'}, plan.placement)

    def test_majority_of_an_affinity_stays(self):
        current = {'w-0': 'a1', 'w-1': 'b1', 'w-2': 'b1'}

        self.check(
            'w-1 w-2',
            racks(a=(3,), b=(3,)),
            group([policy('affinity', 'rack')], w=3),
            current,
        )

    def test_domain_of_a_pinned_member_stays(self):
        current = {'w-1': 'b1', 'w-2': 'b1', 'w-3': 'a1'}

        self.check(
            'w-0 w-3',
            racks(a=(3,), b=(3,)),
            group([policy('affinity', 'rack')], w=4),
            current,
            pinned={'w-0': 'a1'},
        )

    def test_one_of_each_domain_of_an_anti_affinity_stays(self):
        current = {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'b1'}

        self.check(
            'w-0 w-2',
            racks(a=(3,), b=(3,)),
            group([policy('anti-affinity', 'rack')], w=3),
            current,
        )

    def test_soft_policies_move_nobody(self):
        current = {'w-0': 'a1', 'w-1': 'a1'}

        self.check(
            'w-0 w-1',
            racks(a=(3,)),
            group([policy('anti-affinity', 'rack', False)], w=2),
            current,
        )

    def test_policy_that_more_members_may_meet_moves_nobody(self):
        survive = policy('survive', 'host', min_members=2)

        self.check(
            'w-0 w-1',
            racks(a=(3, 3)),
            group([survive], w=4),
            {'w-0': 'a1', 'w-1': 'a1'},
        )

    def test_first_alternative_that_fits_is_used(self):
        classes = {
            'one': {
                'request': {'VCPU': 9},
                'alternatives': {'a1': [{'VCPU': 2}, {'VCPU': 1}]},
            }
        }

        plan = self.find(
            racks(a=(3,)),
            group(w=2),
            {'w-0': 'a1', 'w-1': 'a1'},
            classes,
        )

        self.assertEqual({'w-0': 0, 'w-1': 1}, plan.alternative)
