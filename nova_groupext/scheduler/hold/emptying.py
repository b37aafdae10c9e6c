# SPDX-License-Identifier: Apache-2.0
"""The end of a hold: Placement has nothing for it.

Its row is kept as a tombstone. A request that was sent long ago may fill it
once more: of those for which that is possible it is looked after.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold

LOG = logging.getLogger(__name__)

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
        ledger.empty(context, hold)
    except exception.PlacementUnavailable:
        LOG.exception('Hold %s could not be emptied yet.', hold.uuid)
        return
    with faultpoints.around('release.forget'):
        hold.release(context)


def watch(context, ledger):
    """Look whether late requests have filled holds that own nothing.

    :raises: PlacementUnavailable
    """
    for hold in VRTHold.list_to_watch(context):
        if hold.status in (states.Hold.REDEEMED, states.Hold.RELEASED):
            if ledger.allocations(context, hold.uuid):
                LOG.warning('Hold %s was filled late.', hold.uuid)
            ledger.empty(context, hold)
        hold.note_look(context)
