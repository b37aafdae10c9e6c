# SPDX-License-Identifier: Apache-2.0
"""Follow-up of reservations to resize or unshelve servers."""

import contextlib

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.nova import service_states
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.placement.changed_providers import (
    ChangedProviders,
)
from nova_groupext.scheduler.protocol import hold_again
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import redeem


def follow_reservations(context, placement_client, leases, changes=None):
    """Compare reservations with servers, hosts and Placement.

    :param changes: ChangedProviders, to read only what has changed
    """
    changes = changes or ChangedProviders()
    reservations = VRTHold.list_reservations(context)
    members = {
        member.id: member
        for member in VRTMember.list_by_ids(
            context,
            [reservation.resize_member_id for reservation in reservations],
        )
    }
    gone = set()
    with availability.skip_unavailable('hosts of resize reservations'):
        gone = service_states.out_of_service(
            context, {(each.host, each.provider_uuid) for each in reservations}
        )
    for reservation in reservations:
        if reservation.resize_member_id not in members:
            # Its group was removed since the reservations were read.
            continue
        with availability.isolate(f'resize reservation {reservation.uuid}'):
            member = members[reservation.resize_member_id]
            _follow(
                *(context, placement_client, leases, reservation),
                _end_reason(reservation, member, gone),
                changes,
            )
    _end_overdue(context, placement_client)


def _follow(context, placement_client, leases, reservation, reason, changes):
    """Compare a reservation with Placement, or end it for a reason."""
    key, providers = reservation.uuid, [*reservation.allocations]
    if reason is None and not changes.are_due(key, providers):
        return
    if reason is None and overcommitment.overcommitted_holds(
        context, placement_client, [reservation]
    ):
        reason = overcommitment.FAULT
    if reason is not None:
        ownership.end_reservation(context, reservation, reason)
    elif (
        placement_client.allocations(context, reservation.uuid)
        != reservation.allocations
    ):
        with (
            hold_again.lease_if_changed(
                context, placement_client, leases, reservation
            ) as lease,
            contextlib.suppress(exception.GenerationConflict),
        ):
            if lease is not None:
                hold_again.hold_again(
                    context, placement_client, lease, reservation
                )
    else:
        changes.mark_consistent(key, providers)


def _end_reason(reservation, member, gone):
    """Return why a reservation has to end; None if it is kept.

    :param gone: result of service_states.out_of_service()
    """
    if member.status != states.Member.SHELVED and (
        member.status != states.Member.ACTIVE or not member.has_other_flavor
    ):
        return 'there is no server to resize or unshelve'
    if (reservation.host, reservation.provider_uuid) in gone:
        return 'its host was taken out of service'
    return None


def _end_overdue(context, placement_client):
    """End or resolve reservations that no process works on any more."""
    seconds = redeem.OVERDUE_FACTOR * CONF.rpc_response_timeout
    for reservation in VRTHold.list_unused_unshelves(context, seconds):
        ownership.end_reservation(
            context, reservation, 'its server was not unshelved'
        )
    for reservation in VRTHold.list_left_reservations(context, seconds):
        if reservation.status == states.Hold.REDEEMED:
            redeems.release_left_reservation(context, reservation)
            continue
        with availability.isolate(f'resize reservation {reservation.uuid}'):
            owned = placement_client.allocations(
                context, reservation.server_uuid
            )
            redeems.end_reservation(
                context, reservation, owned == reservation.allocations
            )
