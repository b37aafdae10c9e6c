# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of the topology language.

They do not cover a member's own description (a class here, a flavor in the
API), nor checks that need the whole topology: names, scopes, targets.
"""

from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from nova_groupext.solver.aliases import Schema
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import registry

#: Keys that set the number of servers of a member.
COUNTS: Schema = {
    'count': base.COUNT_OR_NONE,
    'min_count': base.COUNT_OR_NONE,
    'max_count': base.COUNT,
    'max_surge': base.COUNT_OR_NONE,
}

#: Key for the names of the members that there are of an entry: some may be
#: missing, there may be more than its count, and successors. Not for users.
NAMES: Schema = {
    'names': {'type': 'array', 'items': {'type': 'string'}},
}

#: Key for policies on a member, or on all members of a counted one.
POLICIES: Schema = {'policies': {'type': 'array'}}

#: Keys that are not part of a single member's description.
NON_SPEC: Schema = {**COUNTS, **NAMES, **POLICIES}

#: Group or subgroup; its parts have schemas of their own.
NODE: Schema = {
    'type': 'object',
    'properties': {
        'members': {'type': 'object'},
        'groups': {'type': 'object'},
        'policies': {'type': 'array'},
        'relationships': {'type': 'array'},
    },
    'additionalProperties': False,
}

RELATIONSHIP: Schema = {
    'type': 'object',
    'properties': {
        'name': {'type': 'string'},
        'between': {
            'type': 'array',
            'minItems': 2,
        },
        'bandwidth': base.BANDWIDTH,
        'policies': {'type': 'array'},
    },
    'required': ['between'],
    'additionalProperties': False,
}

#: Part of a relationship: a path relative to its node.
PART: Schema = {'type': 'string', 'minLength': 1}

#: Part of a relationship in another group.
OUTER_PART: Schema = {
    'type': 'object',
    'properties': {
        'group': {'type': 'string', 'minLength': 1, 'maxLength': 255},
        'path': {'type': 'string', 'minLength': 1, 'maxLength': 1024},
    },
    'required': ['group'],
    'additionalProperties': False,
}


def _policy(parameters: Mapping[str, dataclasses.Field[Any]]) -> Schema:
    return {
        'type': 'object',
        'properties': {
            'type': {'type': 'string'},
            'scope': {'type': 'string'},
            'strict': {'type': 'boolean'},
            'weight': {'type': 'number', 'minimum': 0, 'maximum': 1e9},
            **{
                name: field.metadata['schema']
                for name, field in parameters.items()
            },
        },
        'required': [
            *('type', 'scope'),
            *(
                name
                for name, field in parameters.items()
                if field.default is dataclasses.MISSING
            ),
        ],
        'additionalProperties': False,
    }


def _soft(policy: Schema) -> Schema:
    return {
        **policy,
        'properties': {**policy['properties'], 'strict': {'const': False}},
        'required': [*policy['required'], 'strict'],
    }


@functools.cache
def group_policies() -> dict[str, Schema]:
    """Return the schemas by policy type, on a group, subgroup or member."""
    return {
        name: _policy(kind.parameters())
        for name, kind in registry.types().items()
    }


@functools.cache
def relationship_policies() -> dict[str, Schema]:
    """Return the same on a relationship: it has the bandwidth itself."""
    own = RELATIONSHIP['properties'].keys()
    return {
        name: _policy(
            {
                key: field
                for key, field in kind.parameters().items()
                if key not in own
            }
        )
        for name, kind in registry.types().items()
    }


@functools.cache
def soft_policies() -> dict[str, Schema]:
    """Return the same for a relationship with another group.

    Its members cannot change.
    """
    return {
        name: _soft(policy) for name, policy in relationship_policies().items()
    }


@functools.cache
def any_policy() -> Schema:
    """Return the minimal schema of a policy, to select one of those above."""
    return {
        'type': 'object',
        'properties': {'type': {'enum': sorted(registry.types())}},
        'required': ['type'],
    }
