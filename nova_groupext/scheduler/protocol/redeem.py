# SPDX-License-Identifier: Apache-2.0
"""Redeem: a hold becomes the allocation of its server. It only goes forward.

1. *reserve*, one transaction: the hold is HELD, the group is there and has not
   expired, its policies allow it; then REDEEMING, with the server's uuid.
2. *swap*, one request: the hold's consumer is emptied, the server's filled.
   The server's uuid is the latch: of many requests one fills it.
3. *close*, one transaction: REDEEMED.

=============  =====================================  ========================
who dies at    leaves behind                          and who goes on
=============  =====================================  ========================
before 1       nothing                                nobody has to
after 1        REDEEMING; the hold owns               any delivery of the same
               it, or the server does                 request, or the reaper:
                                                      2, 3
after 2        REDEEMING; the server owns it          the same: 3
=============  =====================================  ========================

The reaper waits until no scheduler can be at it (OVERDUE). What becomes of a
server that owns its capacity, and is never built, is no concern of this page:
it is taken back (take_back.py).
"""

import enum
import time

from nova import exception as nova_exc
from nova import objects
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import ledger as placement
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.look import servers

LOG = logging.getLogger(__name__)

Fate = servers.Fate

# Seconds for which it is tried to find out whether a swap took place.
PATIENCE = 20

# Times rpc_response_timeout after which no scheduler is at work on a request.
OVERDUE = 2

# Servers that nobody builds, or runs, any more.
DEAD = (Fate.UNKNOWN_TO_NOVA, Fate.UNSCHEDULED, Fate.DELETED)

IS_LOST = 'its hold is gone from Placement'

LOST = {'status': states.Member.FAILED, 'fault': IS_LOST}


class Outcome(enum.Enum):
    """What became of a swap."""

    # The server owns the capacity.
    SWAPPED = enum.auto()
    # Neither of the two does, and the server cannot get it any more.
    LOST = enum.auto()
    # It is not known, or goes on elsewhere.
    OPEN = enum.auto()


def reserve(context, own, check):
    """Write the uuids of servers to their members' holds, all or none.

    :param own: {server uuid: its VRTMember in state HELD}, of one group
    :param check: raises what speaks against it; called without arguments,
        while nobody else changes the group
    :returns: False when somebody else has changed any of it: then nothing is
    """
    return transitions.reserve(context, own, check)


def swap(context, ledger, wanted, project_id, user_id, patience=None):
    """Let servers have what is held for them.

    :param ledger: ledger.Ledger
    :param wanted: {server uuid: VRTHold in state REDEEMING}
    :param patience: seconds for which it is tried; by default PATIENCE
    :returns: {server uuid: Outcome}
    """
    bodies = {
        uuid: ledger.of_server(hold, project_id, user_id)
        for uuid, hold in wanted.items()
    }
    try:
        if ledger.swap(context, wanted, bodies):
            return dict.fromkeys(wanted, Outcome.SWAPPED)
    except exception.PlacementUnavailable:
        LOG.warning('A swap was not answered; it is sent again.')
    return {
        uuid: swap_one(
            context, ledger, uuid, hold, bodies[uuid], patience=patience
        )
        for uuid, hold in wanted.items()
    }


def swap_one(
    context, ledger, uuid, hold, body, *, refills=True, patience=None
):
    """Send a swap until it is known what became of it.

    :param body: Ledger.of_server() of the hold
    :param refills: whether the server gets the capacity also if neither of
        the two owns it
    :returns: Outcome
    """
    patience = PATIENCE if patience is None else patience
    ends_at = time.monotonic() + patience
    attempt = 0
    while True:
        try:
            outcome = _try(context, ledger, uuid, hold, body, refills)
        except exception.PlacementUnavailable as exc:
            LOG.warning(
                'The swap of hold %(hold)s is sent again: %(why)s',
                {'hold': hold.uuid, 'why': exc},
            )
            outcome = None
        if outcome is not None:
            return outcome
        if time.monotonic() >= ends_at:
            return Outcome.OPEN
        placement.pause(attempt)
        attempt += 1


def _try(context, ledger, uuid, hold, body, refills):
    """Send a swap once more; returns its Outcome, None when there is none."""
    if ledger.swap(context, {uuid: hold}, {uuid: body}, reads=True):
        return Outcome.SWAPPED
    # In this order: another's swap may end in between.
    is_held = ledger.allocations(context, hold.uuid)
    owns = ledger.allocations(context, uuid)
    if owns and (not is_held or owns == hold.allocations):
        return Outcome.SWAPPED
    if is_held:
        return None
    if not refills:
        return Outcome.LOST
    return _fill(context, ledger, uuid, body)


def _fill(context, ledger, uuid, body):
    """Neither of the two owns anything: somebody else has taken it away."""
    server = servers.read(context, [uuid]).get(uuid)
    if server is None or server.is_moving:
        return Outcome.OPEN
    if server.is_shelved:
        # It had the capacity, and has given it back.
        return Outcome.SWAPPED
    is_failed = server.fate == Fate.BROKEN and server.host is None
    if server.fate in DEAD or is_failed:
        return Outcome.LOST
    if ledger.fill(context, {uuid: body}):
        return Outcome.SWAPPED
    if ledger.allocations(context, uuid):
        return Outcome.SWAPPED
    return Outcome.LOST


def close(context, member, hold, outcome):
    """Write down what became of a swap.

    What cannot be written down now, the reaper finds out once more: that the
    server has the capacity is so in any case.
    """
    try:
        if outcome == Outcome.SWAPPED:
            ownership.redeem(context, hold, member)
        else:
            ownership.end(context, hold, member, LOST)
    except db_errors.ANY:
        LOG.exception(
            'What became of member %s is written down later.', member.path
        )


def overdue(context):
    """Return the members of which no scheduler can be at work any more."""
    return VRTMember.list_stuck(context, OVERDUE * CONF.rpc_response_timeout)


def finish(context, ledger, member, hold):
    """Do what a scheduler has left undone.

    :param member: VRTMember in state REDEEMING
    :param hold: the VRTHold that it had before it was read
    """
    uuid = member.server_uuid
    if hold.status != states.Hold.REDEEMING or hold.server_uuid != uuid:
        return
    project_id, user_id = _owner(context, member)
    [outcome] = swap(
        *(context, ledger, {uuid: hold}, project_id, user_id), patience=0
    ).values()
    if outcome == Outcome.OPEN and _is_dead(context, uuid):
        # Placement may refuse it for good. Once the hold is empty no swap
        # can land any more.
        ledger.empty(context, hold)
        if not ledger.allocations(context, uuid):
            outcome = Outcome.LOST
    if outcome != Outcome.OPEN:
        close(context, member, hold, outcome)


def _is_dead(context, uuid):
    server = servers.read(context, [uuid]).get(uuid)
    return server is not None and server.fate in DEAD


def _owner(context, member):
    """Return the ids of the project and the user whose a server is."""
    try:
        spec = objects.RequestSpec.get_by_instance_uuid(
            context, member.server_uuid
        )
    except nova_exc.RequestSpecNotFound:
        spec = None
    group = VRTGroup.get_brief(context, member.group_id)
    return (
        group.project_id,
        spec.user_id if spec and spec.user_id else group.user_id,
    )
