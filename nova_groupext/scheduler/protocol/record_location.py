# SPDX-License-Identifier: Apache-2.0
"""Update of a member's rows to the present location of its server.

The scheduler stores a move that it has chosen before the move begins. A move
that was forced past the scheduler is found and stored here. Both end when the
server rests on a host. A policy violation there is shown as drift.
"""

from oslo_log import log as logging

from nova_groupext import faultpoints
from nova_groupext.db import database_errors
from nova_groupext.objects import relocation
from nova_groupext.objects import states
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.protocol import ownership

LOG = logging.getLogger(__name__)

SHELVED = {'status': states.Member.SHELVED}


def follow(context, ledger, member, hold, moves, server):
    """Update the rows of a member to the present location of its server.

    :param hold: VRTHold in state REDEEMED; None for a SHELVED member
    :param moves: VRTMoves that were read before the server was
    :param server: servers.Server
    """
    is_away = server.is_shelved and server.host is None
    if is_away and hold is not None:
        # Also while it is being unshelved: it has lost its former capacity.
        ownership.end(context, hold, member, SHELVED)
    if server.is_moving:
        _note(context, member, [hold, *moves], server)
        return
    if not is_away and (
        server.host is None
        or not _rest(context, ledger, member, hold, moves, server)
    ):
        return
    relocation.end_growth(context, member, moves)
    VRTMove.forget(context, moves)


def _note(context, member, rows, server):
    """Store a move to a host that the scheduler has not chosen."""
    is_known = any(row is not None and _is_there(row, server) for row in rows)
    if server.host is None or is_known:
        return
    move = VRTMove(
        group_id=member.group_id,
        member_id=member.id,
        server_uuid=member.server_uuid,
        host=server.host,
        node=server.node,
    )
    relocation.begin_move(context, move)


def _rest(context, ledger, member, hold, moves, server):
    """Store the host on which a member's server rests.

    :returns: whether the rows say where the server is
    """
    if hold is None and member.status != states.Member.SHELVED:
        return False
    has_grown = _has_grown(member, server)
    if hold is not None and _is_there(hold, server) and not has_grown:
        return True
    # The redeemed amounts are what a replacement needs, whatever flavor the
    # server was resized to; unless that is the flavor in the definition.
    source = None if has_grown else hold
    there = seat(context, ledger, member, source, server)
    if there is None:
        return False
    with faultpoints.around('moving.follow'):
        is_followed = relocation.follow(
            context, member, hold, there, moves, has_grown=has_grown
        )
    if not is_followed:
        return False
    LOG.info(
        'Member %(member)s is on %(host)s now, with server %(server)s.',
        {
            'member': member.path,
            'host': server.host,
            'server': member.server_uuid,
        },
    )
    return True


def _has_grown(member, server):
    """Check whether a server was resized to the flavor in the definition."""
    if member.server_flavor is None:
        return False
    described = member.request['flavor']['nova_object.data']
    return server.flavor == described['id']


def _is_there(row, server):
    return (row.host, row.node) == (server.host, server.node)


def seat(context, ledger, member, hold, server):
    """Return a server's location as a plan entry, or None if it is unknown.

    :param hold: VRTHold with the amounts of the entry; None to take the
        server's own allocation
    :param server: servers.Server that is on a host
    :returns: dict in the form of a value of VRTPlan.placement
    """
    try:
        node = hosts.compute_node(context, server.host, server.node)
    except database_errors.ANY:
        LOG.exception('It is not known what host %s is.', server.host)
        return None
    if node is None:
        return None
    if hold is None:
        has = ledger.allocations(context, member.server_uuid)
    else:
        has = hold.allocations
    return {
        'host': server.host,
        'node': server.node,
        'provider': node.uuid,
        'allocations': {node.uuid: {'resources': own_capacity.total(has)}},
        'mappings': {'': [node.uuid]},
        'domains': {
            'host': server.node,
            **hosts.domains_now(context, server.host),
        },
    }
