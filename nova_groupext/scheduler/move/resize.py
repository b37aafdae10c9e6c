# SPDX-License-Identifier: Apache-2.0
"""Claim of resize reservations: holds to resize or unshelve a server.

At this time Nova has moved the allocations of a server that is resized to its
migration, and a shelved server has none, so the server's own uuid is free as a
consumer. One request swaps the reservation for the server's allocation on the
same host. From then on it is a move like any other.

A revision has held what a resize needs. For an unshelve in an exclusive group
a planner is asked for a reservation now: only the group's own hosts have
capacity for it.
"""

import copy

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.redeem import replacement_request
from nova_groupext.scheduler.redeem import reserve

LOG = logging.getLogger(__name__)


NOT_KNOWN = (
    'Placement did not say what became of the room that is held for the '
    'server; that will be found out'
)
NONE_IS_HELD = (
    'it is shelved, and its group is to be alone on its hosts: room has to be '
    'made for it first'
)
HOST_REFUSED = "the host that was found for it does not pass Nova's filters"


class Refused(nova_exc.NoValidHost):
    """Refusal of a move that must not try another host."""


def rooms(context, pointed, spec, host_manager):
    """Yield reservations for a server that moves, one after the other.

    The caller asks for another one after a host was refused.

    :param pointed: pointer.Pointer of the server
    :param spec: RequestSpec of the move
    :param host_manager: Nova's HostManager
    :returns: iterator of VRTHolds
    :raises: nova.exception.NoValidHost if a shelved server finds none
    """
    reservation = find(context, spec, host_manager)
    if reservation is not None:
        yield reservation
    path = _shelved(context, pointed, spec.instance_uuid)
    search = path and replacement_request.ReplacementRequest(
        context, pointed.group, 'it stays shelved'
    )
    why = NONE_IS_HELD
    while path:
        search.find({path: reservation and reservation.node}, why)
        reservation, why = find(context, spec, host_manager), HOST_REFUSED
        if reservation is None:
            raise reserve.refusal(path, NONE_IS_HELD)
        yield reservation


def _shelved(context, pointed, server_uuid):
    """Return the member's path if it needs a reservation to be unshelved."""
    try:
        group, member = destinations.find(context, pointed, server_uuid)
        if (
            member is not None
            and member.status == states.Member.SHELVED
            and exclusive_hosts.keeps(group, member.path)
        ):
            return member.path
    except database_errors.ANY:
        LOG.exception(
            'Whether server %s needs room is not known.', server_uuid
        )
    return None


def find(context, spec, host_manager):
    """Return the reservation to resize or unshelve a server, or None.

    Only if the request equals the member's description: for other resizes, and
    for moves that keep the flavor, Nova selects a host.

    :param spec: RequestSpec of the move
    :param host_manager: Nova's HostManager
    :returns: VRTHold
    """
    try:
        reservation = VRTHold.get_reservation(context, spec.instance_uuid)
        if reservation is None:
            return None
        group = VRTGroup.brief(context, reservation.group_id)
        member = VRTMember.find_by_id(context, reservation.resize_member_id)
        if None in (group, member):
            # They were removed since the reservation was read.
            return None
        # The group's expiry does not end a reservation to unshelve.
        counts = (
            member.status == states.Member.SHELVED or not group.has_expired
        )
        if counts and _is_wanted(context, member, spec, host_manager):
            return reservation
    except database_errors.ANY:
        LOG.exception(
            'Whether room is held for server %s is not known.',
            spec.instance_uuid,
        )
    return None


def _is_wanted(context, member, spec, host_manager):
    described = request_specs.spec_for(
        context, member, spec.project_id, spec.user_id
    )
    try:
        wanted, asked = (
            request_specs.placement_request(context, each, host_manager)
            # Nova's request filters change a spec; the caller needs it.
            for each in (described, copy.deepcopy(spec))
        )
    except nova_exc.NoValidHost:
        return False
    return request_specs.asks_for_the_same(wanted, asked)


def claim(context, ledger, reservation, server_uuid, project_id, user_id):
    """Swap a reservation for its server's allocation.

    :param ledger: PlacementClient
    :param reservation: VRTHold
    :returns: whether the server owns the capacity; False if the reservation
        was changed meanwhile
    :raises: Refused if it is lost, or its state unknown
    """
    try:
        if not transitions.redeem_reservation(
            context, reservation, server_uuid
        ):
            return False
    except database_errors.ANY as exc:
        LOG.exception(
            'Whether growth %s is reserved is open.', reservation.uuid
        )
        raise Refused(reason=NOT_KNOWN) from exc
    body = ledger.of_server(reservation, project_id, user_id)
    outcome = redeem.swap_one(
        context, ledger, server_uuid, reservation, body, refills=False
    )
    if outcome == redeem.Outcome.OPEN:
        # follow_reservations() resolves that.
        raise Refused(reason=NOT_KNOWN)
    is_redeemed = outcome == redeem.Outcome.SWAPPED
    try:
        transitions.end_reservation(context, reservation, is_redeemed)
    except database_errors.ANY:
        LOG.exception(
            'What became of growth %s is found out.', reservation.uuid
        )
    if not is_redeemed:
        raise Refused(reason=redeem.IS_LOST)
    return True
