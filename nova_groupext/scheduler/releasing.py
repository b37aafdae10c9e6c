# SPDX-License-Identifier: Apache-2.0
"""Step 7, release: what was given up goes back to everybody.

What to give back is read from the members' states, which the API or an
expiry has changed before; doing it twice, or later, does the same.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold

LOG = logging.getLogger(__name__)


def release(context, group, ledger):
    """Empty the holds of released members; forget a group that was deleted.

    What cannot be done now is done by the reaper.
    """
    if group.status in states.HOLDS_NOTHING:
        for hold in VRTHold.list_by_group(context, group.id):
            empty(context, hold, ledger)
        return
    if group.status == states.Group.RELEASING:
        group.give_up(context)
    over = {
        member.id for member in group.members if member.status in states.OVER
    }
    for hold in VRTHold.list_by_group(context, group.id):
        if hold.member_id in over and hold.status != states.Hold.REDEEMED:
            empty(context, hold, ledger)
    if group.status == states.Group.RELEASING:
        _forget(context, group)


def empty(context, hold, ledger):
    """Empty one hold; what cannot be done now does not stop the others."""
    try:
        ledger.empty(context, hold)
    except (exception.HoldFailed, exception.PlacementUnavailable):
        LOG.exception('Hold %s could not be emptied yet.', hold.uuid)


def _forget(context, group):
    """Remove the rows, unless something is still held or under way."""
    holds = VRTHold.list_by_group(context, group.id)
    if any(hold.status != states.Hold.REDEEMED for hold in holds):
        return
    for hold in holds:
        hold.destroy(context)
    group.destroy(context)
