# SPDX-License-Identifier: Apache-2.0
"""Servers that run already become members: where they are, and who may.

The API has compared them with what the members describe. Where they are, and
whether they rest there, is looked at when the group is decided. Before that
counts each of them gets a row of its own, REDEEMED by a member of the draft,
and hints that point to the group: then its moves are judged like those of the
group's servers. Only then it is looked at once more.

=============  =====================================  ========================
who dies       leaves behind                          and who goes on
=============  =====================================  ========================
after the row  REDEEMED, of the draft; what the       who takes the lease: the
               server owns is its own                 row is RELEASED, or with
                                                      the swap the group's
after that     the same, and hints                    whoever decides the
                                                      draft lets them follow
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
from nova_groupext.scheduler import stored_hints
from nova_groupext.scheduler.follow import whereabouts
from nova_groupext.scheduler.look import servers


def seats(context, ledger, group, draft):
    """Return {path: VRTHold} that says where each server is.

    They are no rows yet, see begin().

    :param group: the VRTGroup that the draft revises
    :param draft: VRTGroup that adopts some servers, or none
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
    """Insert the servers' holds, and check that they are where they were.

    In this order: their rows, their hints, a look. Who begins to move before
    the look is seen by it; who does after that finds the hints and the rows,
    and is judged.

    :param lease: VRTLease of the group
    :param plan: VRTPlan of the draft
    :returns: VRTHolds, as revisions.begin_to_adopt() does
    :raises: GenerationConflict, GroupBusy, ServerConflict,
        MemberStateConflict; the rows are to end then, by turn_back()
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
    """See that servers rest where they are to be adopted.

    :param placed: {path: seat}
    :raises: as begin() does
    """
    there = seats(context, ledger, group, draft)
    if any(seat.node != placed[path]['node'] for path, seat in there.items()):
        raise exception.GenerationConflict(group=group.uuid)


def turn_back(context, lease, draft):
    """End what begin() has begun, as far as it came.

    The hints follow when the draft is decided.
    """
    if revisions.adopted(draft):
        begun = swaps.Swap.of(context, lease.group_id) or swaps.NOTHING
        adopted = dataclasses.replace(swaps.NOTHING, adopted=begun.adopted)
        revisions.turn_back(context, lease, draft, adopted, ())


def let_hints_follow(context, draft):
    """Store hints of a draft's servers that point to their members now."""
    for server_uuid in revisions.adopted(draft).values():
        stored_hints.follow(context, server_uuid)


def _check_owners(context, group, draft, wanted):
    """Refuse what others have, or have got meanwhile."""
    members = {each.id: each for each in (*group.members, *draft.members)}
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
