# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of the topology language.

They do not cover a member's own description (a class here, a flavor in the
API), nor checks that need the whole topology: names, scopes, targets.
"""

# Larger than any real count; keeps the solver's numbers in range.
_MAX_COUNT = 1_000_000
_COUNT = {'type': 'integer', 'minimum': 1, 'maximum': _MAX_COUNT}
_COUNT_OR_NONE = {'type': 'integer', 'minimum': 0, 'maximum': _MAX_COUNT}
_BANDWIDTH = {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1e9}

#: Keys that set the number of servers of a member.
COUNTS = {'count': _COUNT, 'min_count': _COUNT_OR_NONE}

#: Key for policies on a member, or on all members of a counted one.
POLICIES = {'policies': {'type': 'array'}}

#: Keys that are not part of a single member's description.
NON_SPEC = {**COUNTS, **POLICIES}

#: Group or subgroup; its parts have schemas of their own.
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
            'minItems': 2,
        },
        'bandwidth': _BANDWIDTH,
        'policies': {'type': 'array'},
    },
    'required': ['between'],
    'additionalProperties': False,
}

#: Part of a relationship: a path relative to its node.
PART = {'type': 'string', 'minLength': 1}

#: Part of a relationship in another group.
OUTER_PART = {
    'type': 'object',
    'properties': {
        'group': {'type': 'string', 'minLength': 1, 'maxLength': 255},
        'path': {'type': 'string', 'minLength': 1, 'maxLength': 1024},
    },
    'required': ['group'],
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


def _soft(policy):
    return {
        **policy,
        'properties': {**policy['properties'], 'strict': {'const': False}},
        'required': [*policy['required'], 'strict'],
    }


#: Policy type -> schema, on a group, subgroup or member.
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

#: Policy type -> schema, on a relationship: it has the bandwidth itself.
RELATIONSHIP_POLICIES = {**GROUP_POLICIES, 'network-proximity': _policy()}

#: The same for a relationship with another group, which cannot change.
SOFT_POLICIES = {
    name: _soft(policy) for name, policy in RELATIONSHIP_POLICIES.items()
}

#: Minimal schema of a policy, to select one of the schemas above.
ANY_POLICY = {
    'type': 'object',
    'properties': {'type': {'enum': sorted(GROUP_POLICIES)}},
    'required': ['type'],
}
