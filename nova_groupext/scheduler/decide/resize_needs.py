# SPDX-License-Identifier: Apache-2.0
"""Comparison of a group's holds and servers with what its draft needs."""

import dataclasses

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.nova import request_specs


@dataclasses.dataclass(frozen=True)
class ResizeNeeds:
    """Holds that may stay and servers to be resized in a revision.

    :ivar unchanged: {path: VRTHold} of members whose hold or reservation is
        exactly what they need
    :ivar resizing: {path: id of its server's host} of the servers that are to
        be resized
    """

    unchanged: dict[str, VRTHold]
    resizing: dict[str, str]


NO_NEEDS = ResizeNeeds(unchanged={}, resizing={})


def find_resize_needs(
    context,
    placement_client,
    group,
    draft,
    current,
    snapshot,
    *,
    is_replacement,
):
    """Return the ResizeNeeds of a draft.

    :param group: VRTGroup that is revised
    :param current: its current_holds.CurrentHolds
    :param snapshot: snapshot.Snapshot for the draft
    :param is_replacement: whether to add no reservations for resizes
    :raises: GenerationConflict when a member with a changed request is being
        redeemed
    :raises: MemberStateConflict when a member with a changed request is
        shelved
    """
    drafted = {member.path: member for member in draft.members}
    needs = ResizeNeeds(unchanged={}, resizing={})
    for member in [each for each in group.members if each.path in drafted]:
        path = member.path
        is_same = _are_same(member, drafted[path])
        if not is_same:
            _check_can_change(group, member, drafted[path])
        request = snapshot.class_of_member(path).request
        if unchanged := _unchanged_hold(
            member, drafted[path], current, is_same, request
        ):
            needs.unchanged[path] = unchanged
        elif _may_be_resized(member, drafted[path], current, is_replacement):
            _compare_server(
                *(context, placement_client, member, current, needs, is_same),
                request,
            )
    return needs


def _unchanged_hold(member, drafted, current, is_same, request):
    """Return the hold or reservation that a member keeps for sure, or None.

    :param drafted: the same member in the draft; it has a request of its own
        if it is for a server of a former description
    :param is_same: whether the draft describes it as before
    :param request: {resource: amount} of the member in the draft
    """
    path = member.path
    if path in current.held:
        is_kept = (
            is_same
            and path not in current.servers
            and drafted.server_request == member.server_request
        )
        return current.held[path] if is_kept else None
    reservation = current.reservations.get(path)
    if member.status == states.Member.SHELVED and _is_for(
        reservation, request
    ):
        return reservation
    return None


def _is_for(reservation, request):
    """Check whether a reservation, if there is any, has requested amounts.

    That of a server to be resized is not what the server needs to return.
    """
    return reservation is not None and (
        own_capacity.total_amounts(reservation.allocations) == request
    )


def _are_same(member, drafted):
    """Check whether a draft leaves the request of a member as it is."""
    before, after = (
        request_specs.key(each.resolved_request) for each in (member, drafted)
    )
    return before == after


def _may_be_resized(member, drafted, current, is_replacement):
    """Check whether a member's server may need another allocation.

    Nova resizes no server to its own flavor, also if that was changed since.
    """
    path = member.path
    if path in current.held or path not in current.servers:
        return False
    if is_replacement and path not in current.reservations:
        return False
    return _is_other_flavor(member.current_request, drafted)


def _is_other_flavor(request, drafted):
    """Check whether a drafted member has another flavor than a request."""
    return request['flavor_id'] != drafted.resolved_request['flavor_id']


def _check_can_change(group, member, drafted):
    """Raise if the request of a member cannot be changed now."""
    if member.status == states.Member.REDEEMING:
        raise exception.GenerationConflict(group=group.uuid)
    is_resized = _is_other_flavor(member.resolved_request, drafted)
    if member.status == states.Member.SHELVED and is_resized:
        raise exception.MemberStateConflict(
            member=member.path,
            status=member.status,
            reason='unshelve its server before you change the flavor',
        )


def _compare_server(
    context, placement_client, member, current, needs, is_same, request
):
    """Compare a server's allocations and reservation with its request.

    :param is_same: whether the draft describes the member as before
    :param request: {resource: amount} of the member in the draft
    """
    path = member.path
    owned = own_capacity.total_amounts(
        placement_client.allocations(context, member.server_uuid)
    )
    if owned == request:
        return
    needs.resizing[path] = current.servers[path].node
    reservation = current.reservations.get(path)
    if is_same and _is_for(reservation, request):
        needs.unchanged[path] = reservation


def with_flavors(draft, group, paths):
    """Return the drafted members to be resized, with their present flavors.

    :param paths: of these members
    """
    drafted = {member.path: member for member in draft.members}
    return [
        drafted[member.path].with_server_of(member)
        for member in group.members
        if member.path in paths
    ]
