# SPDX-License-Identifier: Apache-2.0
"""Redeem: the capacity of a hold passes to its server. It only goes forward.

1. *reserve*, one transaction: the hold is HELD, the group exists and has not
   expired, and its policies allow the member's host. The hold and its member
   become REDEEMING, with the server's uuid.
2. *transfer*, one request: the hold's consumer is emptied, the server's
   filled. Only one request can fill the server's consumer, however many are
   sent.
3. *commit*, one transaction: the hold is REDEEMED.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
before 1       nothing                                nothing to finish
after 1        REDEEMING; the hold or the server      any delivery of the same
               owns the capacity                      request, or the reaper:
                                                      2, 3
after 2        REDEEMING; the server owns it          the same: 3
=============  =====================================  ========================

The reaper waits until no scheduler can work on the request. If Nova never
builds a server that owns its capacity, take_back.py holds it again.
"""

import enum
import itertools
import time

from nova import exception as nova_exc
from nova import objects
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import bodies
from nova_groupext.scheduler.placement import http
from nova_groupext.scheduler.protocol import ownership

LOG = logging.getLogger(__name__)

ServerOutcome = servers.ServerOutcome

# Seconds for which a process tries to find out whether a transfer took place.
TIME_LIMIT = 20

# Multiple of rpc_response_timeout after which no scheduler works on a request.
OVERDUE_FACTOR = 2

# Servers that Nova neither builds nor runs any more.
ENDED = (
    ServerOutcome.UNKNOWN_TO_NOVA,
    ServerOutcome.UNSCHEDULED,
    ServerOutcome.DELETED,
)

IS_LOST = 'its hold was lost; replan the group'

LOST = {'status': states.Member.FAILED, 'fault': IS_LOST}


class Outcome(enum.Enum):
    """The result of a transfer."""

    # The server owns the capacity.
    TRANSFERRED = enum.auto()
    # Neither of the two does, and the server cannot get it any more.
    LOST = enum.auto()
    # The hold owns the capacity: Placement refuses the transfer.
    REFUSED = enum.auto()
    # Unknown, or another process is still at work.
    UNKNOWN = enum.auto()

    @property
    def is_final(self):
        return self in (Outcome.TRANSFERRED, Outcome.LOST)


def transfer(
    context, placement_client, holds, project_id, user_id, time_limit=None
):
    """Pass the capacity of holds to their servers.

    :param holds: {server uuid: VRTHold in state REDEEMING}
    :param time_limit: seconds for which to retry, for all of them together; by
        default TIME_LIMIT
    :returns: {server uuid: Outcome}
    """
    ends_at = _end_of(time_limit)
    server_bodies = {
        uuid: bodies.for_server(hold, project_id, user_id)
        for uuid, hold in holds.items()
    }
    try:
        if placement_client.transfer(context, holds, server_bodies):
            return dict.fromkeys(holds, Outcome.TRANSFERRED)
    except exception.PlacementUnavailable:
        LOG.warning('Placement did not answer a transfer; it is sent again.')
    return {
        uuid: transfer_one(
            context,
            placement_client,
            uuid,
            hold,
            server_bodies[uuid],
            time_limit=ends_at - time.monotonic(),
        )
        for uuid, hold in holds.items()
    }


def transfer_one(
    context,
    placement_client,
    uuid,
    hold,
    body,
    *,
    fills_again=True,
    time_limit=None,
):
    """Send the transfer of one hold until its outcome is known.

    :param body: bodies.for_server() of the hold
    :param fills_again: whether to fill the server's consumer also when neither
        of the two owns anything
    :param time_limit: seconds for which to retry; by default TIME_LIMIT
    :returns: Outcome
    """
    ends_at = _end_of(time_limit)
    for attempt in itertools.count():
        try:
            outcome = _transfer_once(
                context, placement_client, uuid, hold, body, fills_again
            )
            if outcome != Outcome.REFUSED:
                return outcome
        except exception.PlacementUnavailable as exc:
            LOG.warning(
                'The transfer of hold %(hold)s is sent again: %(reason)s',
                {'hold': hold.uuid, 'reason': exc},
            )
            outcome = Outcome.UNKNOWN
        if time.monotonic() >= ends_at:
            return outcome
        http.pause(attempt)


