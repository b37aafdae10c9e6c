# SPDX-License-Identifier: Apache-2.0
"""Step 7, release: holds that a group no longer needs become free.

The transaction that changes the members marks their holds as RELEASING.
Emptying them in Placement comes later and is idempotent.
"""

from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.nova import stored_hints
from nova_groupext.scheduler.protocol import maintain
from nova_groupext.scheduler.protocol import release_holds


def release(context, ledger, lease, group, known=None):
    """Release what a group no longer needs; remove a deleted group.

    The same for its deleted drafts. The reaper retries what fails now.

    :param lease: VRTLease of the group
    :param known: as maintain.keep() takes it
    """
    is_deleted = group.status == states.Group.RELEASING
    waiting = set()
    if is_deleted:
        # Servers that will not be built release their capacity, too.
        waiting = follow.follow_servers(context, ledger, group=group)
        group = VRTGroup.find(context, group.uuid)
    if group is None:
        return
    if is_deleted and transitions.give_up(context, group):
        notifications.of_group(context, notifications.Event.RELEASE, group)
    maintain.keep(context, ledger, lease, group, known)
    for draft in VRTGroup.list_releasing(context, of=group):
        release(context, ledger, lease, draft)
    # A group without rows could not be followed any more.
    if is_deleted and not waiting and _point_anew(context, group):
        _forget(context, group)


def _point_anew(context, group):
    """Update the hints of servers that joined or left with a draft.

    :returns: whether they are final: a request of Nova that has read a
        server's hints before its adoption may still store them again
    """
    if group.revises_id is None:
        return True
    are_members = False
    for server_uuid in sorted(VRTMember.server_uuids(context, group.id)):
        with faultpoints.around('release.point'):
            are_members |= stored_hints.follow(context, server_uuid)
    return not are_members or group.is_unchanged_for(
        context, release_holds.REQUEST_LIFETIME
    )


def _forget(context, group):
    """Remove the rows, unless holds or drafts of the group are left."""

    def work():
        holds = VRTHold.list_by_group(context, group.id)
        is_held = any(hold.status != states.Hold.REDEEMED for hold in holds)
        if is_held or group.has_draft(context):
            return
        VRTHold.orphan(context, group.id)
        group.destroy(context)

    # The lock keeps others from inserting holds for the group.
    db.with_row_lock(context, models.Group, work, id=group.id)
