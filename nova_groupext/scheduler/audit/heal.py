# SPDX-License-Identifier: Apache-2.0
"""Repair of an audit's findings, as far as that is safe.

1. Repair by itself what no step of the reaper finds: release holds whose rows
   are inconsistent, and consumers of released holds; on request also consumers
   without a row.
2. Run the reaper's steps that the findings call for, in the reaper's order.
3. Take over unfinished swaps, and release holds that end.
4. Fill exclusive hosts that may have free capacity now.

An error in one part stops no other. A crash leaves what the step in progress
leaves; the reaper, or a second heal, finishes it.
"""

import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.db import database_errors
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import leases
from nova_groupext.scheduler.protocol import maintain
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.resize import reservations

LOG = logging.getLogger(__name__)

Kind = audit.Kind

#: Action for each kind of finding.
REMEDIES = {
    Kind.MISSING: 'hold it again; without capacity the member fails',
    Kind.MISMATCH: 'release it and hold it again; without capacity the '
    'member fails',
    Kind.REFILLED: 'release it',
    Kind.ORPHAN: 'none; with --orphans, release it',
    Kind.OVERDUE: 'finish it or release it',
    Kind.SERVER_WITHOUT_ALLOCATION: 'end the member if the server no longer '
    'exists',
    Kind.UNKNOWN_SERVER: 'hold it again after [vrt]unknown_server_deadline',
    Kind.OVERCOMMITTED: 'release it; the member fails',
    Kind.INCONSISTENT: 'release the hold; a member without a hold fails',
    Kind.UNKNOWN: 'none',
}


def heal(context, placement_client, findings, orphans=False):
    """Repair findings; another audit shows with what success.

    :param findings: what audit.audit() has returned
    :param orphans: whether to release orphans, too; only if no other
        installation has holds on this Placement
    """
    planner_leases = leases.Leases(CONF.host)
    try:
        _heal(context, placement_client, findings, orphans, planner_leases)
    finally:
        # A planner would wait for the end of a lease that an error has left.
        with contextlib.suppress(*database_errors.ANY):
            planner_leases.end(context)


def _heal(context, placement_client, findings, orphans, planner_leases):
    kinds = {finding.kind for finding in findings}
    for finding in findings:
        if finding.kind in _REPAIRS:
            _attempt(
                _REPAIRS[finding.kind], context, placement_client, finding
            )
        elif orphans and finding.kind == Kind.ORPHAN:
            _attempt(reaper.empty_orphan, context, placement_client, finding)
    for step, causes in _STEPS:
        if kinds & causes:
            _attempt(step, context, placement_client, planner_leases)
    if kinds & _MAINTAINED:
        for group in VRTGroup.list_exclusive(context):
            _attempt(
                *(maintain.acquire_and_maintain, context, placement_client),
                *(planner_leases, group),
            )


def _attempt(work, context, placement_client, *args):
    """Run a repair; log an error so that the others go on."""
    try:
        work(context, placement_client, *args)
    except (
        exception.PlacementUnavailable,
        exception.GroupBusy,
        *database_errors.ANY,
    ):
        LOG.exception('Healing step %s failed; run it again.', work.__name__)


def _resolve_redeems(context, placement_client, _leases):
    for member in redeem.list_overdue(context):
        _attempt(reaper.resolve_redeem, context, placement_client, member)


def _release(context, placement_client, planner_leases):
    for group in VRTGroup.list_abandoned(context):
        # Acquiring a lease finishes what was begun.
        with planner_leases.owning(context, placement_client, group.id):
            pass
    reaper.release_ending(context, placement_client)


# Kinds about the allocations of members' holds and of placeholders.
_HOLD_ALLOCATIONS = {Kind.MISSING, Kind.MISMATCH, Kind.OVERCOMMITTED}

# Kinds after whose repair an exclusive host may have free capacity.
_MAINTAINED = {*_HOLD_ALLOCATIONS, Kind.OVERDUE, Kind.INCONSISTENT}

# Steps of the reaper in its order, and the kinds that each repairs.
_STEPS = (
    (_resolve_redeems, {Kind.OVERDUE}),
    (
        server_changes.follow_servers,
        {Kind.SERVER_WITHOUT_ALLOCATION, Kind.UNKNOWN_SERVER},
    ),
    (hold_changes.follow_holds, _HOLD_ALLOCATIONS),
    (reservations.follow_reservations, {*_HOLD_ALLOCATIONS, Kind.OVERDUE}),
    # Empties holds that the other steps have ended, too.
    (_release, {*Kind}),
)


def _end_inconsistent(context, _placement_client, finding):
    if finding.consumer is None:
        _fail(context, finding)
    for hold in VRTHold.list_by_uuids(context, [finding.consumer]):
        # The redeeming scheduler or the reaper finishes such a hold.
        if hold.status != states.Hold.REDEEMING:
            redeems.end_hold(context, hold)


def _fail(context, finding):
    """Set a member to FAILED that is HELD without a hold."""
    group = VRTGroup.find(context, finding.group)
    for member in group.members if group else ():
        is_held = member.status == states.Member.HELD
        if member.path == finding.member and is_held:
            with contextlib.suppress(exception.MemberStateConflict):
                transitions.end_member(
                    context,
                    member,
                    states.Member.FAILED,
                    swap_results.IS_LOST,
                )
                notifications.notify_member(
                    context, notifications.Event.LOSE_HOLD, member
                )


_REPAIRS = {
    Kind.REFILLED: reaper.empty_orphan,
    Kind.INCONSISTENT: _end_inconsistent,
}
