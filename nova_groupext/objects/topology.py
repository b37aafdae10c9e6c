# SPDX-License-Identifier: Apache-2.0
"""Between a topology as people write it and the rows that it is stored in."""

COUNTS = ('count', 'min_count')


def compose(group, describe):
    """Return the group's topology as the nested mapping that was described.

    :param describe: what to say of a member, given the VRTMember; once for
        all members of a stem
    """
    nodes = {'': {}}
    for path in group.subgroups:
        _put(nodes, 'groups', path, nodes.setdefault(path, {}))
    for member in group.members:
        if member.stem not in nodes:
            nodes[member.stem] = describe(member)
            _put(nodes, 'members', member.stem, nodes[member.stem])
    for policy in group.policies:
        nodes[policy.at].setdefault('policies', []).append(policy.definition)
    for relationship in group.relationships:
        described = {
            **relationship.definition,
            'policies': [each.definition for each in relationship.policies],
        }
        nodes[relationship.at].setdefault('relationships', []).append(
            described
        )
    return nodes['']


def counts(description):
    """Return what a member's description says of how many there are.

    In JSON 4.0 is a whole number too.
    """
    return {key: int(description[key]) for key in COUNTS if key in description}


def spec(description):
    """Return what a member's description says of each of them."""
    return {k: v for k, v in description.items() if k not in COUNTS}


def _put(nodes, kind, path, described):
    parent, _, name = path.rpartition('/')
    nodes[parent].setdefault(kind, {})[name] = described
