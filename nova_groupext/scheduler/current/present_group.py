# SPDX-License-Identifier: Apache-2.0
"""A group's definition with its present members, read at little cost.

A redeem judges policies while it locks its group. A definition does not change
while its generation stays the same, so a process reads it once; the members
come and go, so they are read each time, but only their names.
"""

import collections
import dataclasses
import threading

from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember

# Number of definitions that a process keeps.
CACHE_SIZE = 256


@dataclasses.dataclass(frozen=True)
class PresentGroup:
    """The part of a VRTGroup that policies depend on.

    :ivar members: list of member_queries.MemberName
    """

    id: int
    subgroups: list
    member_sets: list
    policies: list
    relationships: list
    policy_types: set
    members: list


class _Definitions:
    """The definitions that were used last, by uuid; safe for threads."""

    def __init__(self):
        self._lock = threading.Lock()
        self._groups = collections.OrderedDict()

    def find(self, context, state):
        """Return the VRTGroup of a definition; its members may be outdated."""
        with self._lock:
            group = self._groups.get(state.uuid)
        if (
            group is None
            or group.definition_generation != state.definition_generation
        ):
            group = VRTGroup.get(context, state.uuid)
        with self._lock:
            self._groups[state.uuid] = group
            self._groups.move_to_end(state.uuid)
            if len(self._groups) > CACHE_SIZE:
                self._groups.popitem(last=False)
        return group


_definitions = _Definitions()


def read(context, state):
    """Return a group as it is now, in a transaction that locks its row.

    :param state: work_queries.GroupState
    :returns: PresentGroup
    :raises: GroupNotFound when it was deleted
    """
    group = _definitions.find(context, state)
    members = VRTMember.list_names(context, state.id)
    in_use = {member.member_set for member in members}
    return PresentGroup(
        id=state.id,
        subgroups=group.subgroups,
        # A set that was left out is deleted when its last server is gone.
        member_sets=[
            each
            for each in group.member_sets
            if not each.is_left_out or each.path in in_use
        ],
        policies=group.policies,
        relationships=group.relationships,
        policy_types=group.policy_types,
        members=members,
    )
