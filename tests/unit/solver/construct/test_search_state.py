# SPDX-License-Identifier: Apache-2.0
"""Where may the next member of a unit sit, and where should it?"""

from oslotest import base

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.policies import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.construct import state_snapshots


class SettingCase(base.BaseTestCase):
    def make(self, hosts, topology, classes=None, **others):
        problem = builders.problem(hosts, topology, classes, **others)
        return search_state.SearchState(problem)

    def unit(self, state, path):
        return next(u for u in state.units if path in u.members)

    def seat(self, state, path, host):
        state.put(self.unit(state, path), state.matrices.number[host])

    def hosts(self, state, path):
        """Ids of the hosts that may take one more."""
        numbers = state.hosts(self.unit(state, path))
        return [state.matrices.hosts[number] for number in numbers]

    def liked(self, state, path, but=None):
        unit = self.unit(state, path)
        numbers = state.liked(unit, state.hosts(unit), but)
        return [state.matrices.hosts[number] for number in numbers]


class TestHosts(SettingCase):
    def test_need_room(self):
        state = self.make(racks(a=(1, 0, 2)), group(w=2))
        self.assertEqual(['a1', 'a3'], self.hosts(state, 'w-0'))
        self.seat(state, 'w-0', 'a1')
        self.assertEqual(['a3'], self.hosts(state, 'w-0'))

    def test_are_those_of_the_class(self):
        classes = {'one': {'request': {'VCPU': 1}, 'hosts': ['a2']}}
        state = self.make(racks(a=(8, 8)), group(w=1), classes)
        self.assertEqual(['a2'], self.hosts(state, 'w-0'))

    def test_have_a_domain_where_a_strict_policy_asks_for_one(self):
        hosts = [builders.host('a1', 'a'), builders.host('n1')]
        for strict, expected in ((True, ['a1']), (False, ['a1', 'n1'])):
            rule = policy('anti-affinity', 'rack', strict, max_per_domain=9)
            state = self.make(hosts, group([rule], w=2))
            self.assertEqual(expected, self.hosts(state, 'w-0'))

    def test_keep_all_strict_policies(self):
        policies = [
            policy('affinity', 'rack'),
            policy('anti-affinity', 'host'),
        ]
        state = self.make(
            racks(a=(8, 8, 8), b=(8,)), group(policies, w=3, x=1)
        )
        self.seat(state, 'w-0', 'a2')
        self.assertEqual(['a1', 'a3'], self.hosts(state, 'w-1'))

    def test_are_not_in_what_others_have_to_themselves(self):
        for strict, expected in ((True, ['b1']), (False, ['a1', 'a2', 'b1'])):
            below = group([policy('exclusive', 'rack', strict)], w=1)
            state = self.make(
                racks(a=(8, 8), b=(8,)), group(groups={'g': below}, o=1)
            )
            self.seat(state, 'g/w-0', 'a1')
            self.assertEqual(expected, self.hosts(state, 'o-0'))

    def test_of_a_home_that_was_chosen(self):
        state = self.make(
            racks(a=(8, 0), b=(8,)), group([policy('affinity', 'rack')], w=1)
        )
        (propagator,) = state.propagators
        propagator.settle(0)
        self.assertEqual(['a1'], self.hosts(state, 'w-0'))

    def test_pinned_members_sit_already(self):
        state = self.make(
            racks(a=(8,), b=(8,)),
            group([policy('anti-affinity', 'rack')], w=2),
            pinned={'w-0': 'a1'},
        )
        self.assertEqual(['b1'], self.hosts(state, 'w-1'))


class TestLiked(SettingCase):
    def test_soft_policies_ask_for_less_where_they_can(self):
        state = self.make(
            racks(a=(8, 8), b=(8,)),
            group([policy('affinity', 'rack', False)], w=3),
        )
        self.seat(state, 'w-0', 'b1')
        self.assertEqual(['a1', 'a2', 'b1'], self.hosts(state, 'w-1'))
        self.assertEqual(['b1'], self.liked(state, 'w-1'))

    def test_the_dearer_of_two_comes_first(self):
        for weights, expected in (((1, 2), ['b1']), ((2, 1), ['a1'])):
            together, apart = weights
            policies = [
                policy('affinity', 'host', False, weight=together),
                policy('anti-affinity', 'host', False, weight=apart),
            ]
            state = self.make(racks(a=(8,), b=(8,)), group(policies, w=2))
            self.seat(state, 'w-0', 'a1')
            self.assertEqual(expected, self.liked(state, 'w-1'))

    def test_one_of_them_may_be_left_out(self):
        state = self.make(
            racks(a=(8,), b=(8,)),
            group([policy('affinity', 'host', False)], w=2),
        )
        self.seat(state, 'w-0', 'a1')
        (propagator,) = state.propagators
        self.assertEqual(
            ['a1', 'b1'], self.liked(state, 'w-1', but=propagator)
        )

    def test_others_keep_out_of_what_is_exclusive_if_they_can(self):
        below = group([policy('exclusive', 'rack', False)], w=1)
        state = self.make(
            racks(a=(8,), b=(1,)), group(groups={'g': below}, o=2)
        )
        self.seat(state, 'g/w-0', 'a1')
        self.assertEqual(['b1'], self.liked(state, 'o-0'))
        self.seat(state, 'o-0', 'b1')
        self.assertEqual(['a1'], self.liked(state, 'o-0'))

    def test_a_policy_of_no_weight_has_no_say(self):
        rule = policy('affinity', 'host', False, weight=0)
        state = self.make(racks(a=(8,), b=(8,)), group([rule], w=2))
        self.assertEqual([], state.propagators)


