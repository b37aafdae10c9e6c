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
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler import trouble
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.follow import whereabouts
from nova_groupext.scheduler.follow.changes import Changes
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import judging
from nova_groupext.scheduler.look import servers
from nova_groupext.scheduler.protocol import hold_again
from nova_groupext.scheduler.protocol import take_back

LOG = logging.getLogger(__name__)

Fate = servers.Fate
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

HOLD_IS_LOST = swaps.IS_LOST
BREAKS_POLICY = 'it would break a policy of its group now'
HOST_IS_GONE = 'its host was taken out of service'


def follow_servers(context, ledger, leases=None, group=None):
    """Conclude from what became of the members' servers, and where they are.

    :param leases: leases.Leases, by which what servers have is held again;
        None to see only where they are
    :param group: VRTGroup whose servers are followed; all by default
    :returns: uuids of servers that own what they will not use, and perhaps
        still are built, or of which nothing is known now
    """
    members = VRTMember.list_servers(context, group and group.id)
    ids = [member.id for member in members]
    hold_of = VRTHold.redeemed_by(context, ids)
    # Read before the servers are: one that is not moving then has ended it.
    moves_of = VRTMove.by_member(context, ids)
    found = servers.read(context, [each.server_uuid for each in members])
    waiting = set()
    for member in members:
        waiting.add(member.server_uuid)
        server = found.get(member.server_uuid)
        if server is None:
            continue
        with trouble.passed_over(f'Server {member.server_uuid}'):
            hold, moves = hold_of.get(member.id), moves_of.get(member.id, ())
            step = _Step(context, ledger, leases, member, hold)
            if step.follow(server, moves):
                waiting.remove(member.server_uuid)
    if group is None:
        VRTMove.forget_strays(context)
    return waiting


class _Step:
    """What is concluded from what became of one server.

    :param hold: VRTHold in state REDEEMED that it has; None without one
    """

    def __init__(self, context, ledger, leases, member, hold):
        self._context = context
        self._ledger = ledger
        self._leases = leases
        self._member = member
        self._hold = hold

    def follow(self, server, moves):
        """Conclude from where a server is; returns whether all is said.

        :param server: servers.Server
        :param moves: VRTMoves of the server
        """
        end = ENDS.get(server.fate)
        owns = end and self._ledger.allocations(
            self._context, self._member.server_uuid
        )
        if end is None or (owns and server.fate == Fate.BROKEN):
            whereabouts.follow(
                *(self._context, self._ledger, self._member, self._hold),
                *(moves, server),
            )
        elif not owns:
            self._end(end)
        elif server.fate == Fate.DELETED:
            # Nova empties it, but for what a late request has filled.
            self._empty(end)
        elif server.fate == Fate.UNSCHEDULED or self._is_overdue():
            self._take_back()
        else:
            return False
        return True

    def _is_overdue(self):
        """Whether Nova will not build a server of which it knows nothing."""
        deadline = CONF.vrt.unknown_server_deadline
        uuid = self._member.server_uuid
        if not self._member.is_unchanged_for(self._context, deadline):
            return False
        # It may have got its cell between the two questions that were asked.
        fate = servers.read(self._context, [uuid])[uuid].fate
        if fate != Fate.UNKNOWN_TO_NOVA:
            return False
        LOG.warning(
            'Nova knows nothing of server %(server)s for %(deadline)s s; what '
            'it has is taken back for member %(member)s.',
            {
                'server': uuid,
                'deadline': deadline,
                'member': self._member.path,
            },
        )
        return True

    def _take_back(self):
        """Hold again what a server has that nobody will build.

        Where nothing is to be held any more it goes back to everybody.
        """
        if self._is_being_taken_back():
            return
        group = VRTGroup.brief(self._context, self._member.group_id)
        # Of a group that has expired it is held until that is concluded:
        # what ends of a group that has hosts to itself is never open.
        holds = group is not None and group.status in states.HOLDS
        if self._hold is None or not holds:
            self._empty(ENDS[Fate.UNSCHEDULED])
            return
        with self._owning() as lease:
            if lease is not None:
                take_back.take_back(
                    self._context, self._ledger, lease, self._hold
                )

    def _is_being_taken_back(self):
        """Check whether a planner has begun that: the next one finishes it."""
        return self._hold is None and VRTHold.get_by_member(
            self._context, self._member.id
        )

    def _empty(self, end):
        """Give back what a server has, and end its member."""
        self._ledger.empty_consumer(self._context, self._member.server_uuid)
        self._end(end)

    def _end(self, end):
        """A server owns nothing: hold for another, or let the member go."""
        hold, member = self._hold, self._member
        if hold is None:
            self._end_without_hold(end)
            return
        LOG.info(
            'Server %(server)s of member %(member)s: %(why)s',
            {
                'server': member.server_uuid,
                'member': member.path,
                'why': end['fault'],
            },
        )
        if not (
            _may_hold_again(end['status'])
            # Else its hold tells nothing of a server as it is described now.
            and member.server_flavor is None
            and VRTGroup.is_current(self._context, member.group_id)
        ):
            ownership.end(self._context, hold, member, end)
            return
        with self._owning() as lease:
            if lease is None or self._hold_again(lease):
                return
            if not ownership.end(self._context, hold, member, end):
                # It has lost its hold by now.
                self._end_without_hold(end)

    def _end_without_hold(self, end):
        """End a member, unless what its server has is being taken back."""
        member = self._member
        is_promised = VRTHold.get_by_member(self._context, member.id)
        if member.status in states.SERVERS and not is_promised:
            with contextlib.suppress(exception.MemberStateConflict):
                transitions.end(self._context, self._member, **end)

    def _hold_again(self, lease):
        """Hold for another server; its tenant needs quota for that.

        :returns: False when there is no room for it, or no quota
        """
        group = VRTGroup.get_brief(self._context, self._hold.group_id)
        judge = judging.RedeemJudge(self._context, group.uuid)

        def check():
            quota.check(self._context, group.project_id, [self._member])
            check_policies(judge, self._member)

        return _hold_again(
            self._context, self._ledger, lease, self._hold, check
        )

    def _owning(self):
        if self._leases is None:
            return contextlib.nullcontext()
        return self._leases.owning(
            self._context, self._ledger, self._member.group_id
        )


