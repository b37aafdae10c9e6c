# SPDX-License-Identifier: Apache-2.0
"""Answer files: parsed answers, and JSON paths of errors."""

from oslotest import base

from nova_groupext.solver.language import validation
from nova_groupext.solver.verify import answer_schema
from tests.unit.solver import builders

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


class TestParse(base.BaseTestCase):
    def test_omitted_parts_have_defaults(self):
        self.assertEqual([], answer_schema.parse(PLACED).unplaced)
        self.assertEqual({}, answer_schema.parse(REFUSED).placement)
        self.assertTrue(answer_schema.parse({'status': 'undecided'}).minimal)

    def test_every_mistake_is_refused_with_its_path(self):
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
            ('$.conflict[1]', REFUSED, ['conflict', 1, 'subtree'], True),
            (
                '$.conflict[1]',
                REFUSED,
                ['conflict', 1],
                {'kind': 'members', 'at': '', 'code': 'vrt.members'},
            ),
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
                validation.InvalidInput,
                answer_schema.parse,
                builders.changed(raw, path, value),
            )
            self.assertEqual(where, error.path)

    def test_value_that_is_no_answer_is_refused(self):
        for raw in (None, [], 1, {}):
            self.assertRaises(
                validation.InvalidInput, answer_schema.parse, raw
            )
