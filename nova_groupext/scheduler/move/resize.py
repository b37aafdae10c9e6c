# SPDX-License-Identifier: Apache-2.0
"""Claim of resize reservations: holds to resize or unshelve a server.

At this time Nova has moved the allocations of a server that is resized to its
migration, and a shelved server has none, so the server's own uuid is free as a
consumer.

1. Find the reservation that a revision has held for the resize. To unshelve a
   server of an exclusive group, ask a planner for one: only the group's own
   hosts have capacity for it.
2. *reserve*, one transaction: the reservation is REDEEMING.
3. *transfer*, one request: the reservation's consumer is emptied, the server's
   filled, on the same host.
4. *close*, one transaction: the reservation is REDEEMED. From then on it is a
   move like any other (see destinations.py).

==========  ==============================  ==================================
crash       left behind                     finished by
==========  ==============================  ==================================
after 2, 3  a REDEEMING reservation         follow_reservations(): REDEEMED
                                            if the server has the capacity,
                                            else RELEASING
after 4     a REDEEMED reservation          follow_servers() releases it when
                                            the server rests on a host; one
                                            that stays shelved is emptied first
==========  ==============================  ==================================
"""

import copy

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext.db import database_errors
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.placement import bodies
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.redeem import description_match
from nova_groupext.scheduler.redeem import replacement_request
from nova_groupext.scheduler.redeem import reserve

LOG = logging.getLogger(__name__)


STATE_UNKNOWN = (
    'Placement did not answer: the state of the capacity held for the server '
    'is unknown and will be resolved; retry later'
)
NO_RESERVATION = (
    'it is shelved and its group has an exclusive policy: capacity has to '
    'be held for it first'
)
HOST_REFUSED = "Nova's filters refuse the host that was found for it"
HOST_REQUESTED = (
    'planners select the hosts of a group with an exclusive policy; unshelve '
    'it without a host'
)


class Refused(nova_exc.NoValidHost):
    """Refusal of a move that must not try another host."""


def iter_reservations(context, ref, spec, host_manager):
    """Yield reservations for a server that moves, one after the other.

    The caller asks for another one after a host was refused.

    :param ref: member_ref.MemberRef of the server
    :param spec: RequestSpec of the move
    :param host_manager: Nova's HostManager
    :returns: iterator of VRTHolds
    :raises: nova.exception.NoValidHost if a shelved server finds none, or is
        to be unshelved to another zone or to a host
    """
    reservation = find_reservation(context, spec, host_manager)
    if reservation is not None:
        yield reservation
    path = _shelved_path(context, ref, spec, host_manager)
    replacement = path and replacement_request.ReplacementRequest(
        context, ref.group, 'it stays shelved'
    )
    why = NO_RESERVATION
    while path:
        replacement.send({path: reservation and reservation.node}, why)
        reservation = find_reservation(context, spec, host_manager)
        why = HOST_REFUSED
        if reservation is None:
            raise reserve.refusal(path, NO_RESERVATION)
        yield reservation


def _shelved_path(context, ref, spec, host_manager):
    """Return the member's path if it needs a reservation to be unshelved.

    :raises: nova.exception.NoValidHost if none can be as requested
    """
    try:
        group, member = destinations.find_member(
            context, ref, spec.instance_uuid
        )
        if (
            member is not None
            and member.status == states.Member.SHELVED
            and exclusive_hosts.is_confined(group, member.path)
        ):
            if obstacle := _unshelve_obstacle(
                context, member, spec, host_manager
            ):
                raise reserve.refusal(member.path, obstacle)
            return member.path
    except database_errors.ANY:
        LOG.exception(
            'The VRT group of server %s could not be read; Nova selects its '
            'host.',
            spec.instance_uuid,
        )
    return None


def _unshelve_obstacle(context, member, spec, host_manager):
    """Return why no reservation can be as an unshelve requests, or None.

    A planner holds what the server had: it knows neither the host nor the zone
    that an unshelve requests.
    """
    request = member.current_request
    if _requested_amounts(context, request, spec, host_manager) is not None:
        return None
    destination = spec.requested_destination
    if destination and 'host' in destination and destination.host:
        return HOST_REQUESTED
    zone = request['availability_zone']
    if spec.availability_zone == zone:
        return description_match.OTHER_RESOURCES
    option = (
        f'--availability-zone {zone}' if zone else '--no-availability-zone'
    )
    return (
        'a server of a group with an exclusive policy returns to its own '
        f'availability zone; unshelve it with {option}'
    )


