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
        if member.server_uuid != server_uuid:
            self._reserve(context, member, server_uuid)
        hold = VRTHold.get_by_member(context, member.id)
        if hold is None:
            raise refusal(member, HOLD_IS_GONE)
        return member, hold

    def close(self, context, member, hold):
        """The capacity is the server's: remember it."""
        hold.status = states.Hold.REDEEMED
        hold.save(context)
        try:
            member.change(context, states.Member.ACTIVE)
        except exception.MemberStateConflict:
            # The same request, delivered twice, was faster.
            LOG.debug('Member %s is redeemed already.', member.path)
            return
        VRTGroup.settle(context, member.group_id)

    def turn_back(self, context, member, hold):
        """The server was refused: the member is to be held again.

        The hold moves to a new uuid first, so that no other delivery of the
        same request can still swap it. When it cannot be moved, such a
        delivery was faster and this one is to answer like it.

        :raises: nova.exception.NoValidHost unless the server has the capacity
        """
        if self._ledger.fence(context, hold) is not None:
            member.change(context, states.Member.HELD, server_uuid=None)
            VRTGroup.settle(context, member.group_id)
            raise refusal(
                member, "its planned host does not pass Nova's filters now"
            )
        if not self._ledger.has_swapped(context, hold, member.server_uuid):
            member.change(context, states.Member.FAILED, fault=HOLD_IS_GONE)
            VRTGroup.settle(context, member.group_id)
            raise refusal(member, HOLD_IS_GONE)

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
        if not requests.asks_for_the_same(described, asked):
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