def follow_holds(context, ledger, leases, changes=None):
    """Compare what is held with what Placement knows of it.

    :param changes: changes.Changes, to read only what has changed
    """
    changes = changes or Changes()
    by_provider = collections.defaultdict(list)
    for hold, member in _held(context):
        for provider in hold.allocations:
            by_provider[provider].append((hold, member))
    for provider, held in sorted(by_provider.items()):
        if not changes.are_due(provider, [provider]):
            continue
        with trouble.passed_over(f'Provider {provider}'):
            if _follow_provider(context, ledger, leases, provider, held):
                changes.note(provider, [provider])


def _follow_provider(context, ledger, leases, provider, held):
    """Compare what is held on a provider; return whether all was well."""
    # What ended because of another of its providers is done with.
    held = [each for each in held if each[0].status == states.Hold.HELD]
    used = ledger.used(context, provider)
    if used is None:
        _lose(context, held, HOST_IS_GONE)
        return False
    changed = [
        (hold, member)
        for hold, member in held
        if used.get(hold.uuid) != hold.allocations[provider]['resources']
    ]
    for hold, member in changed:
        with trouble.passed_over(f'Hold {hold.uuid}'):
            _restore(context, ledger, leases, hold, member)
    lost = verification.losers_on(context, ledger, provider, used)
    too_much = [each for each in held if each[0].uuid in lost]
    _lose(context, too_much, verification.IS_TOO_MUCH)
    return not changed and not lost


def follow_hosts(context, _ledger, _leases):
    """Give back what is held on hosts that the operator takes away."""
    by_host = collections.defaultdict(list)
    for hold, member in _held(context):
        by_host[hold.host, hold.provider_uuid].append((hold, member))
    for (host, node_uuid), held in by_host.items():
        if hosts.is_out_of_service(context, host, node_uuid):
            _lose(context, held, HOST_IS_GONE)


def _held(context):
    """Return [(hold, member)] of the members that are held.

    Fillers are not among them: exclusive.keep follows these. A member that is
    being redeemed is left alone: its hold may have become its server's, and
    whoever redeems it, or concludes that, finds out.
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


def _restore(context, ledger, leases, hold, member):
    """Hold under a new uuid what somebody has changed in Placement."""
    with leases.owning(context, ledger, hold.group_id) as lease:
        if (
            lease is None
            # Whoever gives it up, or redeems it, writes that down before.
            or not VRTHold.still(context, [hold], states.Hold.HELD)
            or ledger.allocations(context, hold.uuid) == hold.allocations
        ):
            return
        group = VRTGroup.get_brief(context, hold.group_id)
        judge = judging.RedeemJudge(context, group.uuid)

        def check():
            check_policies(judge, member)

        if not _hold_again(context, ledger, lease, hold, check):
            _lose(context, [(hold, member)], HOLD_IS_LOST)


def _hold_again(context, ledger, lease, hold, check):
    """Return False when there is no room for it, no quota, or no right."""
    try:
        return hold_again.hold_again(context, ledger, lease, hold, check)
    except (exception.LimitExceeded, exception.HoldFailed) as exc:
        LOG.info('Hold %s is not held again: %s', hold.uuid, exc)
        return False
    except exception.GenerationConflict:
        # Somebody else has ended it meanwhile.
        return True


def check_policies(judge, member):
    """Check that a member may be held where it is, as all others are now.

    :param judge: judging.RedeemJudge
    :raises: HoldFailed
    """
    if judge.refused([member]):
        raise exception.HoldFailed(reason=BREAKS_POLICY)


def _may_hold_again(status):
    """Where one has failed, another perhaps will; see reaper.to_replan()."""
    is_placed_anew = CONF.vrt.replan_failed and status == states.Member.FAILED
    return CONF.vrt.hold_again and not is_placed_anew


def _lose(context, held, fault):
    """End holds that their members cannot keep.

    :param held: [(VRTHold, its VRTMember in state HELD)]
    """
    values = {'status': states.Member.FAILED, 'fault': fault}
    for hold, member in held:
        ownership.end(context, hold, member, values)
