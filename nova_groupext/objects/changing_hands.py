# SPDX-License-Identifier: Apache-2.0
"""Holds that a revision is exchanging for others at this moment.

From when the new ones are written down until the revision is committed, or
changed back, Placement may have nothing for the old ones. Until then nobody
becomes a server by them, and nobody concludes anything from that.
"""

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.plan import VRTPlan


def members(context, group_id):
    """Return the ids of the members whose holds may be empty by now.

    The revision has other seats for them, or none, and something is written
    down where they are: it exchanges all that it has there.
    """
    draft = db.find_one(
        context,
        models.Group,
        models.Group.revises_id == group_id,
        models.Group.status == states.Group.PLANNING,
    )
    if draft is None:
        return set()
    written = [
        row
        for owner in (group_id, draft.id)
        for row in VRTHold.list_by_group(context, owner, states.Hold.WRITING)
    ]
    hosts = {row.provider_uuid for row in written}
    # Who is described anew may be held in the same seat once more.
    arriving = {row.member_id for row in written}
    plan = VRTPlan.newest(context, draft.id) if hosts else None
    if plan is None:
        return set()
    paths = {
        row.id: row.path
        for row in db.find(
            context, models.Member, models.Member.group_id == group_id
        )
    }
    return {
        hold.member_id
        for hold in VRTHold.list_by_group(context, group_id, states.Hold.HELD)
        # No fillers, nor who has come since the members were read.
        if hold.member_id in paths
        and hold.provider_uuid in hosts
        and (
            hold.member_id in arriving
            or not hold.has_seat(plan.placement.get(paths[hold.member_id]))
        )
    }


def reserve(context, servers, check=lambda: None):
    """Write the uuids of servers to members, unless these change hands.

    :param servers: see transitions.reserve()
    :param check: raises what speaks against it; called without arguments,
        while nobody else changes the group
    :returns: False when somebody else changes, or has changed, one of them;
        or another delivery of the same request was faster
    """
    [group_id] = {member.group_id for member, _hold in servers.values()}

    def work():
        changing = members(context, group_id)
        if (
            any(member.id in changing for member, _hold in servers.values())
            or not VRTGroup.is_current(context, group_id)
            or VRTMember.list_by_servers(context, servers)
        ):
            return False
        check()
        if not transitions.reserve(context, servers):
            raise _Undone
        return True

    try:
        done = db.locked(context, models.Group, work, id=group_id)
    except _Undone:
        return False
    if done:
        for uuid, (member, hold) in servers.items():
            member.status = states.Member.REDEEMING
            hold.status = states.Hold.REDEEMING
            member.server_uuid = hold.server_uuid = uuid
    return bool(done)


class _Undone(Exception):
    """Rolls back what was written before one was found changed."""


def begin(context, group, leaving, write_down):
    """Write down what is to be held instead of something.

    :param group: the VRTGroup that is revised
    :param leaving: VRTHolds of it; fillers, and what is for resizes, too
    :param write_down: called without arguments, while none of their members
        can become a server
    :returns: what it returns
    :raises: GenerationConflict when one of them is not held any more
    """
    ids = {hold.member_id for hold in leaving} - {None}

    def work():
        rows = VRTMember.list_by_ids(context, ids)
        held = {row.id for row in rows if row.status == states.Member.HELD}
        still = VRTHold.still(context, leaving, states.Hold.HELD)
        if held != ids or len(still) != len(leaving):
            return None
        return write_down()

    written = db.locked(context, models.Group, work, id=group.id)
    if written is None:
        raise exception.GenerationConflict(group=group.uuid)
    return written


def dismiss(context, fillers):
    """Let fillers of one group leave, unless they may be changing hands.

    Who finds one empty cannot know by whom: a revision that counts on it
    would come to nothing, and leave its host open.
    """
    [group_id] = {filler.group_id for filler in fillers}

    def work():
        if group_id not in VRTGroup.exchanging(context):
            VRTHold.dismiss(context, fillers)

    db.locked(context, models.Group, work, id=group_id)
