# SPDX-License-Identifier: Apache-2.0
"""The end of a hold: Placement has nothing for it.

Its row is kept as a tombstone. A request that was sent long ago may fill it
once more: of those for which that is possible it is looked after.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.objects import hold_search
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.look import servers

LOG = logging.getLogger(__name__)

Fate = servers.Fate

# Seconds after which no request can still be on its way to Placement, but for
# one of a process that has stopped.
REQUEST_LIFETIME = 120


def empty(context, ledger, holds):
    """Empty holds; what cannot be done now does not stop the others.

    :param holds: VRTHolds; those in other states than RELEASING stay
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
    """Look whether late requests have filled what owns nothing.

    That is a hold which has ended, and the server which was to redeem it, if
    Nova has given that up.

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
    """Return the uuids of the servers that Nova will not build, or run.

    One that Nova knows nothing of may only be on its way there.
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
        if server.fate in (Fate.DELETED, Fate.UNSCHEDULED)
        or (
            server.fate == Fate.UNKNOWN_TO_NOVA
            and ages[uuid] >= CONF.vrt.unknown_server_deadline
        )
    }


def _empty_late(context, ledger, consumer):
    if ledger.allocations(context, consumer):
        LOG.warning('Consumer %s was filled late.', consumer)
        ledger.empty_consumer(context, consumer)
