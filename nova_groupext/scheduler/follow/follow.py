# SPDX-License-Identifier: Apache-2.0
"""Step 6, follow: what became of servers, holds and hosts meanwhile.

Nothing is concluded from silence: of a cell, a host or a Placement that does
not answer nothing is known, and nothing is touched.
"""

import collections
import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler import trouble
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.follow import whereabouts
from nova_groupext.scheduler.hold import again
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import servers
from nova_groupext.scheduler.protocol import take_back

LOG = logging.getLogger(__name__)

Fate = servers.Fate
LEAVING = states.Hold.LEAVING

# What a member becomes whose server came to such an end. Until the server owns
# nothing in Placement any more, nobody else gets the capacity.
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


def follow_servers(context, ledger, group=None):
    """Conclude from what became of the members' servers, and where they are.

    :param group: VRTGroup whose servers are followed; all by default
    :returns: uuids of servers that own what they will not use, and perhaps
        still are built
    """
    members = VRTMember.list_servers(context, group and group.id)
    ids = [member.id for member in members]
    hold_of = VRTHold.redeemed_by(context, ids)
    # Read before the servers are: one that is not moving then has ended it.
    moves_of = VRTMove.by_member(context, ids)
    found = servers.read(context, [each.server_uuid for each in members])
    waiting = set()
    for member in members:
        server = found.get(member.server_uuid)
        if server is None:
            continue
        with trouble.passed_over(f'Server {member.server_uuid}'):
            hold, moves = hold_of.get(member.id), moves_of.get(member.id, ())
            if not _follow_server(
                context, ledger, member, hold, moves, server
            ):
                waiting.add(member.server_uuid)
    if group is None:
        VRTMove.forget_strays(context)
    return waiting


def _follow_server(context, ledger, member, hold, moves, server):
    """Conclude from what became of one server; returns whether all is said.

    :param moves: VRTMoves of the server
    :param server: servers.Server
    """
    end = ENDS.get(server.fate)
    if end is None or ledger.allocations(context, member.server_uuid):
        if server.fate in _OWNS_IN_VAIN:
            ends = _OWNS_IN_VAIN[server.fate]
            return ends(context, ledger, member, hold)
        whereabouts.follow(context, ledger, member, hold, moves, server)
    elif hold is not None:
        # One who takes back may have died in the middle.
        if not take_back.take_back(
            context, ledger, member.id, member.server_uuid
        ):
            _end(context, ledger, member, hold, end)
    elif member.status == states.Member.SHELVED:
        with contextlib.suppress(exception.MemberStateConflict):
            transitions.end(context, member, **end)
    return True


def follow_holds(context, ledger):
    """Compare what is held with what Placement knows of it."""
    by_provider = collections.defaultdict(list)
    for hold, member in _held(context):
        for provider in hold.allocations:
            by_provider[provider].append((hold, member))
    for provider, held in sorted(by_provider.items()):
        with trouble.passed_over(f'Provider {provider}'):
            _follow_provider(context, ledger, provider, held)