def _end_of(time_limit):
    """Return when seconds from now are over, by the monotonic clock."""
    return time.monotonic() + (
        TIME_LIMIT if time_limit is None else time_limit
    )


def _transfer_once(context, placement_client, uuid, hold, body, fills_again):
    """Send a transfer once more; return its Outcome."""
    if placement_client.transfer(
        context, {uuid: hold}, {uuid: body}, reads_generation=True
    ):
        return Outcome.TRANSFERRED
    # The hold is read first: another process may transfer it in between.
    is_held = placement_client.allocations(context, hold.uuid)
    owns = placement_client.allocations(context, uuid)
    if owns and (not is_held or owns == hold.allocations):
        return Outcome.TRANSFERRED
    if is_held:
        return Outcome.REFUSED
    if not fills_again:
        return Outcome.LOST
    return _fill_server(context, placement_client, uuid, hold, body)


def _fill_server(context, placement_client, uuid, hold, body):
    """Fill a server when both it and its hold are empty; return Outcome."""
    server = servers.read(context, [uuid]).get(uuid)
    if server is None or server.is_moving:
        return Outcome.UNKNOWN
    if server.is_shelved:
        # The server had the capacity and has released it.
        return Outcome.TRANSFERRED
    is_failed = (
        server.outcome == ServerOutcome.IN_ERROR and server.host is None
    )
    if server.outcome in ENDED or is_failed:
        return Outcome.LOST
    if hold.lost:
        # Amounts that Placement keeps without a record would be in the way.
        placement_client.sweep(context, hold.uuid, hold)
    if placement_client.fill_servers(context, {uuid: body}):
        return Outcome.TRANSFERRED
    if placement_client.allocations(context, uuid):
        return Outcome.TRANSFERRED
    return Outcome.LOST


def commit(context, member, hold, outcome, group_uuid=None):
    """Store the outcome of a transfer.

    If the database fails, the reaper finds the outcome again from Placement.

    :param group_uuid: as ownership.redeem() takes it
    """
    try:
        if outcome == Outcome.TRANSFERRED:
            ownership.redeem(context, hold, member, group_uuid)
        else:
            ownership.end(context, hold, member, LOST)
    except database_errors.ANY:
        LOG.exception(
            'The result of redeeming member %s could not be stored; the '
            'reaper resolves it.',
            member.path,
        )


def list_overdue(context):
    """Return the REDEEMING members that no scheduler can work on any more."""
    return VRTMember.list_stuck_redeems(
        context, OVERDUE_FACTOR * CONF.rpc_response_timeout
    )


def finish(context, placement_client, member, hold):
    """Finish a redeem that a scheduler has left undone.

    :param member: VRTMember in state REDEEMING
    :param hold: its VRTHold, read before the member
    """
    uuid = member.server_uuid
    if hold.status != states.Hold.REDEEMING or hold.server_uuid != uuid:
        return
    project_id, user_id = _owner(context, member)
    [outcome] = transfer(
        *(context, placement_client, {uuid: hold}, project_id, user_id),
        time_limit=0,
    ).values()
    if outcome == Outcome.REFUSED and _has_ended(context, uuid):
        # Placement may refuse that forever. Once the hold is empty none can
        # succeed any more.
        placement_client.empty(context, hold.uuid)
        if not placement_client.allocations(context, uuid):
            outcome = Outcome.LOST
    if outcome.is_final:
        commit(context, member, hold, outcome)


def _has_ended(context, uuid):
    server = servers.read(context, [uuid]).get(uuid)
    return server is not None and server.outcome in ENDED


def _owner(context, member):
    """Return the ids of the project and the user that own a server."""
    try:
        spec = objects.RequestSpec.get_by_instance_uuid(
            context, member.server_uuid
        )
    except nova_exc.RequestSpecNotFound:
        spec = None
    group = VRTGroup.get_row(context, member.group_id)
    return (
        group.project_id,
        spec.user_id if spec and spec.user_id else group.user_id,
    )
