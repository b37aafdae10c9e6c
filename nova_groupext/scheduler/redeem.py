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
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import ownership
from nova_groupext.scheduler import requests
from nova_groupext.scheduler import verification

LOG = logging.getLogger(__name__)


LEAVING = states.Hold.LEAVING

HOST_REFUSED = "its planned host does not pass Nova's filters now"
NO_ANSWER = 'Placement did not answer; it is held again'
HOLD_IS_GONE = 'its hold is gone from Placement'

# What becomes of a member whose create is concluded.
ACTIVE = {'status': states.Member.ACTIVE}
TOO_MUCH = {
    'status': states.Member.FAILED,
    'fault': verification.IS_TOO_MUCH,
}
GONE = {'status': states.Member.FAILED, 'fault': HOLD_IS_GONE}


class RedeemDoor:
    """Redeems one member for one server.

    :ivar ledger: ledger.Ledger
    :param host_manager: Nova's HostManager
    """

    def __init__(self, ledger, host_manager):
        self.ledger = ledger
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
        hold = reserve(context, self.ledger, member, server_uuid)
        return member, hold

    def turn_back(self, context, member, hold, why):
        """The server did not get the capacity, as far as this request saw.

        :param why: what to tell the tenant
        :raises: nova.exception.NoValidHost, unless another delivery of the
            same request has got it
        """
        if not conclude(context, self.ledger, member, hold):
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


def reserve(context, ledger, member, server_uuid):
    """Write a server's uuid to its member, and return the member's hold.

    The same server may come again.

    :raises: nova.exception.NoValidHost
    """
    is_again = member.server_uuid == server_uuid
    if not (is_again and member.status in states.IN_USE):
        _verify(context, ledger, member)
        _reserve(context, member, server_uuid)
    hold = VRTHold.get_by_member(context, member.id)
    if hold is None:
        raise refusal(member, HOLD_IS_GONE)
    if hold.status == states.Hold.MOVING:
        raise refusal(member, 'an earlier create is being cleared up')
    return hold


def _verify(context, ledger, member):
    """Refuse what was held beyond what there is, and give it back."""
    hold = VRTHold.get_by_member(context, member.id)
    if hold is None or member.status != states.Member.HELD:
        return
    if verification.losers(context, ledger, [hold]):
        ownership.change(context, ledger, hold, LEAVING, member, TOO_MUCH)
        raise refusal(member, TOO_MUCH['fault'])


def _reserve(context, member, server_uuid):
    obstacle = member.why_not_redeemable()
    if obstacle is not None:
        raise refusal(member, f'it is {member.status}: {obstacle}')
    try:
        with faultpoints.around('redeem.reserve'):
            member.change(
                context, states.Member.REDEEMING, server_uuid=server_uuid
            )
    except exception.MemberStateConflict as exc:
        fresh = VRTMember.find_by_id(context, member.id)
        if fresh is None:
            raise refusal(member, 'its group was deleted') from exc
        if fresh.server_uuid != server_uuid:
            raise refusal(member, f'it is {fresh.status}') from exc
        member.status = fresh.status
        member.server_uuid = server_uuid


def close(context, ledger, member, hold):
    """The capacity is the server's: remember it."""
    with faultpoints.around('redeem.close'):
        ownership.change(
            context, ledger, hold, states.Hold.REDEEMED, member, ACTIVE
        )


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
    heir = _move(context, ledger, hold)
    if heir is None:
        # Its server has it, or one who has moved it before and died.
        if ledger.has_swapped(context, hold, member.server_uuid):
            close(context, ledger, member, hold)
            return True
        heir = ownership.left_behind(context, ledger, hold)
    if heir is None:
        ownership.change(context, ledger, hold, LEAVING, member, GONE)
        return False
    with faultpoints.around('move.commit'):
        ownership.change(
            context, ledger, hold, LEAVING, member, ownership.HELD_AGAIN, heir
        )
    return False


def _move(context, ledger, hold):
    """Move a claimed hold to a new uuid.

    :returns: the new VRTHold, or None when the old one holds nothing
    """
    heir = hold.again()
    with faultpoints.around('move.write_down'):
        heir.create(context)
    if ledger.move(context, hold, heir):
        return heir
    VRTHold.retire(context, [heir], is_answered=True)
    return None


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