class TestAtMost(SettingCase):
    def test_is_what_fits_and_what_a_policy_leaves_on_a_host(self):
        for scope, expected in (('host', [2, 1]), ('rack', [8, 1])):
            rule = policy('anti-affinity', scope, max_per_domain=2)
            state = self.make(racks(a=(8, 1)), group([rule], w=9))
            (unit,) = state.units
            most = state.at_most(unit, state.hosts(unit))
            self.assertEqual(expected, most.tolist())


class TestPutAndTake(SettingCase):
    def test_leave_no_trace(self):
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
        ways = [
            (unit, host, state.put(unit, host))
            for host, unit in enumerate(state.units)
        ]
        self.assertNotEqual(before, state_snapshots.of(state))
        for step in ways:
            state.take(*step)
        self.assertEqual(before, state_snapshots.of(state))

    def test_the_last_put_is_undone_by_what_is_remembered(self):
        state = self.make(
            racks(a=(8,), b=(8,)),
            group([policy('anti-affinity', 'rack')], w=2),
        )
        (unit,) = state.units
        state.put(unit, 0)
        before = state_snapshots.of(state)
        known = state.matrices.remember(1)
        state.put(unit, 1)
        state.restore(unit, 1, known)
        self.assertEqual(before, state_snapshots.of(state))

    def test_what_is_known_of_domains_can_be_learnt(self):
        problem = builders.problem(
            racks(a=(8,), b=(8,)), group([policy('affinity', 'rack')], w=2)
        )
        first, second = (
            search_state.SearchState(problem),
            search_state.SearchState(problem),
        )
        first.fitting[first.propagators[0]] = [1]
        second.learn(first)
        self.assertEqual({second.propagators[0]: [1]}, second.fitting)


class TestSeated(SettingCase):
    """A plan on the matrices."""

    def sit(self):
        self.problem = builders.problem(
            racks(a=(2, 2), b=(2,)),
            group([policy('anti-affinity', 'rack', max_per_domain=2)], w=4),
            pinned={'w-3': 'b1'},
        )
        plan = violations.Plan(
            {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'b1', 'w-3': 'b1'}, {}
        )
        return assignment.AssignmentState(self.problem, plan)

    def test_its_members_take_room_and_count(self):
        state = self.sit().state
        self.assertEqual([[0], [2], [1]], state.matrices.free.tolist())
        self.assertEqual([2, 2], state.propagators[0].counts[:-1].tolist())

    def test_it_can_be_changed_for_another(self):
        sitting = self.sit()
        plan = violations.Plan({'w-0': 'a2', 'w-1': 'a1', 'w-3': 'b1'}, {})
        sitting.change_to(plan)
        expected = assignment.AssignmentState(self.problem, plan)
        self.assertEqual(
            state_snapshots.of(expected.state),
            state_snapshots.of(sitting.state),
        )

    def test_members_stand_up_for_a_while(self):
        sitting = self.sit()
        before = state_snapshots.of(sitting.state)
        with sitting.lifted({'w-0', 'w-2'}) as standing:
            self.assertEqual([2], list(standing.values()))
            self.assertEqual(
                [[1], [2], [2]], sitting.state.matrices.free.tolist()
            )
            self.assertEqual(
                ['a1', 'a2', 'b1'], self.hosts(sitting.state, 'w-0')
            )
        self.assertEqual(before, state_snapshots.of(sitting.state))

    def test_who_did_not_sit_may_come_in(self):
        sitting = self.sit()
        plan = violations.Plan({'w-0': 'a2', 'w-3': 'b1'}, {})
        sitting.change_to(plan)
        with sitting.lifted({'w-1', 'w-0'}) as standing:
            self.assertEqual([2], list(standing.values()))
        self.assertEqual(
            state_snapshots.of(
                assignment.AssignmentState(self.problem, plan).state
            ),
            state_snapshots.of(sitting.state),
        )

    def test_parts_of_a_unit_are_units(self):
        sitting = self.sit()
        ((unit, part),) = sitting.parts({'w-2', 'w-0', 'w-3'}).items()
        self.assertEqual(('w-0', 'w-1', 'w-2'), unit.members)
        self.assertEqual(('w-0', 'w-2'), part.members)
