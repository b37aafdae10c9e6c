# SPDX-License-Identifier: Apache-2.0
"""Schema of a topology, which the API returns as the tenant sent it."""

from nova_groupext_tempest_plugin.services.schemas import shapes

POLICY_TYPES = (
    'affinity',
    'anti-affinity',
    'exclusive',
    'network-proximity',
    'spread',
    'survive',
)

POLICY = shapes.closed(
    {
        'type': {'enum': list(POLICY_TYPES)},
        'scope': shapes.TEXT,
        'strict': shapes.BOOLEAN,
        'weight': shapes.NUMBER,
        'bandwidth': shapes.NUMBER,
        'failures': shapes.NUMBER,
        'max_per_domain': shapes.NUMBER,
        'max_skew': shapes.NUMBER,
        'min_domains': shapes.NUMBER,
        'min_members': shapes.NUMBER,
    },
    optional=(
        'strict',
        'weight',
        'bandwidth',
        'failures',
        'max_per_domain',
        'max_skew',
        'min_domains',
        'min_members',
    ),
)

#: Reference to another group or to a part of one.
OUTER_PART = shapes.closed(
    {'group': shapes.TEXT, 'path': shapes.TEXT}, optional=['path']
)

RELATIONSHIP = shapes.closed(
    {
        'name': shapes.TEXT,
        'between': shapes.array({'anyOf': [shapes.TEXT, OUTER_PART]}),
        'bandwidth': shapes.NUMBER,
        'policies': shapes.array(POLICY),
    },
    optional=('name', 'bandwidth', 'policies'),
)

MEMBER = shapes.closed(
    {
        'flavor': shapes.TEXT,
        'image': shapes.TEXT,
        'boot_from_volume': shapes.BOOLEAN,
        'availability_zone': shapes.TEXT,
        'count': shapes.NUMBER,
        'min_count': shapes.NUMBER,
        'max_count': shapes.NUMBER,
        'max_surge': shapes.NUMBER,
        'policies': shapes.array(POLICY),
    },
    optional=(
        'image',
        'boot_from_volume',
        'availability_zone',
        'count',
        'min_count',
        'max_count',
        'max_surge',
        'policies',
    ),
)

#: Recursive reference: a subgroup has the fields of a group.
NODE = {'$ref': '#/definitions/node'}

_NODE = shapes.closed(
    {
        'members': shapes.mapping(MEMBER),
        'groups': shapes.mapping(NODE),
        'policies': shapes.array(POLICY),
        'relationships': shapes.array(RELATIONSHIP),
    },
    optional=('members', 'groups', 'policies', 'relationships'),
)


def with_node(schema):
    """Return a schema with the definition that ``NODE`` refers to."""
    return {**schema, 'definitions': {'node': _NODE}}
