# SPDX-License-Identifier: Apache-2.0
"""The redeem door: from a hold to the server's own allocation.

Only a first boot with our hints gets here. Every refusal is a NoValidHost
with its reason and leaves the hold as it was.
"""

import contextlib

from nova import exception as nova_exc
from oslo_db import exception as db_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import requests

LOG = logging.getLogger(__name__)


HOST_REFUSED = "its planned host does not pass Nova's filters now"
NO_ANSWER = 'Placement did not answer; it is held again'
HOLD_IS_GONE = 'its hold is gone from Placement'


class RedeemDoor:
    """Redeems one member for one server.

    :param ledger: ledger.Ledger
    :param host_manager: Nova's HostManager
    """

    def __init__(self, ledger, host_manager):
        self._ledger = ledger
        self._host_manager = host_manager

    def enter(self, context, pointed, spec, server_uuid):
        """Reserve the member for the server and return its hold.

        The server's uuid is written before anything else happens. A request
        that is delivered twice finds its own uuid there and goes on.

        :returns: (VRTMember in state REDEEMING or ACTIVE, VRTHold)
        :raises: nova.exception.NoValidHost
        """
        member = self._member(context, pointed, spec)
        self._check_description(context, member, spec)
        is_again = member.server_uuid == server_uuid
        if not (is_again and member.status in states.IN_USE):
            self._reserve(context, member, server_uuid)
        hold = VRTHold.get_by_member(context, member.id)
        if hold is None:
            raise refusal(member, HOLD_IS_GONE)
        if hold.status == states.Hold.MOVING:
            raise refusal(member, 'an earlier create is being cleared up')
        return member, hold

    def turn_back(self, context, member, hold, why):
        """The server did not get the capacity, as far as this request saw.

        :param why: what to tell the tenant
        :raises: nova.exception.NoValidHost, unless another delivery of the
            same request has got it
        """
        if not conclude(context, self._ledger, member, hold):
            is_gone = member.status == states.Member.FAILED
            raise refusal(member, HOLD_IS_GONE if is_gone else why)

    @staticmethod
    def _member(context, pointed, spec):
        if not pointed.is_complete:
            raise nova_exc.NoValidHost(
                reason='the hints vrt_group and vrt_member belong together'
            )
        try:
            return VRTMember.get_by_path(
                context,
                pointed.group,
                pointed.member,
                project_id=spec.project_id,
            )
        except exception.MemberNotFound as exc:
            raise nova_exc.NoValidHost(reason=exc.format_message()) from exc

    def _check_description(self, context, member, spec):
        described = requests.placement_request(
            context,
            requests.spec_for(context, member, spec.project_id, spec.user_id),
            self._host_manager,
        )
        asked = requests.placement_request(context, spec, self._host_manager)
        if requests.needs_more_than_amounts(spec) or not (
            requests.asks_for_the_same(described, asked)
        ):
            raise refusal(
                member, 'the server asks for other resources than described'
            )

    @staticmethod
    def _reserve(context, member, server_uuid):
        if member.status != states.Member.HELD:
            raise refusal(member, f'it is {member.status}')
        try:
            member.change(
                context, states.Member.REDEEMING, server_uuid=server_uuid
            )
        except exception.MemberStateConflict as exc:
            fresh = VRTMember.get_by_id(context, member.id)
            if fresh.server_uuid != server_uuid:
                raise refusal(member, 'another server was faster') from exc
            member.status = fresh.status
            member.server_uuid = server_uuid


def close(context, member, hold):
    """The capacity is the server's: remember it."""
    hold.status = states.Hold.REDEEMED
    hold.save(context)
    _change(context, member, states.Member.ACTIVE)


def conclude(context, ledger, member, hold, before=None):
    """Find out whether a redeem took place, and let the rows say so.

    First the hold moves to a new uuid, so that no swap under way can succeed
    later. Where it cannot be moved, the server's allocation tells.

    :param ledger: ledger.Ledger
    :param member: VRTMember in state REDEEMING
    :param before: when another who does the same must have begun to be dead
    :returns: whether the capacity is the server's
    :raises: PlacementUnavailable; the reaper asks again
    """
    if not hold.claim(context, before):
        return ledger.has_swapped(context, hold, member.server_uuid)
    if ledger.fence(context, hold) is not None:
        _change(context, member, states.Member.HELD, server_uuid=None)
        return False
    if ledger.has_swapped(context, hold, member.server_uuid):
        close(context, member, hold)
        return True
    _change(context, member, states.Member.FAILED, fault=HOLD_IS_GONE)
    return False


def _change(context, member, status, **values):
    """Change a member, unless another delivery has done it already."""
    try:
        member.change(context, status, **values)
    except exception.MemberStateConflict:
        LOG.debug('Member %s was changed meanwhile.', member.path)
        return
    VRTGroup.settle(context, member.group_id)


def refusal(member, reason):
    error = exception.RedeemFailed(member=member.path, reason=reason)
    return nova_exc.NoValidHost(reason=error.format_message())


@contextlib.contextmanager
def explained(member_path):
    """Turn trouble of ours into a NoValidHost that says what happened."""
    try:
        yield
    except db_exc.DBError as exc:
        LOG.exception('VRT groups cannot be read.')
        raise nova_exc.NoValidHost(
            reason='VRT groups cannot be read at the moment; what is held '
            'stays held'
        ) from exc
    except exception.PlacementUnavailable as exc:
        LOG.exception('Placement did not answer about %s.', member_path)
        raise nova_exc.NoValidHost(
            reason=f'Placement did not answer about member {member_path}; '
            'nothing is lost, what became of its hold will be found out'
        ) from exc
