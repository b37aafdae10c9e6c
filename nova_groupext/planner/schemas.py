# SPDX-License-Identifier: Apache-2.0
"""The shapes of the topology language as JSON schemas.

They say nothing of a member's own description (a class here, a flavor in the
API), nor of what needs a look at the whole: names, scopes, targets.
"""

# More than any cloud has of anything; keeps the solver's numbers in range.
_MANY = 1_000_000
_COUNT = {'type': 'integer', 'minimum': 1, 'maximum': _MANY}
_COUNT_OR_NONE = {'type': 'integer', 'minimum': 0, 'maximum': _MANY}
_BANDWIDTH = {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1e9}

#: What counts a member's servers, besides the member's own description.
COUNTS = {'count': _COUNT, 'min_count': _COUNT_OR_NONE}

#: A group or subgroup; its parts have schemas of their own.
NODE = {
    'type': 'object',
    'properties': {
        'members': {'type': 'object'},
        'groups': {'type': 'object'},
        'policies': {'type': 'array'},
        'relationships': {'type': 'array'},
    },
    'additionalProperties': False,
}

RELATIONSHIP = {
    'type': 'object',
    'properties': {
        'name': {'type': 'string'},
        'between': {
            'type': 'array',
            'items': {'type': 'string', 'minLength': 1},
            'minItems': 2,
            'maxItems': 2,
        },
        'bandwidth': _BANDWIDTH,
        'policies': {'type': 'array'},
    },
    'required': ['between'],
    'additionalProperties': False,
}


def _policy(required=(), **options):
    return {
        'type': 'object',
        'properties': {
            'type': {'type': 'string'},
            'scope': {'type': 'string'},
            'strict': {'type': 'boolean'},
            'weight': {'type': 'number', 'minimum': 0, 'maximum': 1e9},
            **options,
        },
        'required': ['type', 'scope', *required],
        'additionalProperties': False,
    }


#: Policies by type, as they stand on a group or subgroup.
GROUP_POLICIES = {
    'affinity': _policy(),
    'anti-affinity': _policy(max_per_domain=_COUNT),
    'exclusive': _policy(),
    'network-proximity': _policy(bandwidth=_BANDWIDTH),
    'spread': _policy(max_skew=_COUNT_OR_NONE, min_domains=_COUNT),
    'survive': _policy(
        ['min_members'], failures=_COUNT_OR_NONE, min_members=_COUNT
    ),
}

#: Policies by type, as they stand on a relationship: it has the bandwidth.
RELATIONSHIP_POLICIES = {**GROUP_POLICIES, 'network-proximity': _policy()}

#: Enough of any policy to tell which of the above it has to match.
ANY_POLICY = {
    'type': 'object',
    'properties': {'type': {'enum': sorted(GROUP_POLICIES)}},
    'required': ['type'],
}
