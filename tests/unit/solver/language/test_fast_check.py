# SPDX-License-Identifier: Apache-2.0
"""The fast schema check, compared with jsonschema."""

import math

import hypothesis
from hypothesis import strategies
from oslotest import base

from nova_groupext.solver.language import fast_check
from nova_groupext.solver.language import schemas
from nova_groupext.solver.language import validation
from nova_groupext.solver.model import problem_schemas

SCHEMAS = [
    problem_schemas.PROBLEM,
    problem_schemas.HOST,
    problem_schemas.CLASS,
    problem_schemas.MEMBER,
    schemas.NODE,
    schemas.RELATIONSHIP,
    schemas.any_policy(),
    *schemas.group_policies().values(),
    {},
    {'const': True},
    {'type': ['string', 'null']},
    {'type': 'number'},
    {'type': 'string', 'pattern': 'a'},
    {'type': 'object', 'maxProperties': 1},
    {'type': 'array', 'uniqueItems': True, 'maxItems': 2},
    {'enum': ['a', 1, None]},
    {'minimum': 3},
]

ODD = strategies.sampled_from(
    [
        *(None, True, False, '', 'a', 'affinity', 'x' * 256, [], {}, [[]]),
        *(0, 1, -1, 2, 0.5, 1.0, 2**63, -(2**63), 10**400, 1e12, 1e300),
        *(math.nan, math.inf, -math.inf, ['a', 'a'], [1, True], {'a': None}),
    ]
)


@strategies.composite
def values(draw, schema):
    """A JSON value that nearly matches a schema."""
    if draw(strategies.integers(0, 9)) == 0:
        return draw(ODD)
    kind = schema.get('type')
    if kind == 'object':
        return draw(objects(schema))
    if kind == 'array':
        items = values(schema.get('items', {}))
        return draw(strategies.lists(items, max_size=3))
    if kind == 'string':
        return draw(strategies.sampled_from(['', 'a', 'bc', 'x' * 255]))
    if kind in ('integer', 'number'):
        limits = [schema.get(k) for k in ('minimum', 'maximum')]
        given_limits = [limit for limit in limits if limit is not None]
        return draw(strategies.sampled_from([0, 1, 3.0, 0.5, *given_limits]))
    if kind == 'boolean':
        return draw(strategies.booleans())
    return schema['const'] if 'const' in schema else draw(ODD)


@strategies.composite
def objects(draw, schema):
    """An object with some of the keys of a schema."""
    parts = schema.get('properties', {})
    required = schema.get('required', [])
    keys = draw(strategies.sets(strategies.sampled_from([*parts, 'x', ''])))
    if draw(strategies.integers(0, 4)):
        keys |= set(required)
    others = schema.get('additionalProperties', {})
    return {
        key: draw(values(parts.get(key, others or {})))
        for key in sorted(keys)
        if others is not False or key in parts
    }


def is_valid(value, schema):
    return validation._validator()(schema).is_valid(value)


class TestSurelyValid(base.BaseTestCase):
    @hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
    @hypothesis.given(strategies.data())
    def test_accepted_value_is_valid(self, data):
        schema = data.draw(strategies.sampled_from(SCHEMAS))
        value = data.draw(values(schema))
        if fast_check.surely_valid(value, schema):
            self.assertTrue(is_valid(value, schema), (value, schema))

    def test_accepted_odd_value_is_valid(self):
        for schema in SCHEMAS:
            for value in ODD.elements:
                if fast_check.surely_valid(value, schema):
                    self.assertTrue(is_valid(value, schema), (value, schema))

    def test_typical_value_is_accepted(self):
        for value, schema in (
            ({'id': 'h'}, problem_schemas.HOST),
            (
                {
                    'id': 'h',
                    'domains': {'rack': 'r'},
                    'free': {'VCPU': 8, 'DISK_GB': 9.0},
                    'foreign': True,
                },
                problem_schemas.HOST,
            ),
            (
                {
                    'request': {'VCPU': 1},
                    'hosts': ['h'],
                    'scores': {'h': -1.5},
                    'alternatives': {'h': [{'VCPU': 2}, {}]},
                },
                problem_schemas.CLASS,
            ),
            ({'members': {}, 'policies': [1]}, schemas.NODE),
            (
                {'type': 'spread', 'scope': 'rack', 'max_skew': 0},
                schemas.group_policies()['spread'],
            ),
            ({'type': 'spread'}, schemas.any_policy()),
        ):
            self.assertTrue(fast_check.surely_valid(value, schema), value)

    def test_cache_of_schemas_is_limited(self):
        for number in range(2 * fast_check._MAX_CACHED):
            fast_check.surely_valid(number, {'const': number})
        self.assertLessEqual(len(fast_check._cache), fast_check._MAX_CACHED)
