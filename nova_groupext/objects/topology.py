# SPDX-License-Identifier: Apache-2.0
"""Conversion between the topology of the API and its stored rows."""

COUNTS = ('count', 'min_count')
# Keys of a member's description that are not part of its spec
NOT_IN_SPEC = (*COUNTS, 'policies')


def compose(group, describe):
    """Return the group's topology as the nested mapping of the API.

    :param describe: called with one VRTMember per member set; returns its
        description
    """
    nodes = {'': {}}
    for path in group.subgroups:
        _insert(nodes, 'groups', path, nodes.setdefault(path, {}))
    for member in group.members:
        if member.member_set not in nodes:
            nodes[member.member_set] = dict(describe(member))
            _insert(
                nodes, 'members', member.member_set, nodes[member.member_set]
            )
    for policy in group.policies:
        nodes[policy.at].setdefault('policies', []).append(policy.definition)
    for relationship in group.relationships:
        description = {
            **relationship.definition,
            'policies': [each.definition for each in relationship.policies],
        }
        nodes[relationship.at].setdefault('relationships', []).append(
            description
        )
    return nodes['']


def counts(description):
    """Return the counts in a member's description, as integers.

    JSON input may contain 4.0, which is a whole number too.
    """
    return {key: int(description[key]) for key in COUNTS if key in description}


def spec(description):
    """Return a member's description without counts and policies."""
    return {k: v for k, v in description.items() if k not in NOT_IN_SPEC}


def _insert(nodes, kind, path, description):
    parent, _, name = path.rpartition('/')
    nodes[parent].setdefault(kind, {})[name] = description
