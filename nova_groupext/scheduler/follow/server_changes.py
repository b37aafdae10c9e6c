# SPDX-License-Identifier: Apache-2.0
"""Follow servers: update of members after changes to their servers in Nova.

For each member with a server, in this order:

1. Read its hold, its stored moves and, after these, its server.
2. Unless the server has ended, or is in ERROR and owns capacity: record its
   location, or that it is shelved (protocol.record_location).
3. If the server has ended: end its member, or hold its capacity again for
   another server (protocol.hold_again). Empty allocations that a late request
   has given to a deleted server first.
4. If no host was found for the server, or Nova does not know it for too long:
   take its capacity back for its member (protocol.take_back).
5. At the end of a round: delete moves without a member.

==========  ===================================  ============================
crash       left behind                          finished by
==========  ===================================  ============================
in 2        rows of the former location          the next round, by this step
in 3        an emptied server; its member is     the same
            ACTIVE
in 3 or 4   a prepared swap                      the next owner of the lease
==========  ===================================  ============================

Silence proves nothing: if a cell or Placement does not answer, the state is
unknown and the rows stay unchanged.
"""

import contextlib

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.membership import settle_group
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.follow import lost_holds
from nova_groupext.scheduler.nova import servers
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
        'fault': 'its server could not be scheduled',
    },
    ServerOutcome.IN_ERROR: {
        'status': states.Member.FAILED,
        'fault': 'its server could not be built',
    },
    ServerOutcome.DELETED: {
        'status': states.Member.TENTATIVE,
        'fault': 'its server was deleted',
    },
}


def follow_servers(context, placement_client, leases=None, group=None):
    """Update members from the outcome and the location of their servers.

    :param leases: leases.Leases, to hold again what ended servers had; None to
        update only locations and members
    :param group: VRTGroup whose servers are followed; all by default
    :returns: uuids of servers that own capacity they will not use and may
        still be built, or whose state is unknown
    """
    members = VRTMember.list_with_servers(context, group and group.id)
    rows_of = record_location.read_rows(context, members)
    server_of = servers.read(
        context, [member.server_uuid for member in members]
    )
    waiting = set()
    for member in members:
        waiting.add(member.server_uuid)
        server = server_of.get(member.server_uuid)
        if server is None:
            continue
        with availability.isolate(f'server {member.server_uuid}'):
            update = _MemberUpdate(
                context, placement_client, leases, member, rows_of[member.id]
            )
            if update.follow(server):
                waiting.remove(member.server_uuid)
    if group is None:
        VRTMove.delete_unowned(context)
    return waiting


class _MemberUpdate:
    """Update of one member from the state of its server.

    :param rows: record_location.Rows of the member
    """

    def __init__(self, context, placement_client, leases, member, rows):
        self._context = context
        self._placement_client = placement_client
        self._leases = leases
        self._member = member
        self._rows = rows
        self._hold = rows.hold

    def follow(self, server):
        """Update the member; return False if that has to wait.

        :param server: servers.Server
        """
        values = MEMBER_STATUS_AFTER.get(server.outcome)
        has_capacity = values and self._placement_client.allocations(
            self._context, self._member.server_uuid
        )
        if values is None or (
            has_capacity and server.outcome == ServerOutcome.IN_ERROR
        ):
            record_location.record(
                *(self._context, self._placement_client),
                *(self._member, self._rows, server),
            )
        elif not has_capacity:
            self._end(values)
        elif server.outcome == ServerOutcome.DELETED:
            # Nova deletes its allocations, except those of a late request.
            self._empty(values)
        elif server.outcome == ServerOutcome.UNSCHEDULED or self._is_overdue():
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
        server = servers.read(self._context, [uuid]).get(uuid)
        if server is None or server.outcome != ServerOutcome.UNKNOWN_TO_NOVA:
            return False
        LOG.warning(
            'Server %(server)s has been unknown to Nova for %(deadline)s s; '
            'its capacity is taken back for member %(member)s.',
            {
                'server': uuid,
                'deadline': deadline,
                'member': self._member.path,
            },
        )
        return True

    def _take_back(self):
        """Hold again the capacity of a server that will not be built.

        If its group no longer holds anything, or needs no such hold instead of
        the server, release the capacity.
        """
        if self._is_being_taken_back():
            return
        group = VRTGroup.find_by_id(self._context, self._member.group_id)
        # The status decides, not the expiry time: an expired group keeps its
        # holds until the reaper expires it, so that capacity of an exclusive
        # host is never free in between.
        has_holds = (
            group is not None and group.status in states.GROUP_WITH_HOLDS
        )
        if (
            self._hold is None
            or not has_holds
            # The hold does not match the member's description.
            or self._member.server_request is not None
            or settle_group.keeps_no_hold(self._context, self._member)
        ):
            self._empty(MEMBER_STATUS_AFTER[ServerOutcome.UNSCHEDULED])
            return
        with self._acquire_lease() as lease:
            if lease is not None:
                take_back.take_back(
                    self._context, self._placement_client, lease, self._hold
                )

    def _is_being_taken_back(self):
        """Check whether a planner has begun that; the next one finishes it."""
        return self._hold is None and VRTHold.find_by_member(
            self._context, self._member.id
        )

    def _empty(self, values):
        """Release the allocations of a server, and end its member."""
        self._placement_client.empty(self._context, self._member.server_uuid)
        self._end(values)

    def _end(self, values):
        """End a member whose server owns nothing, or hold again for it."""
        hold, member = self._hold, self._member
        if hold is None:
            self._end_without_hold(values)
            return
        LOG.info(
            'Server %(server)s of member %(member)s: %(why)s',
            {
                'server': member.server_uuid,
                'member': member.path,
                'why': values['fault'],
            },
        )
        keeps_no_hold = settle_group.keeps_no_hold(self._context, member)
        if keeps_no_hold or not (
            _may_hold_again(values['status'])
            # Otherwise the hold does not match the member's description.
            and member.server_request is None
            and VRTGroup.is_redeemable(self._context, member.group_id)
        ):
            ownership.end(self._context, hold, member, values)
            if keeps_no_hold:
                settle_group.settle(self._context, member.group_id)
            return
        with self._acquire_lease() as lease:
            if lease is None or self._hold_again(lease):
                return
            if not ownership.end(self._context, hold, member, values):
                # The member has lost its hold meanwhile.
                self._end_without_hold(values)

    def _end_without_hold(self, values):
        """End a member, unless its server's capacity is being taken back."""
        member = self._member
        has_hold = VRTHold.find_by_member(self._context, member.id)
        if member.status in states.MEMBER_SERVER_RUNS and not has_hold:
            with contextlib.suppress(exception.MemberStateConflict):
                transitions.end_member(self._context, self._member, **values)

    def _hold_again(self, lease):
        """Hold the capacity for another server, within the tenant's quota.

        :returns: False without capacity or quota, or if a policy forbids it
        """
        group = VRTGroup.get_row(self._context, self._hold.group_id)

        def check():
            quota.check_or_wait(
                self._context, group.project_id, [self._member]
            )
            lost_holds.check_policies(self._context, self._member)

        return lost_holds.restore(
            self._context, self._placement_client, lease, self._hold, check
        )

    def _acquire_lease(self):
        if self._leases is None:
            return contextlib.nullcontext()
        return self._leases.owning(
            self._context, self._placement_client, self._member.group_id
        )


def _may_hold_again(status):
    """Check whether capacity is held again; not if members are replaced."""
    is_replaced = (
        CONF.vrt.max_automatic_replacements and status == states.Member.FAILED
    )
    return CONF.vrt.rehold_after_server_end and not is_replaced