def _follow_provider(context, ledger, provider, held):
    # What ended because of another of its providers is done with.
    held = [each for each in held if each[0].status == states.Hold.HELD]
    used = ledger.used(context, provider)
    if used is None:
        _lose(context, ledger, held, HOST_IS_GONE)
        return
    changed = [
        (hold, member)
        for hold, member in held
        if used.get(hold.uuid) != hold.allocations[provider]['resources']
    ]
    restore(context, ledger, changed)
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
    Nor those of groups that exchange what they hold: it may be empty.
    A member that is being redeemed is left alone: its hold may have become
    its server's, and whoever redeems it, or concludes that, finds out.
    """
    exchanging = VRTGroup.exchanging(context)
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
        if hold.member_id in members and hold.group_id not in exchanging
    ]


def restore(context, ledger, changed):
    """Hold under new uuids what somebody has changed in Placement."""
    for hold, member in changed:
        if ledger.allocations(context, hold.uuid) == hold.allocations:
            continue
        # A revision writes down what it exchanges before it empties a hold.
        if hold.group_id in VRTGroup.exchanging(context):
            continue
        if not _is_still_held(context, hold):
            continue
        if not _hold_again(context, ledger, hold, member, _write_down):
            _lose(context, ledger, [(hold, member)], HOLD_IS_LOST)


def _is_still_held(context, hold):
    """Tell whether a hold is to be there, after Placement has been asked.

    Whoever gives it up, or redeems it, writes that down before it is emptied.
    """
    member = VRTMember.find_by_id(context, hold.member_id)
    return (
        member is not None
        and member.status == states.Member.HELD
        and bool(VRTHold.still(context, [hold], states.Hold.HELD))
    )


def _take_back(context, ledger, member, hold):
    """Hold again what a server has that nobody will build.

    Where nothing is to be held any more it goes back to everybody.
    """
    if VRTGroup.is_current(context, member.group_id):
        take_back.take_back(context, ledger, member.id, member.server_uuid)
    else:
        _empty(context, ledger, member, hold, ENDS[Fate.UNSCHEDULED])
    return True


def _empty_deleted(context, ledger, member, hold):
    """Nova does so itself, but for what a late request has filled."""
    _empty(context, ledger, member, hold, ENDS[Fate.DELETED])
    return True


def _empty(context, ledger, member, hold, end):
    """Give back what a server has, and end its member."""
    ledger.empty_consumer(context, member.server_uuid)
    if hold is not None:
        _end(context, ledger, member, hold, end)


def _take_back_unknown(context, ledger, member, hold):
    """Take back from a server of which Nova knows nothing for long."""
    deadline = CONF.vrt.unknown_server_deadline
    if not member.is_unchanged_for(context, deadline):
        return False
    # It may have got its cell between the two questions that were asked.
    again = servers.read(context, [member.server_uuid])
    if again[member.server_uuid].fate != Fate.UNKNOWN_TO_NOVA:
        return False
    LOG.warning(
        'Nova knows nothing of server %(server)s for %(deadline)s s; what it '
        'has is taken back for member %(member)s.',
        {
            'server': member.server_uuid,
            'deadline': deadline,
            'member': member.path,
        },
    )
    return _take_back(context, ledger, member, hold)


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
        _may_hold_again(values['status'])
        # Else its hold tells nothing of a server as it is described by now.
        and member.server_flavor is None
        and VRTGroup.is_current(context, member.group_id)
        and _hold_again(context, ledger, hold, member, _write_down_charged)
    ):
        ownership.change(context, ledger, hold, LEAVING, member, values)


def _may_hold_again(status):
    """Where one has failed, another perhaps will; see reaper.to_replan()."""
    is_placed_anew = CONF.vrt.replan_failed and status == states.Member.FAILED
    return CONF.vrt.hold_again and not is_placed_anew


def _hold_again(context, ledger, hold, member, write_down):
    """Hold a member's seat under a new uuid.

    :param write_down: gives a new hold of the seat, in state WRITING
    :returns: False when there is no room for it, or no quota
    """

    def replace(heir):
        return ownership.change(
            context, ledger, hold, LEAVING, member, ownership.HELD_AGAIN, heir
        )

    try:
        return again.hold_again(
            *(context, ledger, hold),
            lambda: write_down(context, hold, member),
            replace,
        )
    except exception.LimitExceeded as exc:
        LOG.info('Member %s is not held again: %s', member.path, exc)
        return False


def _write_down(context, hold, _member):
    [heir] = holding.write_down_again(context, [hold])
    return heir


def _write_down_charged(context, hold, member):
    """The same for a member that was not held: its tenant needs quota.

    :raises: LimitExceeded, GroupNotFound
    """
    project_id = VRTGroup.get_brief(context, hold.group_id).project_id

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


# How the reaper deals with servers that own what they will not use.
_OWNS_IN_VAIN = {
    Fate.UNKNOWN_TO_NOVA: _take_back_unknown,
    Fate.UNSCHEDULED: _take_back,
    Fate.DELETED: _empty_deleted,
}
