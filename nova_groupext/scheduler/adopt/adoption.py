# SPDX-License-Identifier: Apache-2.0
"""Adoption: existing servers become members of a group on their hosts.

The API has compared the servers with the members' descriptions. The planner
that decides the draft then does this:

1. *locate*: check that each server is on a host, does not move, and is no
   other member; its host is fixed in the plan.
2. *insert*, one transaction: a REDEEMED row of the draft for each server.
3. *hints*: Nova stores that each server is a member of the group, so that its
   moves are checked from now on.
4. *check*: locate again; if a server has moved since 1, the draft is decided
   again.
5. The commit of the draft makes the rows the group's.

=========  =========================================  ========================
crash      left behind                                finished by
=========  =========================================  ========================
after 2    REDEEMED rows of the draft; the servers    the next owner of the
           own their allocations, as before           lease: it releases the
                                                      rows, or finishes a swap
after 3    the same, and hints                        the same; the next plan
                                                      of the draft restores
                                                      the hints
=========  =========================================  ========================
"""

import dataclasses
import functools

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import quota
from nova_groupext.objects import adoptions
from nova_groupext.objects import drafts
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.nova import stored_hints
from nova_groupext.scheduler.protocol import record_location


def locate(context, placement_client, group, draft):
    """Return {path: VRTHold} of the servers to adopt, on their hosts.

    The VRTHolds are not stored yet, see begin().

    :param group: VRTGroup that the draft revises
    :param draft: VRTGroup that may adopt servers
    :raises: ServerConflict, MemberStateConflict
    """
    uuid_of = drafts.servers_to_adopt(draft)
    if not uuid_of:
        return {}
    _check_owners(context, group, draft, uuid_of)
    server_of = servers.read(context, [*uuid_of.values()])
    return {
        member.path: VRTHold.for_member(
            member,
            _placement_of(
                context,
                placement_client,
                member,
                server_of.get(member.server_uuid),
            ),
        )
        for member in draft.members
        if member.path in uuid_of
    }


def begin(context, placement_client, lease, group, draft, plan):
    """Insert the servers' holds, and check that the servers have not moved.

    The order is rows, hints, check: a move that starts before the check is
    seen by it; a later one finds rows and hints, and policies apply to it.

    :param lease: VRTLease of the group
    :param plan: VRTPlan of the draft
    :returns: VRTHolds, as adoptions.insert_holds() does
    :raises: GenerationConflict, GroupBusy, ServerConflict,
        MemberStateConflict; the caller ends the rows by compensate()
    """
    uuid_of = drafts.servers_to_adopt(draft)
    if not uuid_of:
        return []
    placements = {path: plan.placements[path] for path in uuid_of}
    insert = functools.partial(
        adoptions.insert_holds,
        *(context, lease, group, draft, placements),
    )
    with faultpoints.around('adopt.begin'):
        holds = quota.with_project_lock(context, draft.project_id, insert)
    sync_hints(context, draft)
    check(context, placement_client, group, draft, placements)
    return holds


def check(context, placement_client, group, draft, placements):
    """Check that servers rest on the hosts where they are to be adopted.

    :param placements: {path: MemberPlacement}
    :raises: as begin() does
    """
    present = locate(context, placement_client, group, draft)
    if any(
        hold.node != placements[path].node for path, hold in present.items()
    ):
        raise exception.GenerationConflict(group=group.uuid)


def compensate(context, lease, draft):
    """Compensate begin(), however far it came.

    The servers' hints are restored when the draft is decided.
    """
    if drafts.servers_to_adopt(draft):
        swap = swaps.Swap.load(context, lease.group_id) or swaps.EMPTY
        adoption = dataclasses.replace(swaps.EMPTY, adopted=swap.adopted)
        revisions.compensate(context, lease, draft, adoption, ())


def sync_hints(context, draft):
    """Set the hints of a draft's servers to the members that they are now."""
    for server_uuid in drafts.servers_to_adopt(draft).values():
        stored_hints.sync_hints(context, server_uuid)


def _check_owners(context, group, draft, uuid_of):
    """Raise if another member has one of the servers, or got one meanwhile.

    :param uuid_of: {path: uuid of the server to adopt}
    """
    members = {
        member.id: member for member in (*group.members, *draft.members)
    }
    for owner in VRTMember.list_by_servers(context, uuid_of.values()):
        member = members.get(owner.id)
        if member is None or uuid_of.get(member.path) != owner.server_uuid:
            raise exception.ServerConflict(
                server=owner.server_uuid,
                reason=f'it is already member {owner.path} of a VRT group',
            )
    for member in group.members:
        has_server = member.status in states.MEMBER_HAS_SERVER
        if member.path in uuid_of and has_server:
            raise exception.MemberStateConflict(
                member=member.path,
                status=member.status,
                reason='it got a server meanwhile',
            )


def _placement_of(context, placement_client, member, server):
    """Return the MemberPlacement of a server on its host.

    :param server: servers.Server, or None if its cell does not answer
    :raises: ServerConflict
    """
    reason = _find_obstacle(server)
    placement = None
    if reason is None:
        placement = record_location.placement_of(
            context, placement_client, member, None, server
        )
        reason = 'its host or its allocation in Placement is unknown'
    if placement is None or not placement.amounts():
        raise exception.ServerConflict(
            server=member.server_uuid, reason=reason
        )
    return placement


def _find_obstacle(server):
    """Return why a server cannot be adopted now; None if it can."""
    if server is None:
        return 'its cell does not answer; retry later'
    if server.outcome != servers.ServerOutcome.LIVE:
        return f'it is now {server.outcome.value}'
    if server.is_shelved or server.host is None:
        return 'it is not on a host; unshelve it first'
    if server.is_moving:
        return (
            'it is moving or has a task in progress; retry when that has ended'
        )
    return None
