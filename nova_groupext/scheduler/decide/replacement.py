# SPDX-License-Identifier: Apache-2.0
"""Replacement of some members of a group; nothing else of it changes.

Planners start this themselves: for held members whose hosts are refused at a
redeem, for failed members, and for shelved servers of exclusive groups. It is
a revision that describes the group as it is, with three differences: all other
holds stay on their hosts, or as many as possible if there is no other
solution, no released or unplaced member gets a hold, and no hold lasts longer
than before.
"""

from nova_groupext import exception
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import rpcapi

Outcome = rpcapi.Outcome

# Statuses of members that need a hold if they have none, and of members that
# own one for a server to come.
_COME_BACK = (states.Member.FAILED, states.Member.SHELVED)
_WAIT = (states.Member.HELD, states.Member.SHELVED)


def start(context, group, excluded_nodes):
    """Create the draft of a replacement.

    :param excluded_nodes: {path: [node, ...]}, see VRTGroup.excluded_nodes
    :returns: the draft, in state PLANNING; None while the group is revised
    """
    draft = drafts.replacement_of(group, excluded_nodes)
    try:
        drafts.store(context, group, draft)
    except (exception.GenerationConflict, exception.GroupStateConflict):
        return None
    return draft


def members_to_replace(context, group, excluded_nodes):
    """Return the paths of the members that are to be replaced.

    Such a member is held on an excluded host; or it has failed or is shelved,
    and no committed hold remains.
    """
    committed = VRTHold.list_by_group(
        context, group.id, *states.HOLD_COMMITTED
    )
    hold_of = {hold.owner_id: hold for hold in committed}
    return frozenset(
        member.path
        for member in group.members
        if member.path in excluded_nodes
        and _needs_host(
            member, hold_of.get(member.id), excluded_nodes[member.path]
        )
    )


def outcome(context, group_uuid, excluded_nodes):
    """Return the Outcome after a replacement was tried."""
    group = VRTGroup.find(context, group_uuid)
    if group and members_to_replace(context, group, excluded_nodes):
        return Outcome.NO_OTHER_HOST
    return Outcome.DONE


def _needs_host(member, hold, excluded):
    """Check whether a member needs another host than it has.

    :param hold: its committed VRTHold, or None
    """
    if hold is None:
        return member.status in _COME_BACK
    return member.status in _WAIT and hold.node in excluded