def find_reservation(context, spec, host_manager):
    """Return the reservation to resize or unshelve a server, or None.

    Only if the request equals what it is held for: for other resizes, and for
    moves that keep the flavor, Nova selects a host.

    :param spec: RequestSpec of the move
    :param host_manager: Nova's HostManager
    :returns: VRTHold
    """
    try:
        reservation = VRTHold.find_reservation(context, spec.instance_uuid)
        if reservation is None:
            return None
        group = VRTGroup.find_by_id(context, reservation.group_id)
        member = VRTMember.find_by_id(context, reservation.resize_member_id)
        if None in (group, member):
            # They were removed since the reservation was read.
            return None
        # The group's expiry does not end a reservation to unshelve.
        is_valid = (
            member.status == states.Member.SHELVED or not group.has_expired
        )
        if is_valid and _is_as_held(
            context, member, reservation, spec, host_manager
        ):
            return reservation
    except database_errors.ANY:
        LOG.exception(
            'The resize reservation of server %s could not be read; Nova '
            'selects its host.',
            spec.instance_uuid,
        )
    return None


def _is_as_held(context, member, reservation, spec, host_manager):
    """Check whether a request equals what a reservation is held for.

    A resize makes a server what its member describes; a shelved server returns
    as it was, and must not take what is held for a resize.
    """
    request = member.resolved_request
    if member.status == states.Member.SHELVED:
        request = member.current_request
    return _requested_amounts(
        context, request, spec, host_manager
    ) == own_capacity.total_amounts(reservation.allocations)


def _requested_amounts(context, request, spec, host_manager):
    """Return {resource: amount} of a spec; None unless it is as resolved.

    :param request: resolved request that the spec has to be equal to
    """
    resolved_spec = request_specs.make_spec(
        context, request, spec.project_id, spec.user_id
    )
    try:
        resolved, requested = (
            request_specs.placement_request(
                context, each, host_manager, is_compared=True
            )
            # Nova's request filters change a spec; the caller needs it.
            for each in (resolved_spec, copy.deepcopy(spec))
        )
    except nova_exc.NoValidHost:
        return None
    if not request_specs.are_equal(resolved, requested):
        return None
    return requested.merged_resources()


def claim(
    context, placement_client, reservation, server_uuid, project_id, user_id
):
    """Transfer the capacity of a reservation to its server.

    :param reservation: VRTHold
    :returns: whether the server owns the capacity; False if the reservation
        was changed meanwhile
    :raises: Refused if it is lost, or its state unknown
    """
    if not _reserve(context, reservation, server_uuid):
        return False
    body = bodies.for_server(reservation, project_id, user_id)
    outcome = redeem.transfer_one(
        context,
        placement_client,
        server_uuid,
        reservation,
        body,
        fills_again=False,
    )
    if not outcome.is_final:
        # follow_reservations() resolves that.
        raise Refused(reason=STATE_UNKNOWN)
    is_redeemed = outcome == redeem.Outcome.TRANSFERRED
    _close(context, reservation, is_redeemed)
    if not is_redeemed:
        raise Refused(reason=redeem.IS_LOST)
    return True


def _reserve(context, reservation, server_uuid):
    """Set a reservation to REDEEMING; return False if it was changed."""
    try:
        return redeems.redeem_reservation(context, reservation, server_uuid)
    except database_errors.ANY as exc:
        LOG.exception(
            'The state of resize reservation %s is unknown; the move is '
            'refused.',
            reservation.uuid,
        )
        raise Refused(reason=STATE_UNKNOWN) from exc


def _close(context, reservation, is_redeemed):
    """Store the outcome of the transfer."""
    try:
        redeems.end_reservation(context, reservation, is_redeemed)
    except database_errors.ANY:
        LOG.exception(
            'The result of resize reservation %s could not be stored; the '
            'reaper resolves it.',
            reservation.uuid,
        )
