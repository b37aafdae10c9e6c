# SPDX-License-Identifier: Apache-2.0
"""Search states: allowed and preferred hosts of the next member."""

from oslotest import base

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.construct import state_snapshots


class SearchStateCase(base.BaseTestCase):
    def make(self, hosts, topology, classes=None, **others):
        problem = builders.problem(hosts, topology, classes, **others)
        return search_state.SearchState(problem)

    def eq_class(self, state, path):
        return next(
            eq_class
            for eq_class in state.eq_classes
            if path in eq_class.members
        )

    def assign(self, state, path, host):
        state.assign(self.eq_class(state, path), state.matrices.number[host])

    def hosts(self, state, path):
        """Return the ids of hosts that may take one more member."""
        numbers = state.hosts(self.eq_class(state, path))
        return [state.matrices.hosts[number] for number in numbers]

    def preferred(self, state, path, ignored=None):
        eq_class = self.eq_class(state, path)
        numbers = state.preferred(eq_class, state.hosts(eq_class), ignored)
        return [state.matrices.hosts[number] for number in numbers]


class TestHosts(SearchStateCase):
    def test_full_host_is_excluded(self):
        state = self.make(racks(a=(1, 0, 2)), group(w=2))
        self.assertEqual(['a1', 'a3'], self.hosts(state, 'w-0'))
        self.assign(state, 'w-0', 'a1')
        self.assertEqual(['a3'], self.hosts(state, 'w-0'))

    def test_host_outside_the_class_is_excluded(self):
        classes = {'one': {'request': {'VCPU': 1}, 'hosts': ['a2']}}
        state = self.make(racks(a=(8, 8)), group(w=1), classes)
        self.assertEqual(['a2'], self.hosts(state, 'w-0'))

    def test_host_without_a_domain_is_excluded_by_a_strict_policy(self):
        hosts = [builders.host('a1', 'a'), builders.host('n1')]
        for strict, expected in ((True, ['a1']), (False, ['a1', 'n1'])):
            rule = policy('anti-affinity', 'rack', strict, max_per_domain=9)
            state = self.make(hosts, group([rule], w=2))
            self.assertEqual(expected, self.hosts(state, 'w-0'))

    def test_hosts_meet_all_strict_policies(self):
        policies = [
            policy('affinity', 'rack'),
            policy('anti-affinity', 'host'),
        ]
        state = self.make(
            racks(a=(8, 8, 8), b=(8,)), group(policies, w=3, x=1)
        )
        self.assign(state, 'w-0', 'a2')
        self.assertEqual(['a1', 'a3'], self.hosts(state, 'w-1'))

    def test_exclusive_domain_of_other_members_is_excluded(self):
        for strict, expected in ((True, ['b1']), (False, ['a1', 'a2', 'b1'])):
            below = group([policy('exclusive', 'rack', strict)], w=1)
            state = self.make(
                racks(a=(8, 8), b=(8,)), group(groups={'g': below}, o=1)
            )
            self.assign(state, 'g/w-0', 'a1')
            self.assertEqual(expected, self.hosts(state, 'o-0'))

    def test_host_outside_a_fixed_domain_is_excluded(self):
        state = self.make(
            racks(a=(8, 0), b=(8,)), group([policy('affinity', 'rack')], w=1)
        )
        (propagator,) = state.propagators
        propagator.fix_domain(0)
        self.assertEqual(['a1'], self.hosts(state, 'w-0'))

    def test_pinned_members_are_assigned(self):
        state = self.make(
            racks(a=(8,), b=(8,)),
            group([policy('anti-affinity', 'rack')], w=2),
            pinned={'w-0': 'a1'},
        )
        self.assertEqual(['b1'], self.hosts(state, 'w-1'))


