# SPDX-License-Identifier: Apache-2.0
"""Step 6, follow: update of rows after changes to servers and hosts.

Silence proves nothing: if a cell, a host or Placement does not answer, the
state is unknown and the rows stay unchanged.
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
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.placement.changed_providers import (
    ChangedProviders,
)
from nova_groupext.scheduler.protocol import hold_again
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import record_location
from nova_groupext.scheduler.protocol import take_back

LOG = logging.getLogger(__name__)

ServerOutcome = servers.ServerOutcome
# Changes of a member, by the outcome of its server. The capacity stays
# unavailable until the server owns nothing in Placement.
MEMBER_STATUS_AFTER = {
    ServerOutcome.UNKNOWN_TO_NOVA: {
        'status': states.Member.FAILED,
        'fault': 'its server was deleted before it was scheduled',
    },
    ServerOutcome.UNSCHEDULED: {
        'status': states.Member.FAILED,
        'fault': 'its server was not scheduled',
    },
    ServerOutcome.BROKEN: {
        'status': states.Member.FAILED,
        'fault': 'its server could not be built',
    },
    ServerOutcome.DELETED: {
        'status': states.Member.RELEASED,
        'fault': 'its server was deleted',
    },
}

HOLD_IS_LOST = swaps.IS_LOST
BREAKS_POLICY = 'it would break a policy of its group now'
HOST_IS_GONE = 'its host was taken out of service'


def follow_servers(context, ledger, leases=None, group=None):
    """Update members from the outcome and the location of their servers.

    :param leases: leases.Leases, to hold again what ended servers had; None to
        update only locations and members
    :param group: VRTGroup whose servers are followed; all by default
    :returns: uuids of servers that own capacity they will not use and may
        still be built, or whose state is unknown
    """
    members = VRTMember.list_servers(context, group and group.id)
    ids = [member.id for member in members]
    hold_of = VRTHold.redeemed_by(context, ids)
    # Read before the servers: a move whose server is not moving has ended.
    moves_of = VRTMove.by_member(context, ids)
    found = servers.read(context, [each.server_uuid for each in members])
    waiting = set()
    for member in members:
        waiting.add(member.server_uuid)
        server = found.get(member.server_uuid)
        if server is None:
            continue
        with availability.skip_unavailable(f'Server {member.server_uuid}'):
            hold, moves = hold_of.get(member.id), moves_of.get(member.id, ())
            step = _Step(context, ledger, leases, member, hold)
            if step.follow(server, moves):
                waiting.remove(member.server_uuid)
    if group is None:
        VRTMove.forget_orphans(context)
    return waiting


class _Step:
    """Update of one member from the state of its server.

    :param hold: VRTHold in state REDEEMED that it has; None without one
    """

    def __init__(self, context, ledger, leases, member, hold):
        self._context = context
        self._ledger = ledger
        self._leases = leases
        self._member = member
        self._hold = hold

    def follow(self, server, moves):
        """Update the member; return False if that has to wait.

        :param server: servers.Server
        :param moves: VRTMoves of the server
        """
        end = MEMBER_STATUS_AFTER.get(server.fate)
        owns = end and self._ledger.allocations(
            self._context, self._member.server_uuid
        )
        if end is None or (owns and server.fate == ServerOutcome.BROKEN):
            record_location.follow(
                *(self._context, self._ledger, self._member, self._hold),
                *(moves, server),
            )
        elif not owns:
            self._end(end)
        elif server.fate == ServerOutcome.DELETED:
            # Nova deletes its allocations, except those of a late request.
            self._empty(end)
        elif server.fate == ServerOutcome.UNSCHEDULED or self._is_overdue():
            self._take_back()
        else:
            return False
        return True

    def _is_overdue(self):
        """Check whether Nova will not build a server that it does not know."""
        deadline = CONF.vrt.unknown_server_deadline
        uuid = self._member.server_uuid
        if not self._member.is_unchanged_for(self._context, deadline):
            return False
        # The server may have been mapped to a cell after the first read.
        fate = servers.read(self._context, [uuid])[uuid].fate
        if fate != ServerOutcome.UNKNOWN_TO_NOVA:
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
        """Hold again the capacity of a server that will not be built.

        If its group no longer holds anything, release the capacity.
        """
        if self._is_being_taken_back():
            return
        group = VRTGroup.brief(self._context, self._member.group_id)
        # The status decides, not the expiry time: an expired group keeps its
        # holds until the reaper expires it, so that capacity of an exclusive
        # host is never free in between.
        holds = group is not None and group.status in states.GROUP_WITH_HOLDS
        if self._hold is None or not holds:
            self._empty(MEMBER_STATUS_AFTER[ServerOutcome.UNSCHEDULED])
            return
        with self._owning() as lease:
            if lease is not None:
                take_back.take_back(
                    self._context, self._ledger, lease, self._hold
                )

    def _is_being_taken_back(self):
        """Check whether a planner has begun that; the next one finishes it."""
        return self._hold is None and VRTHold.get_by_member(
            self._context, self._member.id
        )

    def _empty(self, end):
        """Release the allocations of a server, and end its member."""
        self._ledger.empty_consumer(self._context, self._member.server_uuid)
        self._end(end)

    def _end(self, end):
        """End a member whose server owns nothing, or hold again for it."""
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
            # Otherwise the hold does not match the member's description.
            and member.server_flavor is None
            and VRTGroup.is_current(self._context, member.group_id)
        ):
            ownership.end(self._context, hold, member, end)
            return
        with self._owning() as lease:
            if lease is None or self._hold_again(lease):
                return
            if not ownership.end(self._context, hold, member, end):
                # The member has lost its hold meanwhile.
                self._end_without_hold(end)

    def _end_without_hold(self, end):
        """End a member, unless its server's capacity is being taken back."""
        member = self._member
        is_promised = VRTHold.get_by_member(self._context, member.id)
        if member.status in states.MEMBER_SERVER_RUNS and not is_promised:
            with contextlib.suppress(exception.MemberStateConflict):
                transitions.end(self._context, self._member, **end)

    def _hold_again(self, lease):
        """Hold the capacity for another server, within the tenant's quota.

        :returns: False without capacity or quota, or if a policy forbids it
        """
        group = VRTGroup.get_brief(self._context, self._hold.group_id)
        judge = policy_check.RedeemCheck(self._context, group.uuid)

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
    """Compare holds of members with their allocations in Placement.

    :param changes: ChangedProviders, to read only what has changed
    """
    changes = changes or ChangedProviders()
    by_provider = collections.defaultdict(list)
    for hold, member in _held(context):
        for provider in hold.allocations:
            by_provider[provider].append((hold, member))
    for provider, held in sorted(by_provider.items()):
        if not changes.are_due(provider, [provider]):
            continue
        with availability.skip_unavailable(f'Provider {provider}'):
            if _follow_provider(context, ledger, leases, provider, held):
                changes.note(provider, [provider])


