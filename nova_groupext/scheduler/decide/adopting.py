# SPDX-License-Identifier: Apache-2.0
"""Servers that run already become members: where they are, and who may.

The API has compared them with what the members describe. Where they are, and
whether they rest there, is looked at when the group is decided, and once more
when their hints point to it: who begins to move after that knows of the group.
"""

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import pointer
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import stored_hints
from nova_groupext.scheduler.follow import whereabouts
from nova_groupext.scheduler.look import servers


def seats(context, ledger, group, draft):
    """Return {path: VRTHold} that says where each server is.

    They are no rows, and become some only with the revision.

    :param group: the VRTGroup that the draft revises
    :param draft: VRTGroup that adopts some servers, or none
    :raises: ServerConflict, MemberStateConflict
    """
    wanted = revisions.adopted(draft)
    if not wanted:
        return {}
    _check_owners(context, group, wanted)
    found = servers.read(context, [*wanted.values()])
    return {
        member.path: VRTHold.of(
            member,
            _seat(context, ledger, member, found.get(member.server_uuid)),
        )
        for member in draft.members
        if member.path in wanted
    }


def point(context, group, draft):
    """Let the servers' hints point to the group, before it has them.

    Until then that means nothing.
    """
    for path, server_uuid in revisions.adopted(draft).items():
        with faultpoints.around('adopt.point'):
            stored_hints.point(
                context, server_uuid, pointer.Pointer(group.uuid, path)
            )


def point_back(context, draft):
    """Let the hints say again what the servers are."""
    for server_uuid in revisions.adopted(draft).values():
        stored_hints.follow(context, server_uuid)


def _check_owners(context, group, wanted):
    """Refuse what others have, or have got meanwhile."""
    members = {member.id: member for member in group.members}
    for owner in VRTMember.list_by_servers(context, wanted.values()):
        mine = members.get(owner.id)
        if mine is None or wanted.get(mine.path) != owner.server_uuid:
            raise exception.ServerConflict(
                server=owner.server_uuid,
                reason=f'it is member {owner.path} of a VRT group already',
            )
    for member in group.members:
        if member.path in wanted and member.status in states.IN_USE:
            raise exception.MemberStateConflict(
                member=member.path,
                status=member.status,
                reason='it has got a server meanwhile',
            )


def _seat(context, ledger, member, server):
    """Return where a server rests, as a plan says it.

    :param server: servers.Server, or None if its cell does not answer
    :raises: ServerConflict
    """
    reason = _why_not(server)
    seat = None
    if reason is None:
        seat = whereabouts.seat(context, ledger, member, None, server)
        reason = 'what it uses is not known to Placement'
    if seat is None or not seat['allocations'][seat['provider']]['resources']:
        raise exception.ServerConflict(
            server=member.server_uuid, reason=reason
        )
    return seat


def _why_not(server):
    """Return why a server cannot be adopted now, None if it can."""
    if server is None:
        return 'its cell does not answer; try again later'
    if server.fate != servers.Fate.LIVE:
        return f'it is {server.fate.value} by now'
    if server.is_shelved or server.host is None:
        return 'it is on no host; unshelve it first'
    if server.is_moving:
        return 'it is busy, or moving; try again when that is over'
    return None