class TestPreferred(SearchStateCase):
    def test_soft_policy_narrows_the_preferred_hosts(self):
        state = self.make(
            racks(a=(8, 8), b=(8,)),
            group([policy('affinity', 'rack', False)], w=3),
        )
        self.assign(state, 'w-0', 'b1')
        self.assertEqual(['a1', 'a2', 'b1'], self.hosts(state, 'w-1'))
        self.assertEqual(['b1'], self.preferred(state, 'w-1'))

    def test_policy_of_the_higher_weight_comes_first(self):
        for weights, expected in (((1, 2), ['b1']), ((2, 1), ['a1'])):
            together, apart = weights
            policies = [
                policy('affinity', 'host', False, weight=together),
                policy('anti-affinity', 'host', False, weight=apart),
            ]
            state = self.make(racks(a=(8,), b=(8,)), group(policies, w=2))
            self.assign(state, 'w-0', 'a1')
            self.assertEqual(expected, self.preferred(state, 'w-1'))

    def test_one_policy_may_be_ignored(self):
        state = self.make(
            racks(a=(8,), b=(8,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        self.assign(state, 'w-0', 'a1')
        (propagator,) = state.propagators
        self.assertEqual(
            ['a1', 'b1'], self.preferred(state, 'w-1', ignored=propagator)
        )

    def test_soft_exclusive_domain_is_avoided_by_other_members(self):
        below = group([policy('exclusive', 'rack', False)], w=1)
        state = self.make(
            racks(a=(8,), b=(1,)), group(groups={'g': below}, o=2)
        )
        self.assign(state, 'g/w-0', 'a1')
        self.assertEqual(['b1'], self.preferred(state, 'o-0'))
        self.assign(state, 'o-0', 'b1')
        self.assertEqual(['a1'], self.preferred(state, 'o-0'))

    def test_policy_of_weight_0_has_no_propagator(self):
        rule = policy('affinity', 'host', False, weight=0)
        state = self.make(racks(a=(8,), b=(8,)), group([rule], w=2))
        self.assertEqual([], state.propagators)


class TestAtMost(SearchStateCase):
    def test_limit_of_a_host_is_capacity_or_policy(self):
        for scope, expected in (('host', [2, 1]), ('rack', [8, 1])):
            rule = policy('anti-affinity', scope, max_per_domain=2)
            state = self.make(racks(a=(8, 1)), group([rule], w=9))
            (eq_class,) = state.eq_classes
            most = state.limited_capacity(eq_class, state.hosts(eq_class))
            self.assertEqual(expected, most.tolist())


class TestAssignAndUnassign(SearchStateCase):
    def test_undone_assignments_leave_no_trace(self):
        below = group(
            [
                policy('exclusive', 'rack'),
                policy('network-proximity', 'host', False),
            ],
            w=2,
        )
        state = self.make(
            racks(a=(8, 8), b=(8,)),
            group([policy('spread', 'rack', False)], groups={'g': below}, o=1),
        )
        before = state_snapshots.of(state)
        options = [
            (eq_class, host, state.assign(eq_class, host))
            for host, eq_class in enumerate(state.eq_classes)
        ]
        self.assertNotEqual(before, state_snapshots.of(state))
        for step in options:
            state.change([step], -1)
        self.assertEqual(before, state_snapshots.of(state))

    def test_last_assignment_is_undone_from_a_saved_state(self):
        state = self.make(
            racks(a=(8,), b=(8,)),
            group([policy('anti-affinity', 'rack')], w=2),
        )
        (eq_class,) = state.eq_classes
        state.assign(eq_class, 0)
        before = state_snapshots.of(state)
        known = state.matrices.save(1)
        state.assign(eq_class, 1)
        state.restore(eq_class, 1, known)
        self.assertEqual(before, state_snapshots.of(state))

    def test_fitting_domains_can_be_copied(self):
        problem = builders.problem(
            racks(a=(8,), b=(8,)), group([policy('affinity', 'rack')], w=2)
        )
        first, second = (
            search_state.SearchState(problem),
            search_state.SearchState(problem),
        )
        first.fitting[first.propagators[0]] = [1]
        second.copy_fitting_from(first)
        self.assertEqual({second.propagators[0]: [1]}, second.fitting)


class TestAssignmentState(SearchStateCase):
    """A plan that is assigned to a search state."""

    def assigned(self):
        self.problem = builders.problem(
            racks(a=(2, 2), b=(2,)),
            group([policy('anti-affinity', 'rack', max_per_domain=2)], w=4),
            pinned={'w-3': 'b1'},
        )
        plan = violations.Plan(
            {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'b1', 'w-3': 'b1'}, {}
        )
        return assignment.AssignmentState(self.problem, plan)

    def test_assigned_members_consume_capacity_and_count(self):
        state = self.assigned().state
        self.assertEqual([[0], [2], [1]], state.matrices.free.tolist())
        self.assertEqual([2, 2], state.propagators[0].counts[:-1].tolist())

    def test_plan_can_be_replaced_by_another(self):
        current = self.assigned()
        plan = violations.Plan({'w-0': 'a2', 'w-1': 'a1', 'w-3': 'b1'}, {})
        current.apply(plan)
        expected = assignment.AssignmentState(self.problem, plan)
        self.assertEqual(
            state_snapshots.of(expected.state),
            state_snapshots.of(current.state),
        )

    def test_members_are_unassigned_for_a_while(self):
        current = self.assigned()
        before = state_snapshots.of(current.state)
        with current.unassigned({'w-0', 'w-2'}) as unassigned:
            self.assertEqual([2], list(unassigned.values()))
            self.assertEqual(
                [[1], [2], [2]], current.state.matrices.free.tolist()
            )
            self.assertEqual(
                ['a1', 'a2', 'b1'], self.hosts(current.state, 'w-0')
            )
        self.assertEqual(before, state_snapshots.of(current.state))

    def test_unplaced_member_may_be_included(self):
        current = self.assigned()
        plan = violations.Plan({'w-0': 'a2', 'w-3': 'b1'}, {})
        current.apply(plan)
        with current.unassigned({'w-1', 'w-0'}) as unassigned:
            self.assertEqual([2], list(unassigned.values()))
        self.assertEqual(
            state_snapshots.of(
                assignment.AssignmentState(self.problem, plan).state
            ),
            state_snapshots.of(current.state),
        )

    def test_parts_of_a_class_are_classes(self):
        current = self.assigned()
        ((eq_class, part),) = current.restrict_classes(
            {'w-2', 'w-0', 'w-3'}
        ).items()
        self.assertEqual(('w-0', 'w-1', 'w-2'), eq_class.members)
        self.assertEqual(('w-0', 'w-2'), part.members)