def _follow_provider(context, ledger, leases, provider, held):
    """Compare the holds on a provider; return whether all of them match."""
    # A hold may have ended because of another of its providers.
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
        with availability.skip_unavailable(f'Hold {hold.uuid}'):
            _restore(context, ledger, leases, hold, member)
    lost = overcommitment.overcommitted_on(context, ledger, provider, used)
    too_much = [each for each in held if each[0].uuid in lost]
    _lose(context, too_much, overcommitment.IS_TOO_MUCH)
    return not changed and not lost


def follow_hosts(context, _ledger, _leases):
    """End holds on hosts that the operator takes out of service."""
    by_host = collections.defaultdict(list)
    for hold, member in _held(context):
        by_host[hold.host, hold.provider_uuid].append((hold, member))
    for (host, node_uuid), held in by_host.items():
        if hosts.is_out_of_service(context, host, node_uuid):
            _lose(context, held, HOST_IS_GONE)


def _held(context):
    """Return [(hold, member)] of the members in state HELD.

    Placeholders are excluded: maintain.keep() follows them. So are members
    that are being redeemed: the hold may already be the server's, which the
    redeeming scheduler or the reaper finds out.
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
    """Hold again, under a new uuid, a hold whose allocation was changed."""
    with leases.owning(context, ledger, hold.group_id) as lease:
        if (
            lease is None
            # A release or redeem changes the row before Placement.
            or not VRTHold.still(context, [hold], states.Hold.HELD)
            or ledger.allocations(context, hold.uuid) == hold.allocations
        ):
            return
        group = VRTGroup.get_brief(context, hold.group_id)
        judge = policy_check.RedeemCheck(context, group.uuid)

        def check():
            check_policies(judge, member)

        if not _hold_again(context, ledger, lease, hold, check):
            _lose(context, [(hold, member)], HOLD_IS_LOST)


def _hold_again(context, ledger, lease, hold, check):
    """Return False without capacity or quota, or if a policy forbids it."""
    try:
        return hold_again.hold_again(context, ledger, lease, hold, check)
    except (exception.LimitExceeded, exception.HoldFailed) as exc:
        LOG.info('Hold %s is not held again: %s', hold.uuid, exc)
        return False
    except exception.GenerationConflict:
        # Another process has ended the hold meanwhile.
        return True


def check_policies(judge, member):
    """Check that policies allow a member on its host, with all others now.

    :param judge: policy_check.RedeemCheck
    :raises: HoldFailed
    """
    if judge.refused([member]):
        raise exception.HoldFailed(reason=BREAKS_POLICY)


def _may_hold_again(status):
    """Check whether capacity is held again; not if members are replaced."""
    is_placed_anew = (
        CONF.vrt.max_automatic_replacements and status == states.Member.FAILED
    )
    return CONF.vrt.rehold_after_server_end and not is_placed_anew


def _lose(context, held, fault):
    """End holds that their members cannot keep.

    :param held: [(VRTHold, its VRTMember in state HELD)]
    """
    values = {'status': states.Member.FAILED, 'fault': fault}
    for hold, member in held:
        ownership.end(context, hold, member, values)
