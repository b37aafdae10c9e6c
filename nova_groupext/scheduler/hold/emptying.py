# SPDX-License-Identifier: Apache-2.0
"""The end of a hold: Placement has nothing for it, and it is forgotten."""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states

LOG = logging.getLogger(__name__)

# Seconds after which no request can still be on its way to Placement.
REQUEST_LIFETIME = 120


def empty(context, ledger, holds):
    """Empty holds; what cannot be done now does not stop the others.

    They are forgotten when no request can come that fills them again.

    :param holds: VRTHolds; those in other states than LEAVING stay
    """
    for hold in holds:
        if hold.status == states.Hold.LEAVING:
            _empty(context, ledger, hold)


def _empty(context, ledger, hold):
    try:
        ledger.empty(context, hold)
    except exception.PlacementUnavailable:
        LOG.exception('Hold %s could not be emptied yet.', hold.uuid)
        return
    if hold.is_answered or hold.is_older_than(context, REQUEST_LIFETIME):
        with faultpoints.around('release.forget'):
            hold.destroy(context)
