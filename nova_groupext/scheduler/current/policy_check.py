# SPDX-License-Identifier: Apache-2.0
"""The check of a member's host against its group's policies, as of now.

The group is read once. In a transaction that has locked its row it is read
again, and its policies only if the generation has changed.
"""

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.nova import hosts
from nova_groupext.solver.language import paths
from nova_groupext.solver.moves import move_check


class PolicyCheck:
    """The check of locations against the current definition and the next one.

    The next one counts as soon as its swap is prepared. A location that is
    allowed meanwhile is thus feasible whether the swap is made or compensated.

    :ivar group: VRTGroup, as it was read last
    :param outsiders: {path name: Location} of members of other groups that
        soft policies refer to; only the cost depends on it
    """

    def __init__(self, context, group, outsiders=None):
        self._outsiders = outsiders or {}
        self._read(context, group)

    def _read(self, context, group):
        self.group = group
        self._laws = [_Law(context, group, self._outsiders)]

    def positions(self, context):
        """Return the present MemberLocations of the group.

        From now on, checks include the definition of a prepared draft.
        """
        uuid = VRTGroup.prepared_draft(context, self.group.id)
        draft = uuid and VRTGroup.find(context, uuid)
        self._laws[1:] = [_Law(context, draft, {})] if draft else []
        return locations.of(context, self.group, draft)

    def heed(self, context):
        """Read the group again, and its policies if it was changed.

        :raises: GroupNotFound when it was deleted
        """
        group = VRTGroup.get(context, self.group.uuid)
        if group.status == states.Group.RELEASING:
            raise exception.GroupNotFound(group=group.uuid)
        was, self.group = self.group, group
        if group.generation != was.generation:
            self._read(context, group)

    def of_member(self, now, path, seats, home=None, away=None):
        """Return the Verdicts about one member, for some locations.

        :param now: MemberLocations
        :param seats: Locations that are to be checked
        :param home: Location where the member is; see move_check.Move
        :param away: {path: Location}; see move_check.Move
        """
        away = away or {}
        names = {
            **now.names,
            **{
                seat.node: seat.host
                for seat in (
                    *seats,
                    *away.values(),
                    *self._outsiders.values(),
                )
            },
        }
        others = {
            paths.outside('', other): {seat.node}
            for other, seat in self._outsiders.items()
        }
        return Verdicts(
            [
                move_check.Move(
                    law.problem(names),
                    {**others, **now.nodes(besides=path)},
                    path,
                    home and home.node,
                    {other: {seat.node} for other, seat in away.items()},
                )
                for law in self._laws
            ]
        )


class _Law:
    """The policies of one definition."""

    def __init__(self, context, group, outsiders):
        self._topology = definition.read(group, outsiders)
        self._domains = hosts.Domains(
            context, definition.levels(self._topology)
        )

    def problem(self, names):
        return definition.of_places(self._topology, self._domains, names)


class Verdicts:
    """The verdicts of several definitions on one member's host.

    :param moves: planner's Moves of that member; the first one belongs to the
        current definition
    """

    def __init__(self, moves):
        self._moves = moves

    @property
    def is_bound(self):
        """True if any strict policy refers to the member."""
        return any(move.is_bound for move in self._moves)

    def allows(self, host):
        return all(move.allows(host) for move in self._moves)

    def cost(self, host):
        return self._moves[0].cost(host)


class RedeemCheck:
    """The check of members against strict policies before they are redeemed.

    A planned host may have become infeasible: a server was moved past the
    scheduler, or a host was put into another rack. A group without policies
    costs one query.

    :param group_uuid: of the group that the request refers to
    """

    def __init__(self, context, group_uuid):
        self._context = context
        self._uuid = group_uuid
        self._judge = None

    def refused(self, members):
        """Return those members whose servers would violate a strict policy.

        A policy that is violated already only refuses what increases the
        violation.

        :param members: VRTMembers in state HELD
        """
        if not VRTGroup.has_policies(self._context, self._uuid):
            return []
        try:
            self._heed()
        except exception.GroupNotFound:
            # The group is being deleted; the status of its members decides.
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
            self._judge = PolicyCheck(self._context, group)
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
        """Return {path: Location} of planned members that have none now."""
        plan = VRTPlan.newest(self._context, self._judge.group.id)
        placement = plan.placement if plan else {}
        return {
            path: locations.Location(seat['host'], seat['node'])
            for path, seat in placement.items()
            if path not in now.seats
        }
