# SPDX-License-Identifier: Apache-2.0
"""Conversion between the topology of the API and its stored rows."""

import collections
from collections.abc import Callable
from collections.abc import Mapping
import math
from typing import Any

from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member_set import VRTMemberSet


def compose(
    group: VRTGroup,
    describe: Callable[[VRTMemberSet], Mapping[str, Any] | None],
) -> JsonObject:
    """Return the group's topology as the nested mapping of the API.

    :param describe: returns the description of a member set; None to leave it
        out
    """
    nodes = {'': {}}
    for path in group.subgroups:
        _insert(nodes, 'groups', path, nodes.setdefault(path, {}))
    for member_set in group.member_sets:
        description = describe(member_set)
        if description is not None:
            path = member_set.path
            nodes[path] = dict(description)
            _insert(nodes, 'members', path, nodes[path])
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


def present_counts(
    group: VRTGroup,
) -> Callable[[VRTMemberSet], JsonObject]:
    """Return a function that describes a member set by its members.

    It returns the counts, and the names of the members that there are.
    Successors are members too; they have hosts, whatever the count is.
    """
    present = collections.defaultdict(list)
    for member in group.members:
        present[member.member_set].append(member)

    def describe(member_set: VRTMemberSet) -> JsonObject:
        members = present[member_set.path]
        successors = sum(each.is_successor for each in members)
        counts = member_set.counts
        least = min(member_set.wanted, counts.get('min_count', math.inf))
        names = [each.path.rpartition('/')[2] for each in members]
        return {
            **counts,
            'min_count': least + successors,
            'names': names,
        }

    return describe


def _insert(
    nodes: dict[Path, JsonObject],
    kind: str,
    path: Path,
    description: JsonObject,
) -> None:
    parent, _, name = path.rpartition('/')
    if parent not in nodes:
        # A subgroup that was left out, while servers of it are leaving.
        nodes[parent] = {}
        _insert(nodes, 'groups', parent, nodes[parent])
    nodes[parent].setdefault(kind, {})[name] = description
