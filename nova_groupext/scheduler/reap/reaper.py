# SPDX-License-Identifier: Apache-2.0
"""Periodic steps that finish the work other processes have left.

One planner runs them for all, see VRTPlanner.is_reaper(). Several may run each
step at the same time and repeat it: each step is idempotent. Objects in an
unknown state are skipped.

1. Groups that expired release holds that were not redeemed; so do groups with
   holds older than the maximum lifetime.
2. Overdue redeems are finished, and creates whose time is over are deleted;
   members that were placed for servers that do not come are free again, or
   end.
3. Servers are followed: one that failed or was deleted ends its member. Holds
   on hosts out of service end.
4. Holds are compared with Placement: two requests show which providers have
   changed. Resize reservations are compared with servers and hosts, too.
5. Strict policies that members violate on their present hosts are stored as
   drift.

These have a timer of their own, as a large group takes time:

6. Holds that end are emptied in Placement, those of small groups first, except
   those of groups with exclusive hosts: see 12.
7. Consumers that late requests may have filled are checked, and emptied again:
   after 2, 10 and 60 minutes, and a day.
8. Rows of holds that ended long ago are removed.
9. Deleted groups are removed when they own nothing.

Three more steps have timers of their own, as decisions take time, and Nova
itself deletes the allocations of a deleted server. Each planner runs them, and
leases of the groups share them out:

10. Groups that wait to be planned, or that a planner has left, are served.
11. Failed members are replaced: once if a swap lost the hold, else if the
    operator has enabled that.
12. Free capacity, and holds that end, on exclusive hosts of groups become
    placeholder allocations.
"""

import collections

from oslo_log import log as logging

from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.membership import settle_group
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds

LOG = logging.getLogger(__name__)

Event = notifications.Event


def expire(context):
    """Release holds of groups that expired, and holds that are too old."""
    for group in VRTGroup.list_expired(context):
        if releases.expire(context, group):
            LOG.info(
                'VRT group %s has expired; its holds are released.', group.uuid
            )
            notifications.notify_group(context, Event.EXPIRE, group)
    lifetime = CONF.vrt.max_hold_lifetime
    for group in VRTGroup.list_held_long(context, lifetime):
        if releases.release_overdue(context, group, lifetime):
            LOG.info(
                'VRT group %(group)s: holds older than %(seconds)d s are '
                'released.',
                {'group': group.uuid, 'seconds': lifetime},
            )
            notifications.notify_group(context, Event.EXPIRE, group)


def end_creates(context):
    """Delete creates whose time is over, and settle the groups' members."""
    VRTCreate.purge(context)
    for group_id in settle_group.list_groups(context):
        availability.run_step(
            settle_group.settle,
            *(context, group_id),
            about=f'VRT group {group_id}',
        )


def resolve_redeem(context, placement_client, member):
    """Finish a redeem that a scheduler has left."""
    hold = VRTHold.find_by_member(context, member.id)
    if hold is not None:
        redeem.finish(context, placement_client, member, hold)


def release_ending(context, placement_client):
    """Release holds that end, except those of exclusive groups.

    Those of small groups come first: they do not wait for a large one.
    """
    holds = VRTHold.list_to_release(context)
    sizes = collections.Counter(hold.group_id for hold in holds)
    holds.sort(key=lambda hold: (sizes[hold.group_id], hold.group_id or 0))
    release_holds.release(context, placement_client, holds)


def purge_tombstones(context):
    """Remove rows of holds that ended long ago."""
    watched_holds.purge_tombstones(context, CONF.vrt.tombstone_lifetime)


def empty_orphan(context, placement_client, finding):
    """Empty a consumer that has no current row."""
    placement_client.empty(context, finding.consumer)


def members_to_replace(context):
    """Return [(group, excluded hosts)] of groups with members to replace.

    Excluded hosts are {path: [node where it has failed]}. Members with enough
    attempts are left out. A member whose hold a swap has lost is tried once in
    any case, and may go back to its node.
    """
    max_attempts = CONF.vrt.max_automatic_replacements
    return [
        (group, _excluded_nodes(context, group, max_attempts))
        for group in VRTGroup.list_with_failed(context, max_attempts)
    ]


def _excluded_nodes(context, group, max_attempts):
    plan = VRTPlan.find_newest(context, group.id)
    nodes = plan.nodes() if plan else {}
    lost = VRTHold.lost_members(context, group.id)
    excluded_nodes = {}
    for member in group.members:
        is_lost = member.id in lost
        if member.status != states.Member.FAILED or (
            member.replacement_attempts >= max(max_attempts, is_lost)
        ):
            continue
        is_excluded = member.path in nodes and not is_lost
        excluded_nodes[member.path] = (
            [nodes[member.path]] if is_excluded else []
        )
    return excluded_nodes
