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

    :ivar staying: {path: VRTHold} of members whose hold or reservation is
        exactly what they need
    :ivar growing: {path: id of its server's host} of the servers that are to
        be resized
    """

    staying: dict[str, VRTHold]
    growing: dict[str, str]


def find_resize_needs(
    context, ledger, group, draft, standing, seen, *, is_replan=False
):
    """Return the ResizeNeeds of a draft.

    :param group: VRTGroup that is revised
    :param standing: its current_holds.CurrentHolds
    :param seen: look.Snapshot for the draft
    :param is_replan: whether to add no reservations for resizes
    :raises: GenerationConflict when a member with a changed request is being
        redeemed
    :raises: MemberStateConflict when a member with a changed request is
        shelved
    """
    drafted = {member.path: member for member in draft.members}
    needs = ResizeNeeds(staying={}, growing={})
    for member in group.members:
        path = member.path
        if path not in drafted:
            continue
        is_same = request_specs.key(member) == request_specs.key(drafted[path])
        if path in standing.held:
            if is_same and path not in standing.servers:
                needs.staying[path] = standing.held[path]
        elif member.status == states.Member.REDEEMING and not is_same:
            raise exception.GenerationConflict(group=group.uuid)
        elif member.status == states.Member.SHELVED and not is_same:
            raise exception.MemberStateConflict(
                member=path,
                status=member.status,
                reason='unshelve it before you describe another flavor',
            )
        elif (
            member.status == states.Member.SHELVED
            and path in standing.reservations
        ):
            needs.staying[path] = standing.reservations[path]
        elif path in standing.servers and not (
            (is_same and member.server_flavor is None)
            or (is_replan and path not in standing.reservations)
        ):
            _compare_server(
                *(context, ledger, member, standing, needs),
                seen.class_of_member(path).request,
            )
    return needs


def _compare_server(context, ledger, member, standing, needs, request):
    """Compare a server's allocations and reservation with its request.

    :param request: {resource: amount} of the member in the draft
    """
    path = member.path
    has = own_capacity.total(ledger.allocations(context, member.server_uuid))
    if has == request:
        return
    needs.growing[path] = standing.servers[path].node
    reservation = standing.reservations.get(path)
    if reservation and own_capacity.total(reservation.allocations) == request:
        needs.staying[path] = reservation


def with_flavors(draft, group, growing):
    """Return the drafted members to be resized, with their present flavors.

    :param growing: paths of these members
    """
    has = {
        member.path: member.current_flavor
        for member in group.members
        if member.path in growing
    }
    found = [member for member in draft.members if member.path in growing]
    for member in found:
        member.server_flavor = has[member.path]
    return found
