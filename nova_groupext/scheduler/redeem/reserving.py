# SPDX-License-Identifier: Apache-2.0
"""The first step of redeeming: which server gets which member.

A server's uuid is written to its member before anything else happens; from
then on the member is nobody else's.
"""

import time
import typing

from nova import exception as nova_exc

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import changing_hands
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import ownership

HOLD_IS_GONE = 'its hold is gone from Placement'
BEING_CLEARED_UP = 'an earlier create is being cleared up'

BEING_REVISED = 'its group is being revised at this moment; try again'

HOST_REFUSED = "its planned host does not pass Nova's filters now"
BREAKS_POLICY = 'on its planned host it would break a policy of its group now'

# How often, and after how many seconds, one looks whether a revision that
# exchanges holds is over.
PATIENCE, PAUSE = 20, 0.25

# What becomes of a member that holds too much.
TOO_MUCH = {
    'status': states.Member.FAILED,
    'fault': verification.IS_TOO_MUCH,
}


class HostsRefused(Exception):
    """No server may go to the planned hosts of some members now.

    :ivar places: their Places
    :ivar why: the reason, which all of them share
    """

    def __init__(self, places, why):
        super().__init__(*(place.member.path for place in places))
        self.places = places
        self.why = why


class TooFewPass(Exception):
    """Nova refuses the hosts of some members, and too few others are free.

    :ivar missing: how many more are needed
    """

    def __init__(self, missing):
        super().__init__(missing)
        self.missing = missing


class Place(typing.NamedTuple):
    """A member that is reserved for a server, with its hold."""

    server_uuid: str
    member: VRTMember
    hold: VRTHold


def reserve(context, ledger, path, read, server_uuids, judge, refused=()):
    """Write each server's uuid to a member of its own, all or none.

    The same servers may come again.

    :param path: what the members are called together
    :param read: returns the VRTMembers that will do, as they are now
    :param judge: judging.RedeemJudge
    :param refused: ids of members whose hosts Nova refuses
    :returns: [Place], in the order of the servers
    :raises: nova.exception.NoValidHost, TooFewPass, HostsRefused
    """
    looks_left = PATIENCE
    while True:
        members = read()
        own = {m.server_uuid: m for m in members if m.status in states.IN_USE}
        if all(uuid in own for uuid in server_uuids):
            break
        if any(uuid in own for uuid in server_uuids):
            raise refusal(path, BEING_CLEARED_UP)
        free = [
            member
            for member in members
            if member.id not in refused and member.why_not_redeemable() is None
        ]
        if len(free) < len(server_uuids):
            raise _too_few(path, members, free, server_uuids)
        changing = changing_hands.members(context, free[0].group_id)
        free = [member for member in free if member.id not in changing]
        if len(free) < len(server_uuids):
            if not looks_left:
                raise refusal(path, BEING_REVISED)
            looks_left -= 1
            time.sleep(PAUSE)
            continue
        own = dict(zip(server_uuids, free, strict=False))
        if _verify(context, ledger, own.values()):
            with faultpoints.around('redeem.reserve'):
                is_done = _reserve(context, own, judge)
            if is_done:
                break
    return [_place(context, uuid, own[uuid]) for uuid in server_uuids]


def _reserve(context, own, judge):
    """Write the uuids down, if policies let all of the members be servers.

    :param own: {server uuid: its VRTMember}
    :returns: False when somebody else changes one of them
    :raises: HostsRefused
    """

    def check():
        refused = {member.id for member in judge.refused(own.values())}
        if refused:
            raise HostsRefused(
                [
                    _place(context, uuid, member)
                    for uuid, member in own.items()
                    if member.id in refused
                ],
                BREAKS_POLICY,
            )

    return changing_hands.reserve(context, own, check)


def _too_few(path, members, free, server_uuids):
    """Return the error of servers for which too few members are free."""
    missing = len(server_uuids) - len(free)
    held = [m for m in members if m.why_not_redeemable() is None]
    if len(held) >= len(server_uuids):
        return TooFewPass(missing)
    if len(members) == len(server_uuids) == 1:
        [member] = members
        why = f'it is {member.status}: {member.why_not_redeemable()}'
        return refusal(member.path, why)
    error = exception.TooFewFree(
        wanted=len(server_uuids),
        member=path,
        free=len(free),
        total=len(members),
    )
    return nova_exc.NoValidHost(reason=error.format_message())


def _verify(context, ledger, members):
    """Give back what was held beyond what there is.

    :returns: whether nothing was
    """
    holds = {
        hold.id: (hold, member)
        for member in members
        if (hold := VRTHold.get_by_member(context, member.id))
    }
    lost = verification.losers(
        context, ledger, [hold for hold, _member in holds.values()]
    )
    for hold in lost:
        _hold, member = holds[hold.id]
        ownership.change(
            context, ledger, hold, states.Hold.LEAVING, member, TOO_MUCH
        )
    return not lost


def _place(context, server_uuid, member):
    hold = VRTHold.get_by_member(context, member.id)
    if hold is None:
        raise refusal(member.path, HOLD_IS_GONE)
    if hold.status == states.Hold.MOVING:
        raise refusal(member.path, BEING_CLEARED_UP)
    return Place(server_uuid, member, hold)


def refusal(path, reason):
    error = exception.RedeemFailed(member=path, reason=reason)
    return nova_exc.NoValidHost(reason=error.format_message())
