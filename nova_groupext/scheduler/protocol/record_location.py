# SPDX-License-Identifier: Apache-2.0
"""Update of a member's rows to the host, flavor and image of its server.

The scheduler stores a move that it has chosen before the move begins. A move
that was forced past the scheduler is found and stored here. Both end when the
server rests on a host. A policy violation there is shown as drift.

A server that was resized or rebuilt as its member is described is not pending
any more; with an image that requires something else of hosts it is pending.
"""

from collections.abc import Sequence
from typing import NamedTuple

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext import faultpoints
from nova_groupext.db import database_errors
from nova_groupext.db import models
from nova_groupext.objects import move_transitions
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member_placement import MemberPlacement
from nova_groupext.objects.member_set import are_alike
from nova_groupext.objects.member_set import image_needs
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import release_holds

LOG = logging.getLogger(__name__)

# {(server, id of its image): ImageMeta} of those whose member has another one
_images = {}
MAX_IMAGES = 10_000

SHELVED = {'status': states.Member.SHELVED}


class Rows(NamedTuple):
    """Stored data of a server, read before the server itself.

    :ivar hold: VRTHold in state REDEEMED; None for a SHELVED member
    :ivar moves: its VRTMoves
    :ivar has_moved: whether it has redeemed a reservation
    """

    hold: VRTHold | None
    moves: Sequence[VRTMove] = ()
    has_moved: bool = False


def read_rows(context, members):
    """Return {member id: Rows} of some members."""
    ids = [member.id for member in members]
    hold_of = VRTHold.redeemed_by_member(context, ids)
    moves_of = VRTMove.by_member(context, ids)
    moved = VRTHold.moved_members(context, ids)
    return {
        each: Rows(hold_of.get(each), moves_of.get(each, ()), each in moved)
        for each in ids
    }


def record(context, placement_client, member, rows, server):
    """Update the rows of a member to the present location of its server.

    :param rows: Rows, read before the server: a move whose server is not
        moving has ended
    :param server: servers.Server
    """
    hold, moves = rows.hold, rows.moves
    is_offloaded = server.is_offloaded
    if is_offloaded and hold is not None:
        # Also while it is being unshelved: it has lost its former capacity.
        ownership.end(context, hold, member, SHELVED)
    if server.is_moving:
        _record_unplanned_move(context, member, [hold, *moves], server)
        return
    if not is_offloaded and (
        server.host is None
        or not _record_host(
            context, placement_client, member, hold, moves, server
        )
    ):
        return
    _record_image(context, member, server)
    if rows.has_moved:
        if is_offloaded:
            # Its unshelve has failed, or ended with its scheduler.
            release_holds.empty_shelved(
                context, placement_client, member.server_uuid
            )
        move_transitions.release_redeemed_reservation(context, member, moves)
    VRTMove.delete_all(context, moves)


def _record_unplanned_move(context, member, rows, server):
    """Store a move to a host that the scheduler has not chosen."""
    is_recorded = any(
        row is not None and _is_there(row, server) for row in rows
    )
    if server.host is None or is_recorded:
        return
    move = VRTMove(
        group_id=member.group_id,
        member_id=member.id,
        server_uuid=member.server_uuid,
        host=server.host,
        node=server.node,
    )
    move_transitions.start_move(context, move)


def _record_host(context, placement_client, member, hold, moves, server):
    """Store the host on which a member's server rests.

    :returns: whether the rows say where the server is
    """
    if hold is None and member.status != states.Member.SHELVED:
        return False
    is_resized = _is_resized(member, server)
    if hold is not None and _is_there(hold, server) and not is_resized:
        return True
    # The redeemed amounts are what a replacement needs, whatever flavor the
    # server was resized to; unless that is the flavor in the definition.
    source = None if is_resized else hold
    placement = placement_of(context, placement_client, member, source, server)
    if placement is None:
        return False
    with faultpoints.around('moving.store_location'):
        is_stored = move_transitions.store_location(
            context, member, hold, placement, moves, is_resized=is_resized
        )
    if not is_stored:
        return False
    LOG.info(
        'Server %(server)s of member %(member)s is now on host %(host)s.',
        {
            'member': member.path,
            'host': server.host,
            'server': member.server_uuid,
        },
    )
    return True


def _is_resized(member, server):
    """Check whether a server was resized to the flavor in the definition."""
    if not member.has_other_flavor:
        return False
    flavor = member.resolved_request['flavor']['nova_object.data']
    return server.flavor == flavor['id']


def _record_image(context, member, server):
    """Store that a server was rebuilt with another image."""
    present, described = member.current_request, member.resolved_request
    if present['is_bfv'] or server.image == present['image_id']:
        return
    image = {'image': described['image'], 'image_id': described['image_id']}
    if server.image != described['image_id']:
        own = _image(context, member.server_uuid, server.image)
        # Without an image the server is gone: the next round follows that.
        if own is None or image_needs(own) == image_needs(present['image']):
            return
        if image_needs(own) != image_needs(described['image']):
            image = {'image': own, 'image_id': server.image}
    rebuilt = {**present, **image}
    is_pending = not are_alike(rebuilt, described)
    member.update_row(
        context,
        models.Member.server_uuid == member.server_uuid,
        server_request=rebuilt if is_pending else None,
    )


def _image(context, server_uuid, image_id):
    """Return the ImageMeta of a server, which Nova is asked for once.

    :returns: None if the server is gone
    """
    key = server_uuid, image_id
    if key not in _images:
        if len(_images) == MAX_IMAGES:
            _images.clear()
        try:
            _images[key] = servers.read_image(context, server_uuid)
        except nova_exc.NotFound:
            return None
    return _images[key]


def _is_there(row, server):
    return (row.host, row.node) == (server.host, server.node)


def placement_of(context, placement_client, member, hold, server):
    """Return a server's MemberPlacement, or None if its host is unknown.

    :param hold: VRTHold with its amounts; None to take the server's own
        allocation
    :param server: servers.Server that is on a host
    """
    try:
        node = hosts.compute_node(context, server.host, server.node)
    except database_errors.ANY:
        LOG.exception(
            'The compute node of host %s could not be read; its server is '
            'skipped.',
            server.host,
        )
        return None
    if node is None:
        return None
    if hold is None:
        allocations = placement_client.allocations(context, member.server_uuid)
    else:
        allocations = hold.allocations
    amounts = own_capacity.total_amounts(allocations)
    return MemberPlacement(
        host=server.host,
        node=server.node,
        provider=node.uuid,
        allocations={node.uuid: {'resources': amounts}},
        mappings={'': [node.uuid]},
        domains={
            'host': server.node,
            **host_domains.find(context, server.host),
        },
    )
