# SPDX-License-Identifier: Apache-2.0
"""Release: a RELEASING hold is emptied in Placement.

1. One request: the hold's consumer is emptied.
2. One transaction: the hold is RELEASED. Its row stays as a tombstone.

After a crash the hold is RELEASING still; the reaper or the planner repeats 1.
A request that was sent long before may fill the consumer after that. Holds for
which this is possible are *watched*: the reaper checks them again later.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.nova import servers

LOG = logging.getLogger(__name__)

ServerOutcome = servers.ServerOutcome

# Seconds after which no request can still be on its way to Placement, unless
# its process was suspended.
REQUEST_LIFETIME = 120


def release(context, placement_client, holds):
    """Empty RELEASING holds; an error with one does not stop the others.

    :param holds: VRTHolds; those in other states are ignored
    """
    for hold in holds:
        if hold.status == states.Hold.RELEASING:
            _release(context, placement_client, hold)


def _release(context, placement_client, hold):
    try:
        if hold.lost:
            placement_client.sweep(context, hold.uuid, hold)
        else:
            placement_client.empty(context, hold.uuid)
    except exception.PlacementUnavailable:
        LOG.exception(
            'Hold %s could not be emptied; the reaper retries it.', hold.uuid
        )
        return
    with faultpoints.around('release.commit'):
        hold.release(context)


def check_watched(context, placement_client):
    """Empty consumers that late requests have filled.

    These are the consumers of watched holds that are REDEEMED or RELEASED, and
    of the servers of RELEASED holds, if Nova will not build or run them.

    :raises: PlacementUnavailable
    """
    due = VRTHold.list_due_checks(context)
    ended = [hold for hold in due if hold.status == states.Hold.RELEASED]
    abandoned = _find_abandoned(context, ended)
    for hold in due:
        if hold.status in (states.Hold.REDEEMED, states.Hold.RELEASED):
            _empty_again(context, placement_client, hold.uuid)
        if hold.server_uuid in abandoned:
            if hold.lost:
                # Two at once could leave it filled: one of them fills it after
                # the other one has emptied it, and dies.
                if not watched_holds.begin_check(
                    context, hold, REQUEST_LIFETIME
                ):
                    continue
                placement_client.sweep(context, hold.server_uuid, hold)
            _empty_again(context, placement_client, hold.server_uuid)
        watched_holds.count_check(context, hold)


def _find_abandoned(context, holds):
    """Return the uuids of the servers that Nova will not build or run.

    A server unknown to Nova counts after `unknown_server_deadline` seconds
    only: it may still be on its way.
    """
    ages = {
        hold.server_uuid: watched_holds.CHECK_DELAYS[hold.checks]
        for hold in holds
        if hold.server_uuid
    }
    by_uuid = servers.read(context, [*ages])
    return {
        uuid
        for uuid, server in by_uuid.items()
        if server.outcome in (ServerOutcome.DELETED, ServerOutcome.UNSCHEDULED)
        or (
            server.outcome == ServerOutcome.UNKNOWN_TO_NOVA
            and ages[uuid] >= CONF.vrt.unknown_server_deadline
        )
    }


def _empty_again(context, placement_client, consumer):
    if placement_client.allocations(context, consumer):
        LOG.warning(
            'Consumer %s was filled by a late request; it is emptied again.',
            consumer,
        )
        placement_client.empty(context, consumer)
