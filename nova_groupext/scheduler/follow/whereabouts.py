# SPDX-License-Identifier: Apache-2.0
"""Where a member's server is now: the rows follow it.

A move that the scheduler has decided is written down before it begins; one
that was forced past it is found here. Either ends when the server rests on a
host. Where that breaks a policy, it is shown as drift.
"""

from oslo_log import log as logging

from nova_groupext import faultpoints
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import relocation
from nova_groupext.objects import states
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import own_room

LOG = logging.getLogger(__name__)

SHELVED = {'status': states.Member.SHELVED}


def follow(context, ledger, member, hold, moves, server):
    """Let the rows say where a server is.

    :param hold: VRTHold in state REDEEMED; None for a SHELVED member
    :param moves: VRTMoves that were known of before the server was asked about
    :param server: servers.Server
    """
    if server.is_moving:
        _note(context, member, [hold, *moves], server)
        return
    if server.is_shelved:
        if hold is not None:
            ownership.end(context, hold, member, SHELVED)
    elif server.host is None or not _rest(
        context, ledger, member, hold, moves, server
    ):
        return
    relocation.end_growth(context, member)
    VRTMove.forget(context, moves)


def _note(context, member, rows, server):
    """Remember a place that the scheduler has not chosen."""
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
    """Let a member's place be where its server rests.

    :returns: whether it is
    """
    if hold is None and member.status != states.Member.SHELVED:
        return False
    has_grown = _has_grown(member, server)
    if hold is not None and _is_there(hold, server) and not has_grown:
        return True
    # What it has redeemed tells what another server would need, be this one
    # resized to whatever; but not if it was resized as described.
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
    """Tell whether a server has been resized to what is described."""
    if member.server_flavor is None:
        return False
    described = member.request['flavor']['nova_object.data']
    return server.flavor == described['id']


def _is_there(row, server):
    return (row.host, row.node) == (server.host, server.node)


def seat(context, ledger, member, hold, server):
    """Return where a server is, as a plan says it; None if nobody knows.

    :param hold: VRTHold that tells what is held again for another server;
        None for what the server has now
    :param server: servers.Server that is on a host
    """
    try:
        node = hosts.compute_node(context, server.host, server.node)
    except db_errors.ANY:
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
        'allocations': {node.uuid: {'resources': own_room.total(has)}},
        'mappings': {'': [node.uuid]},
        'domains': {
            'host': server.node,
            **hosts.domains_now(context, server.host),
        },
    }
