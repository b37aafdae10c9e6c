# SPDX-License-Identifier: Apache-2.0
"""Step 6, follow: what became of servers, holds and hosts meanwhile.

Nothing is concluded from silence: of a cell, a host or a Placement that does
not answer nothing is known, and nothing is touched.
"""

import collections

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import exclusive
from nova_groupext.scheduler import holding
from nova_groupext.scheduler import hosts
from nova_groupext.scheduler import ownership
from nova_groupext.scheduler import servers
from nova_groupext.scheduler import verification

LOG = logging.getLogger(__name__)

Fate = servers.Fate
LEAVING = states.Hold.LEAVING

# What a member becomes whose server came to such an end, once the server owns
# nothing in Placement any more.
ENDS = {
    Fate.UNKNOWN_TO_NOVA: {
        'status': states.Member.FAILED,
        'fault': 'its server was deleted before it was scheduled',
    },
    Fate.UNSCHEDULED: {
        'status': states.Member.FAILED,
        'fault': 'its server was not scheduled',
    },
    Fate.BROKEN: {
        'status': states.Member.FAILED,
        'fault': 'its server could not be built',
    },
    Fate.DELETED: {
        'status': states.Member.RELEASED,
        'fault': 'its server was deleted',
    },
}

HOLD_IS_LOST = 'its hold was removed, and there is no room for it any more'
HOST_IS_GONE = 'its host was taken out of service'


def follow_servers(context, ledger):
    """Conclude from what became of the members' servers."""
    redeemed = VRTHold.list_by_status(context, states.Hold.REDEEMED)
    hold_of = {hold.member_id: hold for hold in redeemed}
    members = [
        member
        for member in VRTMember.list_by_ids(context, [*hold_of])
        if member.status == states.Member.ACTIVE
    ]
    fates = servers.fates(context, [each.server_uuid for each in members])
    for member in members:
        end = ENDS.get(fates.get(member.server_uuid))
        if end and not ledger.allocations(context, member.server_uuid):
            _end(context, ledger, member, hold_of[member.id], end)


def follow_holds(context, ledger):
    """Compare what is held with what Placement knows of it."""
    by_provider = collections.defaultdict(list)
    for hold, member in _held(context):
        for provider in hold.allocations:
            by_provider[provider].append((hold, member))
    for provider, held in sorted(by_provider.items()):
        used = ledger.used(context, provider)
        if used is None:
            _lose(context, ledger, held, HOST_IS_GONE)
            continue
        changed = [
            (hold, member)
            for hold, member in held
            if used.get(hold.uuid) != hold.allocations[provider]['resources']
        ]
        _restore(context, ledger, changed)
        lost = verification.losers_on(context, ledger, provider, used)
        too_much = [each for each in held if each[0].uuid in lost]
        _lose(context, ledger, too_much, verification.IS_TOO_MUCH)


def follow_hosts(context, ledger):
    """Give back what is held on hosts that the operator takes away."""
    by_host = collections.defaultdict(list)
    for hold, member in _held(context):
        by_host[hold.host, hold.provider_uuid].append((hold, member))
    for (host, node_uuid), held in by_host.items():
        if hosts.is_out_of_service(context, host, node_uuid):
            _lose(context, ledger, held, HOST_IS_GONE)


def _held(context):
    """Return [(hold, member)] of the members that are held.

    Fillers are not among them: exclusive.keep follows these.
    A member that is being redeemed is left alone: its hold may have become
    its server's, and whoever redeems it, or concludes that, finds out.
    """
    holds = VRTHold.list_by_status(context, states.Hold.HELD)
    members = {
        member.id: member
        for member in VRTMember.list_by_ids(
            context, [hold.member_id for hold in holds]
        )
        if member.status == states.Member.HELD
    }
    return [
        (hold, members[hold.member_id])
        for hold in holds
        if hold.member_id in members
    ]


def _restore(context, ledger, changed):
    """Hold under new uuids what somebody has changed in Placement."""
    for hold, member in changed:
        if ledger.allocations(context, hold.uuid) == hold.allocations:
            continue
        if not _hold_again(context, ledger, hold, member, _write_down):
            _lose(context, ledger, [(hold, member)], HOLD_IS_LOST)


def _end(context, ledger, member, hold, values):
    """A member's server is gone: hold for another, or let the member go."""
    LOG.info(
        'Server %(server)s of member %(member)s: %(why)s',
        {
            'server': member.server_uuid,
            'member': member.path,
            'why': values['fault'],
        },
    )
    if not (
        CONF.vrt.hold_again
        and VRTGroup.is_current(context, member.group_id)
        and _hold_again(context, ledger, hold, member, _write_down_charged)
    ):
        ownership.change(context, ledger, hold, LEAVING, member, values)


def _hold_again(context, ledger, hold, member, write_down):
    """Hold a member's seat under a new uuid; fillers there give way.

    :param write_down: gives a new hold of the seat, in state WRITING
    :returns: False when there is no room for it, or no quota
    """
    heir = ownership.left_behind(context, ledger, hold)
    fillers = VRTHold.list_fillers(context, hold.group_id, hold.provider_uuid)
    try:
        if heir is None:
            heir = write_down(context, hold, member)
            ledger.hold(context, [heir], instead_of=fillers)
            exclusive.dismiss(context, ledger, fillers)
        fits = not verification.losers(context, ledger, [heir])
    except exception.LimitExceeded as exc:
        LOG.info('Member %s is not held again: %s', member.path, exc)
        return False
    except exception.HoldFailed:
        fits = False
    if not fits or not ownership.change(
        context, ledger, hold, LEAVING, member, ownership.HELD_AGAIN, heir
    ):
        holding.undo(context, [heir], ledger)
    return fits


def _write_down(context, hold, _member):
    heir = hold.again()
    heir.create(context)
    return heir


def _write_down_charged(context, hold, member):
    """The same for a member that was not held: its tenant needs quota.

    :raises: LimitExceeded
    """
    project_id = VRTGroup.brief(context, hold.group_id).project_id

    def check_and_write_down():
        quota.check(context, project_id, [member])
        return _write_down(context, hold, member)

    return quota.serialised(context, project_id, check_and_write_down)


def _lose(context, ledger, held, fault):
    """Give back holds that their members cannot keep.

    :param held: [(VRTHold, its VRTMember in state HELD)]
    """
    values = {'status': states.Member.FAILED, 'fault': fault}
    for hold, member in held:
        ownership.change(context, ledger, hold, LEAVING, member, values)
