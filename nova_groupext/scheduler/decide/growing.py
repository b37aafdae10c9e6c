# SPDX-License-Identifier: Apache-2.0
"""Who needs something else than it has, once a group is as it is drafted."""

import dataclasses

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.look import own_room
from nova_groupext.scheduler.look import requests


@dataclasses.dataclass(frozen=True)
class Needs:
    """What a revision has to find places for, and what may stay.

    :ivar staying: {path: VRTHold} of those who need just what they hold, for
        themselves or for a resize
    :ivar growing: {path: id of its server's host} of the servers that are to
        be resized
    """

    staying: dict[str, VRTHold]
    growing: dict[str, str]


def compare(context, ledger, group, draft, standing, seen, *, is_replan=False):
    """Return the Needs of a draft.

    :param group: VRTGroup that is revised
    :param standing: what it has, as standing.Standing
    :param seen: look.Snapshot for the draft
    :param is_replan: whether nothing more than before is held for resizes
    :raises: GenerationConflict for who becomes a server at this moment, as it
        was described before
    :raises: MemberStateConflict for who was shelved meanwhile
    """
    drafted = {member.path: member for member in draft.members}
    needs = Needs(staying={}, growing={})
    for member in group.members:
        path = member.path
        if path not in drafted:
            continue
        is_same = requests.key(member) == requests.key(drafted[path])
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
        elif path in standing.servers and not (
            (is_same and member.server_flavor is None)
            or (is_replan and path not in standing.growths)
        ):
            _compare_server(
                *(context, ledger, member, standing, needs),
                seen.class_of_member(path).request,
            )
    return needs


def _compare_server(context, ledger, member, standing, needs, request):
    """See what the server of a member that is described anew has, and holds.

    :param request: {resource: amount} that it is to have
    """
    path = member.path
    has = own_room.total(ledger.allocations(context, member.server_uuid))
    if has == request:
        return
    needs.growing[path] = standing.servers[path].node
    growth = standing.growths.get(path)
    if growth and own_room.total(growth.allocations) == request:
        needs.staying[path] = growth


def with_flavors(draft, group, growing):
    """Return the drafted members that are to grow, each with what it has.

    :param growing: paths of theirs
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
