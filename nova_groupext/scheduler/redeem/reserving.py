# SPDX-License-Identifier: Apache-2.0
"""Which server gets which member.

What is free is chosen first, and looked at by Nova's filters. Then it is
reserved: from then on the member is nobody else's.
"""

import random
import time
import typing

from nova import exception as nova_exc

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.protocol import redeem as protocol

BEING_CLEARED_UP = 'an earlier create is being cleared up'

BEING_REVISED = 'its group is being revised at this moment; try again'

HOST_REFUSED = "its planned host does not pass Nova's filters now"
BREAKS_POLICY = 'on its planned host it would break a policy of its group now'

# How often, and after how many seconds, one looks whether a swap is over.
PATIENCE, PAUSE = 20, 0.25


class HostsRefused(Exception):
    """No server may go to the planned hosts of some members now.

    :ivar places: their Places
    :ivar why: the reason, which all of them share
    """

    def __init__(self, places, why):
        super().__init__(*(place.member.path for place in places))
        self.places = places
        self.why = why


class Taken(Exception):
    """Somebody else was faster, or another delivery of the same request."""


class TooFewPass(Exception):
    """Nova refuses the hosts of some members, and too few others are free.

    :ivar missing: how many more are needed
    """

    def __init__(self, missing):
        super().__init__(missing)
        self.missing = missing


class Place(typing.NamedTuple):
    """A member for a server, with its hold."""

    server_uuid: str
    member: VRTMember
    hold: VRTHold


def choose(
    context, ledger, path, read, server_uuids, refused=(), *, at_random=False
):
    """Return a Place for each server: its own, or else a free one.

    The same servers may come again. What is free is not reserved yet.

    :param path: what the members are called together
    :param read: returns the VRTMembers that will do, as they are now
    :param refused: ids of members whose hosts are refused
    :param at_random: whether any free ones are chosen, and not the first ones
    :returns: [Place], in the order of the servers
    :raises: nova.exception.NoValidHost, TooFewPass
    """
    for _look in range(PATIENCE):
        members = read()
        own = {m.server_uuid: m for m in members if m.status in states.IN_USE}
        if any(uuid in own for uuid in server_uuids):
            return _their_own(context, path, own, server_uuids)
        free = [
            member
            for member in members
            if member.id not in refused and member.why_not_redeemable() is None
        ]
        if len(free) < len(server_uuids):
            raise _too_few(path, members, free, server_uuids)
        changing = VRTHold.changing(context, [each.id for each in free])
        free = [member for member in free if member.id not in changing]
        if len(free) < len(server_uuids):
            time.sleep(PAUSE)
            continue
        if at_random:
            random.shuffle(free)
        places = [
            _place(context, uuid, member)
            for uuid, member in zip(server_uuids, free, strict=False)
        ]
        if _verify(context, ledger, places):
            return places
    raise refusal(path, BEING_REVISED)


def _their_own(context, path, own, server_uuids):
    if not all(uuid in own for uuid in server_uuids):
        raise refusal(path, BEING_CLEARED_UP)
    return [_place(context, uuid, own[uuid]) for uuid in server_uuids]


def reserve(context, places, judge):
    """Give places that are free to their servers, if policies let them.

    :param places: [Place] whose holds are HELD, of one group
    :param judge: judging.RedeemJudge
    :returns: False when somebody else has changed one of them
    :raises: HostsRefused
    """

    def check():
        refused = {
            member.id
            for member in judge.refused([place.member for place in places])
        }
        if refused:
            raise HostsRefused(
                [each for each in places if each.member.id in refused],
                BREAKS_POLICY,
            )

    own = {each.server_uuid: (each.member, each.hold) for each in places}
    with faultpoints.around('redeem.reserve'):
        return protocol.reserve(context, own, check)


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


def _verify(context, ledger, places):
    """Give back what is held beyond what there is.

    :returns: whether nothing was, and all of it is held still
    """
    lost = ownership.end_overcommitted(
        context, ledger, [place.hold for place in places]
    )
    # At once: their provider has less than is used of it.
    emptying.empty(context, ledger, lost)
    return all(place.hold.status == states.Hold.HELD for place in places)


def _place(context, server_uuid, member):
    hold = VRTHold.get_by_member(context, member.id)
    if hold is None:
        raise refusal(member.path, protocol.IS_LOST)
    return Place(server_uuid, member, hold)


def refusal(path, reason):
    error = exception.RedeemFailed(member=path, reason=reason)
    return nova_exc.NoValidHost(reason=error.format_message())
