# SPDX-License-Identifier: Apache-2.0
"""Moves of members: to where the group's policies are kept, and known of.

The filter asks once for all hosts and marks the candidates that it lets pass.
By the mark the claim finds what the filter knew, looks again where everybody
is now that nobody else of the group can begin a move, and writes the move down
before Placement is asked. So of two that would pass each other by, the second
is refused.

What cannot be read does not stop a move: it goes on, is logged, and what it
breaks is shown as drift.
"""

from nova.scheduler import utils
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import relocation
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler import candidate
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.look import judging
from nova_groupext.scheduler.look import positions

LOG = logging.getLogger(__name__)


def catch_up(context, ledger, pointed, server_uuid):
    """Let the rows of a group follow its servers before one of them moves.

    What is not known yet of moves that were forced past the scheduler, or
    are over, would count, or not count, else.
    """
    try:
        group, member = find(context, pointed, server_uuid)
        if member is not None:
            follow.follow_servers(context, ledger, group=group)
    except (*db_errors.ANY, exception.VRTException):
        LOG.exception(
            'Where the servers of VRT group %s are now is not known.',
            pointed.group,
        )


def permitted(context, pointed, spec, host_states):
    """Return the hosts that a mapped server with our hints may move to.

    :param pointed: pointer.Pointer
    """
    if utils.request_is_rebuild(spec):
        return host_states
    try:
        return _permitted(context, pointed, spec.instance_uuid, host_states)
    except db_errors.ANY:
        LOG.exception(
            'Server %s moves although its VRT group cannot be read.',
            spec.instance_uuid,
        )
        return host_states


def _permitted(context, pointed, server_uuid, host_states):
    group, member = find(context, pointed, server_uuid)
    if member is None:
        return host_states
    if exclusive.keeps(group, member.path):
        LOG.warning(
            'Server %(server)s, member %(member)s of VRT group %(group)s, '
            'cannot be moved: its group has a strict policy "exclusive".',
            {'server': server_uuid, **pointed._asdict()},
        )
        return []
    seats = {
        host.uuid: positions.Seat(host.host, host.nodename)
        for host in host_states
    }
    move = Move(context, group, member, set(seats.values()))
    passed = []
    for host in host_states:
        seat = seats[host.uuid]
        if move.allows(seat):
            host.allocation_candidates = [
                candidate.MovingAllocation(
                    each, move, seat, candidate.growth_of(each)
                )
                for each in host.allocation_candidates
            ]
            passed.append(host)
    return passed


def find(context, pointed, server_uuid):
    """Return (VRTGroup, VRTMember) of a server; (None, None) of a stranger's.

    A server may be one by its hints alone: its group was deleted, or has
    another server in its place. One that is being adopted is a member of its
    group's draft.
    """
    group = VRTGroup.find(context, pointed.group)
    if group is None or group.status == states.Group.RELEASING:
        return None, None
    member = _member(context, group, server_uuid)
    return (group, member) if member else (None, None)


def _member(context, group, server_uuid):
    """Return the VRTMember of a group, or its draft, that a server is."""
    # Its hint may name several members.
    for member in VRTMember.list_by_servers(context, [server_uuid]):
        if member.group_id == group.id:
            return member if member.status in states.IN_USE else None
        draft = VRTGroup.brief(context, member.group_id)
        if draft and draft.revises_id == group.id:
            return member
    return None


def claim(context, request, claim_resources):
    """Claim a host for a move that is written down first.

    :param request: candidate.MovingAllocation
    :param claim_resources: asks Placement, called without arguments
    :returns: whether the host is claimed, None if that is not known; only
        what Placement has refused is not written down any more
    """
    try:
        with faultpoints.around('moving.write_down'):
            row = request.move.begin(context, request.seat)
    except db_errors.ANY:
        LOG.exception('A move to %s is not written down.', request.seat.host)
        return claim_resources()
    except (exception.GroupNotFound, exception.MemberNotFound) as exc:
        LOG.info("A server moves as nobody's: %s", exc)
        return claim_resources()
    if row is None:
        return False
    is_claimed = claim_resources()
    # None, or an error: it may have been claimed, or be so late.
    if is_claimed is False:
        _forget(context, row)
    return is_claimed


def _forget(context, row):
    """Forget a move that never came about, or leave that to the reaper."""
    try:
        VRTMove.forget(context, [row])
    except db_errors.ANY:
        LOG.exception('Move %s is forgotten later.', row.id)


class Move:
    """One server's move, with what its group allows.

    :param seats: the positions.Seats that are asked about
    """

    def __init__(self, context, group, member, seats):
        self._member = member
        self._judge = judging.Judge(context, group)
        self._judged = self._judge_of(self._judge.positions(context), seats)

    @property
    def is_bound(self):
        """Whether any strict policy is about it."""
        return self._judged.is_bound

    def allows(self, seat):
        """Tell whether all strict policies are kept if it goes there."""
        return self._judged.allows(seat.node)

    def cost(self, seat):
        """What the group would cost then; the least is the best."""
        return self._judged.cost(seat.node)

    def begin(self, context, seat):
        """Write down that it goes there, if that is allowed at this moment.

        :returns: VRTMove, or None if others have moved, or the group was
            revised, so that it is not
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
            # Then nobody has judged it.
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
        """Heed what was done to the group since the filter looked."""
        self._judge.heed(context)
        group = self._judge.group
        # Who was being adopted may be another member by now.
        member = _member(context, group, self._member.server_uuid)
        if member is None:
            raise exception.MemberNotFound(
                group=group.uuid, member=self._member.path
            )
        self._member = member

    def _judge_of(self, now, seats):
        """Return a planner's Move that knows all these seats."""
        path = self._member.path
        return self._judge.of_member(now, path, seats, now.seats.get(path))
