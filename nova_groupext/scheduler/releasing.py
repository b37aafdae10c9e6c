# SPDX-License-Identifier: Apache-2.0
"""Step 7, release: what was given up goes back to everybody.

Whoever gives something up marks its holds as RELEASING, in the transaction
that changes the members. Emptying them in Placement comes after that; doing
it twice, or later, does the same.
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
from nova_groupext.scheduler import stored_hints
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.protocol import keep


def release(context, ledger, lease, group, known=None):
    """Give back what leaves a group; forget it if it was deleted.

    And forget its drafts that were. What cannot be done now is done by the
    reaper.

    :param lease: VRTLease of the group
    :param known: as keep() takes it
    """
    is_deleted = group.status == states.Group.RELEASING
    waiting = set()
    if is_deleted:
        # What those have that nobody will build is given back, too.
        waiting = follow.follow_servers(context, ledger, group=group)
        group = VRTGroup.find(context, group.uuid)
    if group is None:
        return
    if is_deleted and transitions.give_up(context, group):
        notifications.of_group(context, notifications.Event.RELEASE, group)
    keep.keep(context, ledger, lease, group, known)
    for draft in VRTGroup.list_releasing(context, of=group):
        release(context, ledger, lease, draft)
    # Nobody would look after what has no row any more.
    if is_deleted and not waiting and _point_anew(context, group):
        _forget(context, group)


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
    return not are_members or group.is_unchanged_for(
        context, emptying.REQUEST_LIFETIME
    )


def _forget(context, group):
    """Remove the rows, unless something is still held or under way."""

    def work():
        holds = VRTHold.list_by_group(context, group.id)
        is_held = any(hold.status != states.Hold.REDEEMED for hold in holds)
        if is_held or group.has_draft(context):
            return
        VRTHold.orphan(context, group.id)
        group.destroy(context)

    # Nobody can write a hold for the group meanwhile.
    db.locked(context, models.Group, work, id=group.id)
