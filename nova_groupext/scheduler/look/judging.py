# SPDX-License-Identifier: Apache-2.0
"""Judging: do a group's policies allow a member's place, as all are now?

The group is read once; within a transaction that has its row to itself it is
read again only if it was revised since.
"""

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.planner import moves
from nova_groupext.scheduler.look import definition
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import positions


class Judge:
    """Judges places by the definition in force, and by the next one.

    That counts from when its swap is prepared: whether it is made or comes to
    nothing, what was allowed meanwhile stays lawful.

    :ivar group: VRTGroup, as it was read last
    """

    def __init__(self, context, group):
        self._read(context, group)

    def _read(self, context, group):
        self.group = group
        self._laws = [_Law(context, group)]

    def positions(self, context):
        """Return the positions.Positions of the group now.

        From then on a definition counts that is about to be in force.
        """
        uuid = VRTGroup.prepared_draft(context, self.group.id)
        draft = uuid and VRTGroup.find(context, uuid)
        self._laws[1:] = [_Law(context, draft)] if draft else []
        return positions.of(context, self.group, draft)

    def heed(self, context):
        """Heed what was done to the group since it was read.

        :raises: GroupNotFound when it was deleted
        """
        group = VRTGroup.get(context, self.group.uuid)
        if group.status == states.Group.RELEASING:
            raise exception.GroupNotFound(group=group.uuid)
        was, self.group = self.group, group
        if group.generation != was.generation:
            self._read(context, group)

    def of_member(self, now, path, seats, home=None, away=None):
        """Return Verdicts about one member, that know some seats.

        :param now: positions.Positions
        :param seats: the positions.Seats that are asked about
        :param home: the Seat where the member is; see moves.Move
        :param away: {path: Seat}; see moves.Move
        """
        away = away or {}
        names = {
            **now.names,
            **{seat.node: seat.host for seat in (*seats, *away.values())},
        }
        return Verdicts(
            [
                moves.Move(
                    law.problem(names),
                    now.nodes(besides=path),
                    path,
                    home and home.node,
                    {other: {seat.node} for other, seat in away.items()},
                )
                for law in self._laws
            ]
        )


class _Law:
    """The policies of one definition."""

    def __init__(self, context, group):
        self._topology = definition.read(group)
        self._domains = hosts.Domains(
            context, definition.levels(self._topology)
        )

    def problem(self, names):
        return definition.of_places(self._topology, self._domains, names)


class Verdicts:
    """What several definitions say of one member's place.

    :param moves: planner's Moves of that member; the first one's definition
        is in force
    """

    def __init__(self, moves):
        self._moves = moves

    @property
    def is_bound(self):
        """Whether any strict policy is about it."""
        return any(move.is_bound for move in self._moves)

    def allows(self, host):
        return all(move.allows(host) for move in self._moves)

    def cost(self, host):
        return self._moves[0].cost(host)


class RedeemJudge:
    """Tells which members cannot be servers, as the others are now.

    A place was lawful when it was planned; then somebody was moved past the
    scheduler, or a host was put into another rack. A group without policies
    costs one query.

    :param group_uuid: of a group that the request points to
    """

    def __init__(self, context, group_uuid):
        self._context = context
        self._uuid = group_uuid
        self._judge = None

    def refused(self, members):
        """Return those members whose servers would break a strict policy.

        What is broken already refuses only what makes it worse.

        :param members: VRTMembers in state HELD
        """
        if not VRTGroup.has_policies(self._context, self._uuid):
            return []
        try:
            self._heed()
        except exception.GroupNotFound:
            # It is being deleted; its members' rows tell what that means.
            return []
        now = self._judge.positions(self._context)
        away = self._away(now)
        return [
            member
            for member in members
            if not self._allows(now, member.path, away)
        ]

    def _heed(self):
        if self._judge is None:
            group = VRTGroup.get(self._context, self._uuid)
            self._judge = Judge(self._context, group)
        else:
            self._judge.heed(self._context)

    def _allows(self, now, path, away):
        seat = now.seats.get(path)
        if seat is None:
            # Its hold has gone since the member was read.
            return True
        judged = self._judge.of_member(now, path, {seat}, away=away)
        return judged.allows(seat.node)

    def _away(self, now):
        """Return {path: Seat} of those who were planned and have failed."""
        plan = VRTPlan.newest(self._context, self._judge.group.id)
        placement = plan.placement if plan else {}
        return {
            path: positions.Seat(seat['host'], seat['node'])
            for path, seat in placement.items()
            if path not in now.seats
        }
