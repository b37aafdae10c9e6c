# SPDX-License-Identifier: Apache-2.0
"""Choice of members for the servers of a request, and their reservation.

1. *choose* reads the members. A server of an earlier delivery of the request
   has a member already; the others get free members whose holds are in no
   swap. While a swap leaves too few of these, it waits and reads again.
2. Chosen holds that overcommit their providers become RELEASING, their members
   FAILED, and are emptied; then 1 again. Otherwise no row has changed, and
   Nova's filters can check the hosts.
3. *reserve*, one transaction: the policies are checked, and all holds and
   members become REDEEMING, with the servers' uuids, or none.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
in 1           nothing                                nothing to finish
in 2           RELEASING holds                        the reaper empties them
after 3        REDEEMING; the hold owns the capacity  any delivery of the same
                                                      request, or the reaper:
                                                      see protocol/redeem.py
=============  =====================================  ========================
"""

import random
import time
import typing

from nova import exception as nova_exc

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.membership import roster
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds

BEING_UNDONE = 'an earlier create of its server is being undone; retry later'

BEING_REVISED = 'its group is being revised; retry later'

HOST_REFUSED = "Nova's filters refuse its planned host"
VIOLATES_POLICY = 'it would violate a policy of its group on its planned host'

# Number of attempts and seconds between them while a swap is under way.
MAX_ATTEMPTS, PAUSE = 20, 0.25


class HostsFiltered(Exception):
    """Planned hosts of some members are refused now.

    :ivar choices: [Choice] of these members
    :ivar reason: the common reason
    """

    def __init__(self, choices, reason):
        super().__init__(*(choice.member.path for choice in choices))
        self.choices = choices
        self.reason = reason


class MemberTaken(Exception):
    """A member was taken by another request or delivery of the same one."""


class NotEnoughMembers(Exception):
    """Too few members remain besides those with refused hosts.

    :ivar refused: ids of as many of these as are missing
    """

    def __init__(self, refused):
        super().__init__(refused)
        self.refused = refused


class TooFewHeld(Exception):
    """The group holds too few members for the servers.

    :ivar reason: text for the user, unless planners can place more
    """

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason

    @property
    def error(self):
        return nova_exc.NoValidHost(reason=self.reason)


class Choice(typing.NamedTuple):
    """A server with the member and the hold that are chosen for it."""

    server_uuid: str
    member: VRTMember
    hold: VRTHold


def choose(
    context,
    placement_client,
    path,
    read_members,
    server_uuids,
    refused=(),
    *,
    at_random=False,
):
    """Return a Choice for each server: its own member, or a free one.

    The same request may be delivered again. Free members are not reserved yet.

    :param path: common path of the members, for errors
    :param read_members: function that returns the matching VRTMembers, read
        anew
    :param refused: ids of members whose hosts are refused
    :param at_random: whether to choose random free members, not the first
    :returns: [Choice], in the order of the servers
    :raises: nova.exception.NoValidHost, TooFewHeld, NotEnoughMembers
    """
    for _attempt in range(MAX_ATTEMPTS):
        members = read_members()
        choices = _own_choices(context, path, members, server_uuids)
        if choices is not None:
            _check_hosts(choices, refused)
        else:
            free = _free_members(path, members, refused, server_uuids)
            if at_random:
                random.shuffle(free)
            choices = _pair(context, server_uuids, free)
        if choices is None or _is_in_swap(choices):
            time.sleep(PAUSE)
        elif _verify(context, placement_client, choices):
            return choices
    raise refusal(path, BEING_REVISED)


def _own_choices(context, path, members, server_uuids):
    """Return the Choices of an earlier delivery; None without one.

    :raises: nova.exception.NoValidHost when some of them are being undone
    """
    reserved = {
        member.server_uuid: member
        for member in members
        if member.status in states.MEMBER_HAS_SERVER
    }
    # Those that a planner has placed for servers of this request.
    reserved |= {
        member.reserved_for: member
        for member in members
        if member.reserved_for is not None
    }
    if not any(uuid in reserved for uuid in server_uuids):
        return None
    if not all(uuid in reserved for uuid in server_uuids):
        raise refusal(path, BEING_UNDONE)
    return [_choice_of(context, uuid, reserved[uuid]) for uuid in server_uuids]


