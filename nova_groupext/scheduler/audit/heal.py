# SPDX-License-Identifier: Apache-2.0
"""Repair of an audit's findings, as far as that is safe.

Healing runs the steps of the reaper that the findings call for. Repairs of its
own are only for inconsistent rows and for consumers without a row, which no
step of the reaper meets.
"""

import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.protocol import leases
from nova_groupext.scheduler.protocol import maintain
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.resize import reservations

LOG = logging.getLogger(__name__)

Kind = audit.Kind

#: Action for each kind of finding.
REMEDIES = {
    Kind.MISSING: 'hold it again; let the member fail if there is no room',
    Kind.DIFFERENT: 'give it back and hold again; let the member fail if '
    'there is no room',
    Kind.STRAY: 'give it back',
    Kind.ORPHAN: 'nothing; with --orphans, give it back',
    Kind.OVERDUE: 'conclude it, or give it back',
    Kind.EMPTY_SERVER: 'let the member go if the server is no more',
    Kind.UNKNOWN_SERVER: 'hold it again after [vrt]unknown_server_deadline',
    Kind.OVERCOMMITTED: 'give it back; the member fails',
    Kind.CONTRADICTION: 'give back the hold; a member without one fails',
    Kind.UNKNOWN: 'nothing',
}


def heal(context, ledger, findings, orphans=False):
    """Repair findings; another audit shows with what success.

    :param ledger: PlacementClient
    :param findings: what audit.audit() has returned
    :param orphans: whether to release orphans, too; only if no other
        installation has holds on this Placement
    """
    kinds = {finding.kind for finding in findings}
    owner = leases.Leases(CONF.host)
    for finding in findings:
        if finding.kind in _REPAIRS:
            _attempt(_REPAIRS[finding.kind], context, ledger, finding)
        elif orphans and finding.kind == Kind.ORPHAN:
            _attempt(reaper.empty_stray, context, ledger, finding)
    for step, causes in _STEPS:
        if kinds & causes:
            _attempt(step, context, ledger, owner)
    if kinds & _KEPT:
        for group in reaper.to_keep(context):
            _attempt(_keep, context, ledger, owner, group)


def _attempt(work, context, ledger, *args):
    """Run a repair; log an error so that the others go on."""
    try:
        work(context, ledger, *args)
    except (
        exception.PlacementUnavailable,
        exception.GroupBusy,
        *database_errors.ANY,
    ):
        LOG.exception('This is not healed yet.')


def _conclude(context, ledger, _leases):
    for member in reaper.list_stuck_redeems(context):
        _attempt(reaper.resolve_redeem, context, ledger, member)


def _end(context, ledger, owner):
    for group in VRTGroup.list_left(context):
        # Acquiring a lease finishes what was begun.
        with owner.owning(context, ledger, group.id):
            pass
    reaper.empty(context, ledger)


# Kinds about the allocations of members' holds and of placeholders.
_FILLED = {Kind.MISSING, Kind.DIFFERENT, Kind.OVERCOMMITTED}

# Kinds after whose repair an exclusive host may have free capacity.
_KEPT = {*_FILLED, Kind.OVERDUE, Kind.CONTRADICTION}

# Steps of the reaper in its order, and the kinds that each repairs.
_STEPS = (
    (_conclude, {Kind.OVERDUE}),
    (follow.follow_servers, {Kind.EMPTY_SERVER, Kind.UNKNOWN_SERVER}),
    (follow.follow_holds, _FILLED),
    (reservations.follow_reservations, {*_FILLED, Kind.OVERDUE}),
    # Empties holds that the other steps have ended, too.
    (_end, {*Kind}),
)


def _keep(context, ledger, owner, group):
    with owner.owning(context, ledger, group.id) as lease:
        group = lease and VRTGroup.find(context, group.uuid)
        if group is not None:
            maintain.keep(context, ledger, lease, group)


def _end_contradiction(context, _ledger, finding):
    if finding.consumer is None:
        _fail(context, finding)
    for hold in VRTHold.list_by_uuids(context, [finding.consumer]):
        # The redeeming scheduler or the reaper finishes such a hold.
        if hold.status != states.Hold.REDEEMING:
            transitions.end_hold(context, hold)


def _fail(context, finding):
    """Set a member to FAILED that is HELD without a hold."""
    group = VRTGroup.find(context, finding.group)
    for member in group.members if group else ():
        is_held = member.status == states.Member.HELD
        if member.path == finding.member and is_held:
            with contextlib.suppress(exception.MemberStateConflict):
                transitions.end(
                    context, member, states.Member.FAILED, follow.HOLD_IS_LOST
                )
                notifications.of_member(
                    context, notifications.Event.LOSE_HOLD, member
                )


_REPAIRS = {
    Kind.STRAY: reaper.empty_stray,
    Kind.CONTRADICTION: _end_contradiction,
}
