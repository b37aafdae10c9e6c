# SPDX-License-Identifier: Apache-2.0
"""Conversion between the topology of the API and its stored rows."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember

COUNTS = ('count', 'min_count')
# Keys of a member's description that are not part of its spec
NOT_IN_SPEC = (*COUNTS, 'policies')


def compose(
    group: VRTGroup, describe: Callable[[VRTMember], Mapping[str, Any]]
) -> JsonObject:
    """Return the group's topology as the nested mapping of the API.

    :param describe: returns the description of a member set; called with one
        of its members
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


def counts(description: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts in a member's description, as integers.

    JSON input may contain 4.0, which is a whole number too.
    """
    return {key: int(description[key]) for key in COUNTS if key in description}


def spec(description: Mapping[str, Any]) -> JsonObject:
    """Return a member's description without counts and policies."""
    return {k: v for k, v in description.items() if k not in NOT_IN_SPEC}


def _insert(
    nodes: dict[Path, JsonObject],
    kind: str,
    path: Path,
    description: JsonObject,
) -> None:
    parent, _, name = path.rpartition('/')
    nodes[parent].setdefault(kind, {})[name] = description