def _is_in_swap(choices):
    """Check whether a hold is being exchanged: it is not to be redeemed."""
    return any(each.hold.status == states.Hold.EXCHANGING for each in choices)


def _check_hosts(choices, refused):
    """Check that members that are reserved for servers have suitable hosts.

    :param refused: ids of members whose hosts are refused
    :raises: NotEnoughMembers
    """
    own = [each.member.id for each in choices if each.member.id in refused]
    if own:
        raise NotEnoughMembers(own)


def _pair(context, server_uuids, free):
    """Return a Choice for each server, of the first members that can be had.

    :returns: None if swaps leave too few
    """
    choices, left = [], list(free)
    while missing := server_uuids[len(choices) :]:
        chunk, left = left[: len(missing)], left[len(missing) :]
        if not chunk:
            return None
        holds = VRTHold.redeemable_by_member(context, [m.id for m in chunk])
        available = (member for member in chunk if member.id in holds)
        choices += [
            Choice(uuid, member, holds[member.id])
            for uuid, member in zip(missing, available, strict=False)
        ]
    return choices


def _free_members(path, members, refused, server_uuids):
    """Return the members that the servers may have, the first ones first.

    :raises: TooFewHeld, NotEnoughMembers
    """
    free = [
        member
        for member in members
        if member.id not in refused and member.redeem_obstacle() is None
    ]
    if len(free) < len(server_uuids):
        raise _not_enough_members(path, members, free, server_uuids)
    # Rows are in the order of their age.
    return sorted(free, key=lambda m: (m.member_set, roster.by_path(m)))


def reserve(context, choices):
    """Reserve holds for their servers, if the policies allow that.

    :param choices: [Choice] whose holds are HELD, of one group
    :returns: False when one of them was changed meanwhile
    :raises: HostsFiltered
    """

    def check(state):
        refused = {
            member.id
            for member in policy_check.refused_members(
                context, [choice.member for choice in choices], state
            )
        }
        if refused:
            raise HostsFiltered(
                [each for each in choices if each.member.id in refused],
                VIOLATES_POLICY,
            )

    reserved = {each.server_uuid: (each.member, each.hold) for each in choices}
    with faultpoints.around('redeem.reserve'):
        return redeems.reserve(context, reserved, check)


def _not_enough_members(path, members, free, server_uuids):
    """Return the error of servers for which too few members are free."""
    missing = len(server_uuids) - len(free)
    held = [m for m in members if m.redeem_obstacle() is None]
    if len(held) >= len(server_uuids):
        refused = [each.id for each in held if each not in free]
        return NotEnoughMembers(refused[:missing])
    if len(members) == len(server_uuids) == 1:
        [member] = members
        reason = f'it is {member.status}: {member.redeem_obstacle()}'
        error = exception.RedeemFailed(member=member.path, reason=reason)
        return TooFewHeld(error.format_message())
    error = exception.TooFewRedeemable(
        *(len(server_uuids), path, members, free)
    )
    return TooFewHeld(error.format_message())


def _verify(context, placement_client, choices):
    """Release holds that overcommit their providers.

    :returns: whether all holds that were HELD still are
    """
    held = [
        choice.hold
        for choice in choices
        if choice.hold.status == states.Hold.HELD
    ]
    if CONF.vrt.placement_excludes_overcommit or not held:
        return True
    overcommitted = ownership.end_overcommitted(
        context, placement_client, held
    )
    # At once, because their provider is overcommitted.
    release_holds.release(context, placement_client, overcommitted)
    return all(hold.status == states.Hold.HELD for hold in held)


def _choice_of(context, server_uuid, member):
    hold = VRTHold.find_by_member(context, member.id)
    if hold is None:
        raise refusal(member.path, redeem.IS_LOST)
    return Choice(server_uuid, member, hold)


def refusal(path, reason):
    error = exception.RedeemFailed(member=path, reason=reason)
    return nova_exc.NoValidHost(reason=error.format_message())
