# SPDX-License-Identifier: Apache-2.0
"""What is an answer at all, and what is refused where."""

import copy

from oslotest import base

from nova_groupext.solver.language import validation
from nova_groupext.solver.verify import shape

PLACED = {
    'status': 'placed',
    'placement': {'a': 'h'},
    'cost': {'soft': 1, 'bound': 0.5, 'preference': 0},
    'violations': [
        {'at': '', 'policy': {'type': 't', 'scope': 's'}, 'cost': 1}
    ],
}
REFUSED = {
    'status': 'refused',
    'conflict': [
        {
            'kind': 'policy',
            'at': '',
            'policy': {'type': 't', 'scope': 's'},
            'code': 'vrt.t',
            'text': 'the t',
        },
        {'kind': 'members', 'at': '', 'members': 'w', 'code': 'vrt.members'},
    ],
    'reason': {'code': 'vrt.capacity', 'text': 'no room'},
    'relaxations': [
        {
            'change': {'at': '', 'policy': 't', 'scope': 's', 'strict': False},
            'text': 'fits',
        },
        {
            'change': {'at': '', 'members': 'w', 'min_count': 0},
            'text': 'fits',
        },
        {'change': {'class': 'c', 'min_counts': {'w': 1}}, 'text': 'fits'},
        {
            'change': {
                'together': [{'at': '', 'members': 'w', 'min_count': 2}]
            },
            'text': 'fits',
        },
    ],
}


def changed(raw, path, value):
    """An answer with one value set, ``path`` being keys and indexes."""
    raw = copy.deepcopy(raw)
    *parents, last = path
    place = raw
    for key in parents:
        place = place[key]
    place[last] = value
    return raw


class TestParse(base.BaseTestCase):
    def test_what_is_left_out_is_added(self):
        self.assertEqual([], shape.parse(PLACED)['unplaced'])
        self.assertEqual({}, shape.parse(REFUSED)['placement'])
        self.assertTrue(shape.parse({'status': 'undecided'})['minimal'])

    def test_every_mistake_has_its_place(self):
        for where, raw, path, value in (
            ('$.x', PLACED, ['x'], 1),
            ('$.status', PLACED, ['status'], 'plan'),
            ('$.placement', PLACED, ['placement'], []),
            ('$.placement.a', PLACED, ['placement', 'a'], None),
            ('$.alternative.a', PLACED, ['alternative'], {'a': -1}),
            ('$.unplaced[0]', PLACED, ['unplaced'], [1]),
            ('$.cost', PLACED, ['cost'], None),
            ('$.cost.soft', PLACED, ['cost', 'soft'], float('nan')),
            ('$.cost.bound', PLACED, ['cost'], {'soft': 1}),
            ('$.violations[0].at', PLACED, ['violations', 0], {}),
            ('$.minimal', REFUSED, ['minimal'], 'yes'),
            ('$.reason.code', REFUSED, ['reason'], {'text': ''}),
            ('$.conflict[0].kind', REFUSED, ['conflict', 0], {}),
            ('$.conflict[0].kind', REFUSED, ['conflict', 0, 'kind'], 'host'),
            ('$.conflict[0].policy', REFUSED, ['conflict', 0, 'policy'], 't'),
            ('$.conflict[1].members', REFUSED, ['conflict', 1, 'members'], 1),
            ('$.relaxations[0].text', REFUSED, ['relaxations', 0, 'text'], 1),
            (
                '$.relaxations[0].change',
                REFUSED,
                ['relaxations', 0, 'change'],
                {'at': ''},
            ),
            (
                '$.relaxations[0].change.strict',
                REFUSED,
                ['relaxations', 0, 'change', 'strict'],
                True,
            ),
            (
                '$.relaxations[1].change.min_count',
                REFUSED,
                ['relaxations', 1, 'change', 'min_count'],
                0.5,
            ),
            (
                '$.relaxations[2].change.min_counts.w',
                REFUSED,
                ['relaxations', 2, 'change', 'min_counts', 'w'],
                -1,
            ),
            (
                '$.relaxations[3].change.together[0]',
                REFUSED,
                ['relaxations', 3, 'change', 'together', 0],
                {'together': []},
            ),
            (
                '$.relaxations[3].change.together[0].at',
                REFUSED,
                ['relaxations', 3, 'change', 'together', 0, 'at'],
                None,
            ),
        ):
            error = self.assertRaises(
                validation.InvalidInput, shape.parse, changed(raw, path, value)
            )
            self.assertEqual(where, error.path)

    def test_what_is_no_answer(self):
        for raw in (None, [], 1, {}):
            self.assertRaises(validation.InvalidInput, shape.parse, raw)
