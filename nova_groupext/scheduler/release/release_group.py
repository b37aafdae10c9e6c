# SPDX-License-Identifier: Apache-2.0
"""Step 7, release: holds that a group no longer needs become free.

The transaction that ends members sets their holds to RELEASING. After it, the
owner of the group's lease goes on:

1. In a deleted group, servers that Nova will not build lose their capacity.
   Then one transaction ends all other members and sets their holds to
   RELEASING.
2. RELEASING holds are emptied and RELEASED, see maintain.py.
3. 1 to 5 for the group's deleted drafts.
4. The hints of servers that joined or left with a deleted draft are set
   according to the rows.
5. One transaction: the rows of a deleted group are removed, unless a hold or a
   server of it still has to be followed. REDEEMED holds become RELEASED and
   watched; RELEASED holds stay as tombstones.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
before 2       RELEASING holds that own their         next owner of the lease:
               capacity                               1 to 5
after 2 to 4   RELEASED holds; the group or draft is  next owner of the lease:
               RELEASING, if it was deleted           1 to 5
after 5        tombstones                             nothing to finish
=============  =====================================  ========================

All steps can be repeated. The reaper looks for RELEASING groups and holds in
each round, so none is forgotten.
"""

from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.nova import stored_hints
from nova_groupext.scheduler.protocol import maintain
from nova_groupext.scheduler.protocol import release_holds


def release(context, placement_client, lease, group, logged=None):
    """Release what a group no longer needs; remove a deleted group.

    A step that fails now is repeated in the next round.

    :param lease: VRTLease of the group
    :param logged: as maintain.maintain() takes it
    """
    is_deleted = group.status == states.Group.RELEASING
    waiting = set()
    if is_deleted:
        waiting = server_changes.follow_servers(
            context, placement_client, group=group
        )
        group = VRTGroup.find(context, group.uuid)
    if group is None:
        return
    if is_deleted and releases.release_members(context, group):
        notifications.notify_group(context, notifications.Event.RELEASE, group)
    maintain.maintain(context, placement_client, lease, group, logged)
    for draft in VRTGroup.list_releasing(context, revised=group):
        release(context, placement_client, lease, draft)
    # A group without rows could not be followed any more.
    if is_deleted and not waiting and _sync_hints(context, group):
        _purge(context, group)


def _sync_hints(context, group):
    """Update the hints of servers that joined or left with a draft.

    :returns: whether they are final: a request of Nova that has read a
        server's hints before its adoption may still store them again
    """
    if group.revises_id is None:
        return True
    are_members = False
    for server_uuid in sorted(VRTMember.server_uuids(context, group.id)):
        with faultpoints.around('release.sync_hints'):
            are_members |= stored_hints.sync_hints(context, server_uuid)
    return not are_members or group.is_unchanged_for(
        context, release_holds.REQUEST_LIFETIME
    )


def _purge(context, group):
    """Remove the rows, unless holds or drafts of the group are left."""

    def work():
        holds = VRTHold.list_by_group(context, group.id)
        is_held = any(hold.status != states.Hold.REDEEMED for hold in holds)
        if is_held or group.has_draft(context):
            return
        watched_holds.detach_tombstones(context, group.id)
        group.purge(context)

    # The lock keeps others from inserting holds for the group.
    db.with_row_lock(context, models.Group, work, id=group.id)
