# SPDX-License-Identifier: Apache-2.0
"""JSON schema of an answer file."""

from typing import Any

from nova_groupext.solver.aliases import Schema
from nova_groupext.solver.language import validation
from nova_groupext.solver.model import answers

_TEXT: Schema = {'type': 'string'}
_TEXTS: Schema = {'type': 'array', 'items': _TEXT}
_NUMBER: Schema = {'type': 'number'}


def _object(required: list[str], **properties: Schema) -> Schema:
    return {
        'type': 'object',
        'properties': properties,
        'required': required,
        'additionalProperties': False,
    }


_POLICY = _object(['type', 'scope'], type=_TEXT, scope=_TEXT)
_COST = _object(
    ['soft', 'bound', 'preference'],
    soft=_NUMBER,
    bound=_NUMBER,
    preference=_NUMBER,
    changes={'type': 'integer', 'minimum': 0},
)
_VIOLATION = _object(
    ['at', 'policy', 'cost'], at=_TEXT, policy=_POLICY, cost=_NUMBER
)
_REASON = _object(['code', 'text'], code=_TEXT, text=_TEXT)
_RELAXATION = _object(
    ['change', 'text'], change={'type': 'object'}, text=_TEXT
)

_ANSWER = _object(
    ['status'],
    status={'enum': ['placed', 'refused', 'undecided']},
    placement={'type': 'object', 'additionalProperties': _TEXT},
    alternative={
        'type': 'object',
        'additionalProperties': {'type': 'integer', 'minimum': 0},
    },
    unplaced=_TEXTS,
    cost={**_COST, 'type': ['object', 'null']},
    violations={'type': 'array', 'items': _VIOLATION},
    conflict={'type': 'array', 'items': {'type': 'object'}},
    minimal={'type': 'boolean'},
    reason={**_REASON, 'type': ['object', 'null']},
    relaxations={'type': 'array', 'items': _RELAXATION},
    stats={'type': 'object'},
)

_CONFLICT_ITEMS = {
    'policy': _object(
        ['kind', 'at', 'policy', 'code'],
        kind=_TEXT,
        at=_TEXT,
        policy=_POLICY,
        subtree={'const': True},
        code=_TEXT,
        text=_TEXT,
    ),
    'members': {
        **_object(
            ['kind', 'at', 'code'],
            kind=_TEXT,
            at=_TEXT,
            members=_TEXT,
            subtree={'const': True},
            code=_TEXT,
            text=_TEXT,
        ),
        'oneOf': [{'required': ['members']}, {'required': ['subtree']}],
    },
}
_ANY_CONFLICT_ITEM: Schema = {
    'type': 'object',
    'properties': {'kind': {'enum': sorted(_CONFLICT_ITEMS)}},
    'required': ['kind'],
}

_MIN_COUNT: Schema = {'type': 'integer', 'minimum': 0}

#: Schemas of relaxations, by the key that only this kind has.
_RELAXATION_CHANGES = {
    'policy': _object(
        ['at', 'policy', 'scope', 'strict'],
        at=_TEXT,
        policy=_TEXT,
        scope=_TEXT,
        strict={'const': False},
    ),
    'members': _object(
        ['at', 'members', 'min_count'],
        at=_TEXT,
        members=_TEXT,
        min_count=_MIN_COUNT,
    ),
    'min_counts': _object(
        ['min_counts'],
        **{'class': _TEXT},
        min_counts={'type': 'object', 'additionalProperties': _MIN_COUNT},
    ),
    'together': _object(
        ['together'],
        together={'type': 'array', 'items': {'type': 'object'}},
    ),
}


def parse(raw: Any) -> answers.Answer:
    """Return a JSON value as an answer, completed with defaults.

    :raises InvalidInput: with path and reason
    """
    validation.check(raw, _ANSWER, '$')
    for number, item in enumerate(raw.get('conflict', [])):
        where = f'$.conflict[{number}]'
        validation.check(item, _ANY_CONFLICT_ITEM, where)
        validation.check(item, _CONFLICT_ITEMS[item['kind']], where)
    for number, entry in enumerate(raw.get('relaxations', [])):
        _check_change(entry['change'], f'$.relaxations[{number}].change')
    if raw['status'] == 'placed':
        validation.check(raw, {'type': 'object', 'required': ['cost']}, '$')
        validation.check(raw['cost'], _COST, '$.cost')
    return answers.Answer(**raw)


def _check_change(raw: Any, where: str) -> None:
    kinds = [key for key in _RELAXATION_CHANGES if key in raw]
    if not kinds:
        raise validation.InvalidInput(where, 'is not a known change')
    validation.check(raw, _RELAXATION_CHANGES[kinds[0]], where)
    for number, part in enumerate(raw.get('together', [])):
        if 'together' in part:
            # Only one level exists; deeper nesting would be unbounded.
            where = f'{where}.together[{number}]'
            raise validation.InvalidInput(where, 'is not a known change')
        _check_change(part, f'{where}.together[{number}]')
