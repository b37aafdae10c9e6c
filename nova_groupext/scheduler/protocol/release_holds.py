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
from nova_groupext.objects import hold_search
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.nova import servers

LOG = logging.getLogger(__name__)

ServerOutcome = servers.ServerOutcome

# Seconds after which no request can still be on its way to Placement, unless
# its process was suspended.
REQUEST_LIFETIME = 120


def empty(context, ledger, holds):
    """Empty RELEASING holds; an error with one does not stop the others.

    :param holds: VRTHolds; those in other states are ignored
    """
    for hold in holds:
        if hold.status == states.Hold.RELEASING:
            _empty(context, ledger, hold)


def _empty(context, ledger, hold):
    try:
        if hold.lost:
            ledger.sweep(context, hold.uuid, hold)
        else:
            ledger.empty(context, hold)
    except exception.PlacementUnavailable:
        LOG.exception('Hold %s could not be emptied yet.', hold.uuid)
        return
    with faultpoints.around('release.forget'):
        hold.release(context)


def watch(context, ledger):
    """Empty consumers that late requests have filled.

    These are the consumers of watched holds that are REDEEMED or RELEASED, and
    of the servers of RELEASED holds, if Nova will not build or run them.

    :raises: PlacementUnavailable
    """
    due = VRTHold.list_to_watch(context)
    ended = [hold for hold in due if hold.status == states.Hold.RELEASED]
    given_up = _given_up(context, ended)
    for hold in due:
        if hold.status in (states.Hold.REDEEMED, states.Hold.RELEASED):
            _empty_late(context, ledger, hold.uuid)
        if hold.server_uuid in given_up:
            if hold.lost:
                ledger.sweep(context, hold.server_uuid, hold)
            _empty_late(context, ledger, hold.server_uuid)
        hold.note_look(context)


def _given_up(context, holds):
    """Return the uuids of the servers that Nova will not build or run.

    A server unknown to Nova counts after `unknown_server_deadline` seconds
    only: it may still be on its way.
    """
    ages = {
        hold.server_uuid: hold_search.WATCHES[hold.looks]
        for hold in holds
        if hold.server_uuid
    }
    found = servers.read(context, [*ages])
    return {
        uuid
        for uuid, server in found.items()
        if server.fate in (ServerOutcome.DELETED, ServerOutcome.UNSCHEDULED)
        or (
            server.fate == ServerOutcome.UNKNOWN_TO_NOVA
            and ages[uuid] >= CONF.vrt.unknown_server_deadline
        )
    }


def _empty_late(context, ledger, consumer):
    if ledger.allocations(context, consumer):
        LOG.warning('Consumer %s was filled late.', consumer)
        ledger.empty_consumer(context, consumer)
