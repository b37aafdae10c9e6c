# SPDX-License-Identifier: Apache-2.0
"""Step 7, release: what was given up goes back to everybody.

Whoever gives something up marks its holds as LEAVING, in the transaction that
changes the members. Emptying them in Placement is left to this module; doing
it twice, or later, does the same.
"""

from oslo_log import log as logging
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import stored_hints

LOG = logging.getLogger(__name__)

# Seconds after which no request can still be on its way to Placement.
REQUEST_LIFETIME = 120


def release(context, group, ledger):
    """Empty the holds that leave a group; forget one that was deleted.

    What cannot be done now is done by the reaper.
    """
    if group.status == states.Group.RELEASING:
        with faultpoints.around('release.mark'):
            was_held = transitions.give_up(context, group)
        if was_held:
            notifications.of_group(context, notifications.Event.RELEASE, group)
    give_back(context, group, ledger)
    if group.status == states.Group.RELEASING:
        for draft in VRTGroup.list_releasing(context, of=group):
            release(context, draft, ledger)
        if _point_anew(context, group):
            _forget(context, group)


def give_back(context, group, ledger):
    """Empty the holds that leave a group."""
    for hold in VRTHold.list_by_group(context, group.id, states.Hold.LEAVING):
        leave(context, hold, ledger)


def leave(context, hold, ledger):
    """Empty one hold; what cannot be done now does not stop the others.

    It is forgotten when no request can come that fills it again.

    :param hold: VRTHold in state LEAVING
    """
    if hold.status != states.Hold.LEAVING:
        return
    try:
        ledger.empty(context, hold)
    except exception.PlacementUnavailable:
        LOG.exception('Hold %s could not be emptied yet.', hold.uuid)
        return
    if hold.is_answered or timeutils.is_older_than(
        hold.created_at, REQUEST_LIFETIME
    ):
        with faultpoints.around('release.forget'):
            hold.destroy(context)


def _point_anew(context, group):
    """Let servers that came or went with a draft know whose they are.

    :returns: whether that is for good: a request of Nova's that has read the
        hints of a server before it was adopted may still store them again
    """
    if group.revises_id is None:
        return True
    are_members = False
    for server_uuid in sorted(VRTMember.server_uuids(context, group.id)):
        with faultpoints.around('release.point'):
            are_members |= stored_hints.follow(context, server_uuid)
    return not are_members or timeutils.is_older_than(
        group.updated_at, REQUEST_LIFETIME
    )


def _forget(context, group):
    """Remove the rows, unless something is still held or under way."""

    def work():
        holds = VRTHold.list_by_group(context, group.id)
        is_held = any(hold.status != states.Hold.REDEEMED for hold in holds)
        if is_held or group.has_draft(context):
            return
        for hold in holds:
            hold.destroy(context)
        group.destroy(context)

    # Nobody can write a hold for the group meanwhile.
    db.locked(context, models.Group, work, id=group.id)
