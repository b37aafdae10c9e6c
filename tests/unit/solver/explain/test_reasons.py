# SPDX-License-Identifier: Apache-2.0
"""What stands in the way, and the sentence that says so."""

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

    def test_too_little_room(self):
        self.assertReason(
            'vrt.capacity',
            'There is not enough free room for 3 w in g with the rack '
            'affinity of g.',
            racks(a=(2,), b=(2,)),
            group(groups={'g': group([policy('affinity', 'rack')], w=3)}),
        )

    def test_others_are_everywhere(self):
        self.assertReason(
            'vrt.occupied',
            'What others have in this cloud leaves no place for 1 w with the '
            'rack exclusivity of the group.',
            [builders.host('a1', 'a', foreign=True)],
            group([policy('exclusive', 'rack')], w=1),
        )

    def test_too_few_suitable_hosts(self):
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

    def test_no_suitable_host(self):
        classes = {'gpu': {'request': {}, 'hosts': []}}
        self.assertReason(
            'vrt.hosts',
            'Too few hosts can take w.',
            racks(a=(8,)),
            group(w={'class': 'gpu'}),
            classes,
        )

    def test_no_hosts_at_all(self):
        self.assertReason(
            'vrt.hosts',
            'Too few hosts can take 1 w.',
            [],
            group(w=1),
        )

    def test_pins_break_a_policy_by_themselves(self):
        self.assertReason(
            'vrt.pinned',
            'The rack affinity of the group cannot be kept: servers that the '
            'group has already break it.',
            racks(a=(8,), b=(8,)),
            group([policy('affinity', 'rack')], w=3),
            pinned={'w-0': 'a1', 'w-1': 'b1'},
        )

    def test_pins_leave_no_place_for_others(self):
        self.assertReason(
            'vrt.pinned',
            'The servers that the group has already leave no place for '
            '3 w with the host anti-affinity of the group.',
            racks(a=(8, 8, 8)),
            group([policy('anti-affinity', 'host')], w=3, x=1),
            pinned={'x-0': 'a1'},
        )

    def test_policies_contradict_one_another(self):
        self.assertReason(
            'vrt.policies',
            'However much room were free, there would be no place for a and '
            'b with the host affinity of the group and host anti-affinity '
            'between a and b.',
            racks(a=(8, 8)),
            group(
                [policy('affinity', 'host')],
                [tie('a', 'b', policy('anti-affinity', 'host'))],
                a={'class': 'one'},
                b={'class': 'one'},
            ),
        )

    def test_not_found_out_in_time(self):
        problem = builders.problem(racks(a=(2,)), group(w=3))
        *_, refusal = explain.refusals(problem, time_budget.TimeBudget(0))
        self.assertEqual(reasons.UNKNOWN, refusal.reason['code'])
        self.assertEqual('There is no place for 3 w.', refusal.reason['text'])
        self.assertTrue(refusal.is_cut_short)
        self.assertEqual([], refusal.relaxations)


class TestWords(base.BaseTestCase):
    def test_items_of_a_conflict(self):
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

    def test_many_names_are_not_listed(self):
        answer = builders.solve(
            racks(a=(6,)), group(**dict.fromkeys('abcdefg', 1))
        )
        self.assertEqual(7, len(answer.conflict))
        self.assertEqual(
            'There is not enough free room for 1 a, 1 b, 1 c, 1 d and 3 more.',
            answer.reason['text'],
        )
