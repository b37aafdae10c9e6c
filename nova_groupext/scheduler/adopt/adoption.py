# SPDX-License-Identifier: Apache-2.0
"""Adoption: existing servers become members of a group on their hosts.

The API has compared the servers with the members' descriptions. When the draft
is decided, the planner reads where they are and that they do not move. Then
each server gets a row, REDEEMED by a member of the draft, and hints that point
to the group, so that its moves are checked like those of any member. Before
the draft is in force, the servers are read once more.

=============  =====================================  ========================
crash          leaves                                 who finishes
=============  =====================================  ========================
after the row  REDEEMED row of the draft; the server  the next lease owner: the
               owns its allocation                    row is RELEASED, or with
                                                      the swap the group's
after hints    the same, and hints                    the planner that decides
                                                      the draft restores hints
=============  =====================================  ========================
"""

import dataclasses
import functools

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import quota
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.nova import stored_hints
from nova_groupext.scheduler.protocol import record_location


def seats(context, ledger, group, draft):
    """Return {path: VRTHold} of the servers to adopt, on their hosts.

    The VRTHolds are not stored yet, see begin().

    :param group: VRTGroup that the draft revises
    :param draft: VRTGroup that may adopt servers
    :raises: ServerConflict, MemberStateConflict
    """
    wanted = revisions.adopted(draft)
    if not wanted:
        return {}
    _check_owners(context, group, draft, wanted)
    found = servers.read(context, [*wanted.values()])
    return {
        member.path: VRTHold.of(
            member,
            _seat(context, ledger, member, found.get(member.server_uuid)),
        )
        for member in draft.members
        if member.path in wanted
    }


def begin(context, ledger, lease, group, draft, plan):
    """Insert the servers' holds, and check that the servers have not moved.

    The order is rows, hints, check: a move that starts before the check is
    seen by it; a later one finds rows and hints, and policies apply to it.

    :param lease: VRTLease of the group
    :param plan: VRTPlan of the draft
    :returns: VRTHolds, as revisions.begin_to_adopt() does
    :raises: GenerationConflict, GroupBusy, ServerConflict,
        MemberStateConflict; the caller ends the rows by turn_back()
    """
    wanted = revisions.adopted(draft)
    if not wanted:
        return []
    placed = {path: plan.placement[path] for path in wanted}
    begin_to_adopt = functools.partial(
        revisions.begin_to_adopt, *(context, lease, group, draft, placed)
    )
    with faultpoints.around('adopt.begin'):
        holds = quota.serialised(context, draft.project_id, begin_to_adopt)
    let_hints_follow(context, draft)
    check(context, ledger, group, draft, placed)
    return holds


def check(context, ledger, group, draft, placed):
    """Check that servers rest on the hosts where they are to be adopted.

    :param placed: {path: plan entry}
    :raises: as begin() does
    """
    there = seats(context, ledger, group, draft)
    if any(seat.node != placed[path]['node'] for path, seat in there.items()):
        raise exception.GenerationConflict(group=group.uuid)


def turn_back(context, lease, draft):
    """Compensate begin(), however far it came.

    The servers' hints are restored when the draft is decided.
    """
    if revisions.adopted(draft):
        begun = swaps.Swap.of(context, lease.group_id) or swaps.NOTHING
        adopted = dataclasses.replace(swaps.NOTHING, adopted=begun.adopted)
        revisions.turn_back(context, lease, draft, adopted, ())


def let_hints_follow(context, draft):
    """Set the hints of a draft's servers to the members that they are now."""
    for server_uuid in revisions.adopted(draft).values():
        stored_hints.follow(context, server_uuid)


def _check_owners(context, group, draft, wanted):
    """Raise if another member has one of the servers, or got one meanwhile."""
    members = {each.id: each for each in (*group.members, *draft.members)}
    for owner in VRTMember.list_by_servers(context, wanted.values()):
        mine = members.get(owner.id)
        if mine is None or wanted.get(mine.path) != owner.server_uuid:
            raise exception.ServerConflict(
                server=owner.server_uuid,
                reason=f'it is member {owner.path} of a VRT group already',
            )
    for member in group.members:
        if member.path in wanted and member.status in states.MEMBER_HAS_SERVER:
            raise exception.MemberStateConflict(
                member=member.path,
                status=member.status,
                reason='it has got a server meanwhile',
            )


def _seat(context, ledger, member, server):
    """Return the plan entry of a server on its host.

    :param server: servers.Server, or None if its cell does not answer
    :raises: ServerConflict
    """
    reason = _why_not(server)
    seat = None
    if reason is None:
        seat = record_location.seat(context, ledger, member, None, server)
        reason = 'what it uses is not known to Placement'
    if seat is None or not seat['allocations'][seat['provider']]['resources']:
        raise exception.ServerConflict(
            server=member.server_uuid, reason=reason
        )
    return seat


def _why_not(server):
    """Return why a server cannot be adopted now; None if it can."""
    if server is None:
        return 'its cell does not answer; try again later'
    if server.fate != servers.ServerOutcome.LIVE:
        return f'it is {server.fate.value} by now'
    if server.is_shelved or server.host is None:
        return 'it is on no host; unshelve it first'
    if server.is_moving:
        return 'it is busy, or moving; try again when that is over'
    return None
