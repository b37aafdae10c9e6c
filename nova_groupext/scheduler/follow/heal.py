# SPDX-License-Identifier: Apache-2.0
"""Repair what an audit has found, as far as that is safe.

Healing takes the reaper's own steps, those that the findings call for. Only
what no step of the reaper ever meets is repaired here: rows that contradict
each other, and consumers without one.
"""

import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import leases
from nova_groupext.scheduler.follow import audit
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.follow import resizes
from nova_groupext.scheduler.protocol import keep

LOG = logging.getLogger(__name__)

Kind = audit.Kind

#: What is done about a finding.
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
    """Repair; another audit tells what could be.

    :param ledger: ledger.Ledger
    :param findings: what audit.audit() has returned
    :param orphans: whether nobody else has holds on this Placement, so that
        those which our tables know nothing of are given back too
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
    """What cannot be done now does not stop the rest."""
    try:
        work(context, ledger, *args)
    except (
        exception.PlacementUnavailable,
        exception.GroupBusy,
        *db_errors.ANY,
    ):
        LOG.exception('This is not healed yet.')


def _conclude(context, ledger, _leases):
    for member in reaper.to_conclude(context):
        _attempt(reaper.conclude, context, ledger, member)


def _end(context, ledger, owner):
    for group in VRTGroup.list_left(context):
        # What was begun is finished by whoever has the lease.
        with owner.owning(context, ledger, group.id):
            pass
    reaper.empty(context, ledger)


# What may have happened to holds of members and to fillers.
_FILLED = {Kind.MISSING, Kind.DIFFERENT, Kind.OVERCOMMITTED}

# Findings after which a host that a group has to itself may have room.
_KEPT = {*_FILLED, Kind.OVERDUE, Kind.CONTRADICTION}

# The reaper's steps in its order, and what each of them is good for.
_STEPS = (
    (_conclude, {Kind.OVERDUE}),
    (follow.follow_servers, {Kind.EMPTY_SERVER, Kind.UNKNOWN_SERVER}),
    (follow.follow_holds, _FILLED),
    (resizes.follow_growths, {*_FILLED, Kind.OVERDUE}),
    # What the others have ended is emptied, too.
    (_end, {*Kind}),
)


def _keep(context, ledger, owner, group):
    with owner.owning(context, ledger, group.id) as lease:
        group = lease and VRTGroup.find(context, group.uuid)
        if group is not None:
            keep.keep(context, ledger, lease, group)


def _end_contradiction(context, _ledger, finding):
    if finding.consumer is None:
        _fail(context, finding)
    for hold in VRTHold.list_by_uuids(context, [finding.consumer]):
        # The scheduler that redeems a hold finds out what becomes of it.
        if hold.status != states.Hold.REDEEMING:
            transitions.end_hold(context, hold)


def _fail(context, finding):
    """Let a member fail that is held without a hold; never a server's."""
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
