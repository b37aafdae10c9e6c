# SPDX-License-Identifier: Apache-2.0
"""Choice and reservation of members for the servers of a request.

Free members are chosen first, so that Nova's filters can check their hosts.
Then their holds are reserved: no other server can redeem them.
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
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds

BEING_CLEARED_UP = 'an earlier create is being cleared up'

BEING_REVISED = 'its group is being revised at this moment; try again'

HOST_REFUSED = "its planned host does not pass Nova's filters now"
BREAKS_POLICY = 'on its planned host it would break a policy of its group now'

# Number of attempts and seconds between them while a swap is under way.
PATIENCE, PAUSE = 20, 0.25


class HostsFiltered(Exception):
    """Planned hosts of some members are refused now.

    :ivar places: [Reservation] of these members
    :ivar why: the common reason
    """

    def __init__(self, places, why):
        super().__init__(*(place.member.path for place in places))
        self.places = places
        self.why = why


class Taken(Exception):
    """A member was taken by another request or delivery of the same one."""


class NotEnoughMembers(Exception):
    """Too few free members remain besides those with refused hosts.

    :ivar missing: number of members that are missing
    """

    def __init__(self, missing):
        super().__init__(missing)
        self.missing = missing


class Reservation(typing.NamedTuple):
    """A server with the member and the hold that are chosen for it."""

    server_uuid: str
    member: VRTMember
    hold: VRTHold


def choose(
    context, ledger, path, read, server_uuids, refused=(), *, at_random=False
):
    """Return a Reservation for each server: its own member, or a free one.

    The same request may be delivered again. Free members are not reserved yet.

    :param path: common path of the members, for errors
    :param read: function that returns the matching VRTMembers as they are now
    :param refused: ids of members whose hosts are refused
    :param at_random: whether to choose random free members, not the first
    :returns: [Reservation], in the order of the servers
    :raises: nova.exception.NoValidHost, NotEnoughMembers
    """
    for _look in range(PATIENCE):
        members = read()
        own = {
            m.server_uuid: m
            for m in members
            if m.status in states.MEMBER_HAS_SERVER
        }
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
    """Reserve holds for their servers, if the policies allow that.

    :param places: [Reservation] whose holds are HELD, of one group
    :param judge: policy_check.RedeemCheck
    :returns: False when one of them was changed meanwhile
    :raises: HostsFiltered
    """

    def check():
        refused = {
            member.id
            for member in judge.refused([place.member for place in places])
        }
        if refused:
            raise HostsFiltered(
                [each for each in places if each.member.id in refused],
                BREAKS_POLICY,
            )

    own = {each.server_uuid: (each.member, each.hold) for each in places}
    with faultpoints.around('redeem.reserve'):
        return redeem.reserve(context, own, check)


def _too_few(path, members, free, server_uuids):
    """Return the error of servers for which too few members are free."""
    missing = len(server_uuids) - len(free)
    held = [m for m in members if m.why_not_redeemable() is None]
    if len(held) >= len(server_uuids):
        return NotEnoughMembers(missing)
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
    """Release holds that overcommit their providers.

    :returns: whether all the holds are still HELD
    """
    lost = ownership.end_overcommitted(
        context, ledger, [place.hold for place in places]
    )
    # At once, because their provider is overcommitted.
    release_holds.empty(context, ledger, lost)
    return all(place.hold.status == states.Hold.HELD for place in places)


def _place(context, server_uuid, member):
    hold = VRTHold.get_by_member(context, member.id)
    if hold is None:
        raise refusal(member.path, redeem.IS_LOST)
    return Reservation(server_uuid, member, hold)


def refusal(path, reason):
    error = exception.RedeemFailed(member=path, reason=reason)
    return nova_exc.NoValidHost(reason=error.format_message())
