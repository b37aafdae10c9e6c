# SPDX-License-Identifier: Apache-2.0
"""The tests' own checker against right answers and wrong ones."""

import copy
import unittest

from tests.property import checker

PROBLEM = {
    'levels': ['host', 'rack'],
    'hosts': [
        {'id': 'a', 'domains': {'rack': 'r1'}, 'free': {'VCPU': 2, 'GPU': 1}},
        {'id': 'b', 'domains': {'rack': 'r2'}, 'free': {'VCPU': 2}},
        {'id': 'c', 'domains': {'rack': 'r2'}, 'free': {'VCPU': 9}},
    ],
    'classes': {
        'c': {
            'request': {'VCPU': 2},
            'hosts': ['a', 'b'],
            'scores': {'a': 1.5, 'b': 1},
            'alternatives': {'a': [{'VCPU': 9}, {'VCPU': 1, 'GPU': 1}]},
        }
    },
    'topology': {
        'groups': {
            'g': {
                'members': {'m': {'class': 'c', 'count': 4, 'min_count': 2}},
                'policies': [
                    {'type': 'anti-affinity', 'scope': 'host'},
                    {
                        'type': 'affinity',
                        'scope': 'rack',
                        'strict': False,
                        'weight': 3,
                    },
                ],
            }
        }
    },
    'pinned': {'g/m-2': 'c'},
}
PLACED = {
    'status': 'placed',
    'placement': {'g/m-0': 'a', 'g/m-1': 'b', 'g/m-2': 'c'},
    'alternative': {'g/m-0': 1},
    'unplaced': ['g/m-3'],
    'cost': {'soft': 3.0, 'bound': 3.0, 'preference': 2.5},
    'violations': [
        {
            'at': 'g',
            'policy': {'type': 'affinity', 'scope': 'rack'},
            'cost': 3.0,
        }
    ],
    'conflict': [],
    'minimal': True,
    'relaxations': [],
    'stats': {'seconds': 0.1, 'stage': 'exact', 'cut_short': False},
}
REFUSED = {
    'status': 'refused',
    'placement': {},
    'conflict': [{'kind': 'members', 'at': 'g', 'code': 'vrt.members'}],
    'minimal': False,
    'relaxations': [],
}


class CheckerTest(unittest.TestCase):
    def assert_wrong(self, answer, **changes):
        """Change an answer (``a__b=1``: ``answer['a']['b']``) and check it."""
        wrong = copy.deepcopy(answer)
        for path, value in changes.items():
            *steps, last = path.split('__')
            target = wrong
            for step in steps:
                target = target[step]
            target[last] = value
        self.assertNotEqual([], checker.check(PROBLEM, wrong), changes)

    def test_right_answer_is_accepted(self):
        self.assertEqual([], checker.check(PROBLEM, PLACED))
        self.assertEqual([], checker.check(PROBLEM, REFUSED))
        undecided = {'status': 'undecided', 'placement': {}}
        self.assertEqual([], checker.check(PROBLEM, undecided))

    def test_malformed_answer_is_rejected(self):
        self.assert_wrong(PLACED, status='maybe')
        self.assert_wrong(PLACED, unplaced=None)
        self.assert_wrong(PLACED, stats=None)
        self.assert_wrong(PLACED, minimal='yes')
        self.assert_wrong(PLACED, conflict=REFUSED['conflict'])
        self.assert_wrong(PLACED, cost__bound=None)
        self.assert_wrong(PLACED, cost__soft=float('inf'))
        self.assert_wrong(PLACED, placement={1: 'a'})

    def test_wrong_set_of_members_is_rejected(self):
        self.assert_wrong(PLACED, unplaced=[])
        self.assert_wrong(PLACED, unplaced=['g/m-3', 'g/m-0'])
        self.assert_wrong(PLACED, unplaced=['g/m-4'])
        self.assert_wrong(PLACED, **{'placement__g/m-0': 'nowhere'})
        self.assert_wrong(PLACED, **{'placement__g/m-2': 'b'})

    def test_forbidden_or_full_host_is_rejected(self):
        # c is not among the hosts of the class, and 2 x 2 exceed b.
        self.assert_wrong(
            PLACED,
            placement={'g/m-0': 'c', 'g/m-1': 'b', 'g/m-2': 'c'},
            alternative={},
        )
        self.assert_wrong(
            PLACED,
            placement={'g/m-0': 'b', 'g/m-1': 'b', 'g/m-2': 'c'},
            alternative={},
        )

    def test_wrong_alternative_is_rejected(self):
        self.assert_wrong(PLACED, alternative={})
        self.assert_wrong(PLACED, alternative={'g/m-0': 0})
        self.assert_wrong(PLACED, alternative={'g/m-0': 2})
        self.assert_wrong(PLACED, alternative={'g/m-0': True})
        self.assert_wrong(PLACED, **{'alternative__g/m-1': 0})
        self.assert_wrong(PLACED, **{'alternative__g/m-2': 0})
        self.assert_wrong(PLACED, **{'alternative__g/m-3': 0})

    def test_missed_count_or_broken_strict_policy_is_rejected(self):
        lone = {
            **PLACED,
            'placement': {'g/m-2': 'c'},
            'alternative': {},
            'unplaced': ['g/m-0', 'g/m-1', 'g/m-3'],
            'cost': {'soft': 0, 'bound': 0, 'preference': 0},
            'violations': [],
        }
        faults = checker.check(PROBLEM, lone)
        self.assertEqual({'g/m: fewer than 2 placed'}, set(faults))
        apart = copy.deepcopy(PROBLEM)
        apart['topology']['groups']['g']['policies'][0]['scope'] = 'rack'
        self.assertEqual(1, len(checker.check(apart, PLACED)))

    def test_wrong_cost_or_violation_is_rejected(self):
        self.assert_wrong(PLACED, cost__soft=2.0, cost__bound=2.0)
        self.assert_wrong(PLACED, cost__bound=3.5)
        self.assert_wrong(PLACED, cost__preference=1.5)
        self.assert_wrong(PLACED, violations=[])
        self.assert_wrong(PLACED, violations=PLACED['violations'] * 2)
        for key, value in (('at', ''), ('cost', 1.0)):
            violation = {**PLACED['violations'][0], key: value}
            self.assert_wrong(PLACED, violations=[violation])

    def test_malformed_refusal_is_rejected(self):
        self.assert_wrong(REFUSED, placement={'g/m-0': 'a'})
        self.assert_wrong(REFUSED, conflict=[])
        self.assert_wrong(REFUSED, conflict=[{'kind': 'policy'}])
        self.assert_wrong(REFUSED, minimal=None)
        self.assert_wrong(REFUSED, relaxations=None)
