# SPDX-License-Identifier: Apache-2.0
"""Destinations of members' moves that keep their group's policies.

The filter checks all hosts at once and marks the candidates that pass. The
claim finds the check by the mark. While no other member of the group can begin
a move, it checks the destination again and stores the move; then it claims the
host in Placement. So of two conflicting moves the second is refused.

If the group cannot be read, the move goes on and is logged; violations show up
as drift.
"""

from nova.scheduler import utils
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import database_errors
from nova_groupext.objects import relocation
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.current import outsiders
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.placement import marked_requests
from nova_groupext.scheduler.protocol import exclusive_hosts

LOG = logging.getLogger(__name__)


def catch_up(context, ledger, pointed, server_uuid):
    """Update a group's rows from Nova before one of its servers moves.

    Forced moves are then part of the check, and ended ones are not.
    """
    try:
        group, member = find(context, pointed, server_uuid)
        if member is not None:
            follow.follow_servers(context, ledger, group=group)
    except (*database_errors.ANY, exception.VRTException):
        LOG.exception(
            'Where the servers of VRT group %s are now is not known.',
            pointed.group,
        )


def permitted(context, pointed, spec, host_states):
    """Return the hosts that a member's server may move to.

    :param pointed: pointer.Pointer
    """
    if utils.request_is_rebuild(spec):
        return host_states
    try:
        return _permitted(context, pointed, spec.instance_uuid, host_states)
    except database_errors.ANY:
        LOG.exception(
            'Server %s moves although its VRT group cannot be read.',
            spec.instance_uuid,
        )
        return host_states


def _permitted(context, pointed, server_uuid, host_states):
    group, member = find(context, pointed, server_uuid)
    if member is None:
        return host_states
    if exclusive_hosts.keeps(group, member.path):
        host_states = [host for host in host_states if _is_own(host)]
        if not host_states:
            LOG.warning(
                'Server %(server)s, member %(member)s of VRT group %(group)s, '
                'cannot be moved: its group has a strict policy "exclusive".',
                {'server': server_uuid, **pointed._asdict()},
            )
    seats = {
        host.uuid: locations.Location(host.host, host.nodename)
        for host in host_states
    }
    move = Move(context, group, member, set(seats.values()))
    passed = []
    for host in host_states:
        seat = seats[host.uuid]
        if move.allows(seat):
            host.allocation_candidates = [
                marked_requests.MoveRequest(
                    each, move, seat, marked_requests.growth_of(each)
                )
                for each in host.allocation_candidates
            ]
            passed.append(host)
    return passed


def _is_own(host):
    """Check whether a host has a reservation for the moving server."""
    return any(
        marked_requests.growth_of(each) for each in host.allocation_candidates
    )


def find(context, pointed, server_uuid):
    """Return (VRTGroup, VRTMember) of a server; (None, None) of no member.

    Hints alone do not make a member: the group may be deleted, or the member
    may have another server. A server that is being adopted is a member of the
    group's draft.
    """
    group = VRTGroup.find(context, pointed.group)
    if group is None or group.status == states.Group.RELEASING:
        return None, None
    member = _member(context, group, server_uuid)
    return (group, member) if member else (None, None)


def _member(context, group, server_uuid):
    """Return a server's VRTMember in a group or its draft; None without."""
    # The hint may name several members, so the server's uuid decides.
    for member in VRTMember.list_by_servers(context, [server_uuid]):
        if member.group_id == group.id:
            return (
                member if member.status in states.MEMBER_HAS_SERVER else None
            )
        draft = VRTGroup.brief(context, member.group_id)
        if draft and draft.revises_id == group.id:
            return member
    return None


def claim(context, request, claim_resources):
    """Store a move, then claim its host.

    :param request: marked_requests.MoveRequest
    :param claim_resources: claims in Placement, called without arguments
    :returns: whether the host is claimed, None if that is unknown; the stored
        move is removed only if Placement has refused
    """
    try:
        with faultpoints.around('moving.write_down'):
            row = request.move.begin(context, request.seat)
    except database_errors.ANY:
        LOG.exception('A move to %s is not written down.', request.seat.host)
        return claim_resources()
    except (exception.GroupNotFound, exception.MemberNotFound) as exc:
        LOG.info("A server moves as nobody's: %s", exc)
        return claim_resources()
    if row is None:
        return False
    is_claimed = claim_resources()
    # After None or an error the host may be claimed, now or later.
    if is_claimed is False:
        _forget(context, row)
    return is_claimed


def _forget(context, row):
    """Remove a move that did not happen; after an error the reaper does."""
    try:
        VRTMove.forget(context, [row])
    except database_errors.ANY:
        LOG.exception('Move %s is forgotten later.', row.id)


class Move:
    """Move of one server, with the policies of its group.

    :param seats: locations.Locations that are checked
    """

    def __init__(self, context, group, member, seats):
        self._member = member
        self._judge = policy_check.PolicyCheck(
            context, group, outsiders.of(context, group)
        )
        self._judged = self._judge_of(self._judge.positions(context), seats)

    @property
    def is_bound(self):
        """True if any strict policy restricts the member."""
        return self._judged.is_bound

    def allows(self, seat):
        """Check whether all strict policies allow a location."""
        return self._judged.allows(seat.node)

    def cost(self, seat):
        """Return the group's cost with the server there; least is best."""
        return self._judged.cost(seat.node)

    def begin(self, context, seat):
        """Store the move, if the policies allow it at this moment.

        :returns: VRTMove, or None if other moves or a revision of the group
            forbid it now
        :raises: GroupNotFound when the group was deleted, MemberNotFound when
            the server has left it
        """
        group = self._judge.group
        row = VRTMove(
            group_id=group.id,
            member_id=self._member.id,
            server_uuid=self._member.server_uuid,
            host=seat.host,
            node=seat.node,
        )

        def is_allowed():
            self._read_again(context)
            row.member_id = self._member.id
            now = self._judge.positions(context)
            return self._judge_of(now, {seat}).allows(seat.node)

        if relocation.begin_move(context, row, is_allowed):
            return row
        if VRTGroup.brief(context, group.id) is None:
            # The group was deleted before the check.
            raise exception.GroupNotFound(group=group.uuid)
        LOG.info(
            'VRT group %(group)s: member %(member)s does not move to %(host)s '
            'because others of the group have moved meanwhile, or it was '
            'revised.',
            {
                'group': group.uuid,
                'member': self._member.path,
                'host': seat.host,
            },
        )
        return None

    def _read_again(self, context):
        """Reload the group and the member of the server."""
        self._judge.heed(context)
        group = self._judge.group
        # An adopted server may have become a member of the group meanwhile.
        member = _member(context, group, self._member.server_uuid)
        if member is None:
            raise exception.MemberNotFound(
                group=group.uuid, member=self._member.path
            )
        self._member = member

    def _judge_of(self, now, seats):
        """Return the Verdicts about the member at these locations."""
        path = self._member.path
        return self._judge.of_member(now, path, seats, now.seats.get(path))
