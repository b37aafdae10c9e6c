# SPDX-License-Identifier: Apache-2.0
"""Reasons of refusals, and their sentences."""

from oslotest import base

from nova_groupext.solver import explain
from nova_groupext.solver.explain import reasons
from nova_groupext.solver.model import time_budget
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie


class TestReasons(base.BaseTestCase):
    def assertReason(self, code, text, *args, **kwargs):
        answer = builders.solve(*args, **kwargs)
        self.assertEqual({'code': code, 'text': text}, answer.reason)

    def test_too_little_capacity_is_the_reason(self):
        self.assertReason(
            'vrt.capacity',
            'There is not enough free capacity for 3 w in g with the rack '
            'affinity of g.',
            racks(a=(2,), b=(2,)),
            group(groups={'g': group([policy('affinity', 'rack')], w=3)}),
        )

    def test_foreign_consumers_are_the_reason(self):
        self.assertReason(
            'vrt.foreign',
            'Servers outside of the group leave no hosts for 1 w with the '
            'rack exclusivity of the group.',
            [builders.host('a1', 'a', foreign=True)],
            group([policy('exclusive', 'rack')], w=1),
        )

    def test_too_few_suitable_hosts_are_the_reason(self):
        classes = {'gpu': {'request': {'VCPU': 1}, 'hosts': ['a1']}}
        self.assertReason(
            'vrt.hosts',
            'Too few hosts can take 2 w with the host anti-affinity '
            'of the group.',
            racks(a=(8, 8)),
            group(
                [policy('anti-affinity', 'host')],
                w={'class': 'gpu', 'count': 2},
            ),
            classes,
        )

    def test_class_without_hosts_is_the_reason(self):
        classes = {'gpu': {'request': {}, 'hosts': []}}
        self.assertReason(
            'vrt.hosts',
            'Too few hosts can take w.',
            racks(a=(8,)),
            group(w={'class': 'gpu'}),
            classes,
        )

    def test_cloud_without_hosts_is_the_reason(self):
        self.assertReason(
            'vrt.hosts',
            'Too few hosts can take 1 w.',
            [],
            group(w=1),
        )

    def test_pins_that_break_a_policy_are_the_reason(self):
        self.assertReason(
            'vrt.pinned',
            'The existing servers of the group violate the rack affinity of '
            'the group.',
            racks(a=(8,), b=(8,)),
            group([policy('affinity', 'rack')], w=3),
            pinned={'w-0': 'a1', 'w-1': 'b1'},
        )

    def test_pins_that_leave_no_host_are_the_reason(self):
        self.assertReason(
            'vrt.pinned',
            'The existing servers of the group leave no hosts for 3 w with '
            'the host anti-affinity of the group.',
            racks(a=(8, 8, 8)),
            group([policy('anti-affinity', 'host')], w=3, x=1),
            pinned={'x-0': 'a1'},
        )

    def test_contradictory_policies_are_the_reason(self):
        self.assertReason(
            'vrt.policies',
            'Even with unlimited capacity there is no plan for a and b with '
            'the host affinity of the group and host anti-affinity between a '
            'and b.',
            racks(a=(8, 8)),
            group(
                [policy('affinity', 'host')],
                [tie('a', 'b', policy('anti-affinity', 'host'))],
                a={'class': 'one'},
                b={'class': 'one'},
            ),
        )

    def test_reason_is_unknown_without_time(self):
        problem = builders.problem(racks(a=(2,)), group(w=3))
        *_, refusal = explain.refusals(problem, time_budget.TimeBudget(0))
        self.assertEqual(reasons.UNKNOWN, refusal.reason['code'])
        self.assertEqual('There is no plan for 3 w.', refusal.reason['text'])
        self.assertTrue(refusal.is_cut_short)
        self.assertEqual([], refusal.relaxations)


class TestSentences(base.BaseTestCase):
    def test_items_of_a_conflict_have_codes_and_texts(self):
        answer = builders.solve(
            racks(a=(1, 1)),
            group(
                (),
                [tie('g', 'x', policy('network-proximity', 'host'))],
                groups={
                    'g': group(w={'class': 'one', 'count': 9, 'min_count': 1})
                },
                x={'class': 'one'},
            ),
        )
        self.assertEqual(
            [
                {
                    'kind': 'policy',
                    'at': 'tie',
                    'policy': {'type': 'network-proximity', 'scope': 'host'},
                    'code': 'vrt.network-proximity',
                    'text': 'host network proximity between g and x',
                },
                {
                    'kind': 'members',
                    'at': 'g',
                    'members': 'w',
                    'code': 'vrt.members',
                    'text': 'at least 1 of 9 w in g',
                },
                {
                    'kind': 'members',
                    'at': '',
                    'members': 'x',
                    'code': 'vrt.members',
                    'text': 'x',
                },
            ],
            answer.conflict,
        )

    def test_long_list_of_names_is_shortened(self):
        answer = builders.solve(
            racks(a=(6,)), group(**dict.fromkeys('abcdefg', 1))
        )
        self.assertEqual(7, len(answer.conflict))
        self.assertEqual(
            'There is not enough free capacity for 1 a, 1 b, 1 c, 1 d and 3 '
            'more.',
            answer.reason['text'],
        )
