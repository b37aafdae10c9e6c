# SPDX-License-Identifier: Apache-2.0
"""Release: RELEASING holds are emptied in Placement, some at once.

1. One request: the holds' consumers are emptied, as they were filled once. If
   Placement refuses that, each is read and emptied by itself.
2. One transaction: the holds are RELEASED. Their rows stay as tombstones.

After a crash the holds are RELEASING still; the reaper or the planner repeats
1, which Placement may refuse because they are empty.
A request that was sent long before may fill the consumer after that. Holds for
which this is possible are *watched*: the reaper checks them again later.
"""

import itertools

from oslo_log import log as logging

from nova_groupext import chunks
from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.nova import servers

LOG = logging.getLogger(__name__)

ServerOutcome = servers.ServerOutcome

# Seconds after which no request can still be on its way to Placement, unless
# its process was suspended.
REQUEST_LIFETIME = 120

# Number of consumers that one request empties. It needs about as long as that
# many requests would, but one transaction; a larger one would often conflict
# with claims on one of its providers.
EMPTIED_AT_ONCE = 20


def release(context, placement_client, holds, renew=lambda _context: None):
    """Empty RELEASING holds; an error with some does not stop the others.

    :param holds: VRTHolds; those in other states are ignored
    :param renew: called before each request, for instance VRTLease.renew
    """
    releasing = [h for h in holds if h.status == states.Hold.RELEASING]
    lost = [hold for hold in releasing if hold.lost]
    kept = [hold for hold in releasing if not hold.lost]
    for chunk in itertools.chain(
        chunks.chunked(kept, EMPTIED_AT_ONCE), ([hold] for hold in lost)
    ):
        renew(context)
        try:
            _release(context, placement_client, chunk)
        except exception.PlacementUnavailable:
            LOG.exception(
                'Holds could not be emptied; the reaper retries it: %s',
                [hold.uuid for hold in chunk],
            )


def _release(context, placement_client, holds):
    """Release some holds at once, or one by one if Placement refuses that.

    :raises: PlacementUnavailable
    """
    if len(holds) > 1 and not placement_client.empty_all(
        context, [hold.uuid for hold in holds]
    ):
        for hold in holds:
            _release(context, placement_client, [hold])
        return
    if len(holds) == 1:
        [hold] = holds
        if hold.lost:
            placement_client.sweep(context, hold.uuid, hold)
        else:
            placement_client.empty(context, hold.uuid)
    with faultpoints.around('release.commit'):
        VRTHold.release_all(context, holds)


def empty_shelved(context, placement_client, server_uuid):
    """Empty a shelved server, which a failed move may have filled.

    The server is read after its allocation, so what an unshelve fills stays:
    one that has filled it before that is still under way, and one that begins
    later finds the consumer filled.

    :raises: PlacementUnavailable when it is still filled, or unknown
    """

    def has_no_move():
        server = servers.read(context, [server_uuid]).get(server_uuid)
        return server is not None and _is_shelved(server)

    placement_client.empty(context, server_uuid, has_no_move)


def _is_shelved(server):
    return server.is_offloaded and not server.is_moving


def check_watched(context, placement_client):
    """Empty consumers that late requests have filled.

    These are the consumers of watched holds that are REDEEMED or RELEASED, and
    of the servers of RELEASED holds, if they are shelved, or Nova will not
    build or run them. One that cannot be emptied is left to the next round.
    """
    due = VRTHold.list_due_checks(context)
    ended = [hold for hold in due if hold.status == states.Hold.RELEASED]
    abandoned, shelved = _find_unused(context, ended)
    checked = []
    for hold in due:
        with availability.isolate(f'hold {hold.uuid}'):
            if hold.server_uuid in shelved:
                empty_shelved(context, placement_client, hold.server_uuid)
            is_abandoned = hold.server_uuid in abandoned
            if _check_watched(context, placement_client, hold, is_abandoned):
                checked.append(hold)
    watched_holds.count_checks(context, checked)


def _check_watched(context, placement_client, hold, is_abandoned):
    """Empty the consumers of one hold.

    :param is_abandoned: whether its server's consumer is one of them
    :returns: False while another process may fill them
    :raises: PlacementUnavailable
    """
    consumers = []
    if hold.status in (states.Hold.REDEEMED, states.Hold.RELEASED):
        consumers.append(hold.uuid)
    if is_abandoned:
        consumers.append(hold.server_uuid)
    for consumer in consumers:
        _empty_again(context, placement_client, consumer)
    if not (hold.lost and consumers):
        return True
    # Two at once could leave one filled: one of them fills it after the other
    # one has emptied it, and dies.
    if not watched_holds.begin_check(context, hold, REQUEST_LIFETIME):
        return False
    for consumer in consumers:
        placement_client.sweep(context, consumer, hold)
    return True


def _find_unused(context, holds):
    """Return the uuids of the servers that own nothing, as two sets.

    Nova will not build or run those of the first, and has shelved those of the
    second. A server unknown to Nova counts after `unknown_server_deadline`
    seconds only: it may still be on its way.
    """
    ages = {
        hold.server_uuid: watched_holds.CHECK_DELAYS[hold.checks]
        for hold in holds
        if hold.server_uuid
    }
    by_uuid = servers.read(context, [*ages])
    shelved = {uuid for uuid, each in by_uuid.items() if _is_shelved(each)}
    abandoned = {
        uuid
        for uuid, server in by_uuid.items()
        if server.outcome in (ServerOutcome.DELETED, ServerOutcome.UNSCHEDULED)
        or (
            server.outcome == ServerOutcome.UNKNOWN_TO_NOVA
            and ages[uuid] >= CONF.vrt.unknown_server_deadline
        )
    }
    return abandoned, shelved


def _empty_again(context, placement_client, consumer):
    if placement_client.allocations(context, consumer):
        LOG.warning(
            'Consumer %s was filled by a late request; it is emptied again.',
            consumer,
        )
        placement_client.empty(context, consumer)
