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
from nova_groupext.scheduler.current import present_group
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.solver.language import paths
from nova_groupext.solver.moves import move_check


class PolicyCheck:
    """The check of locations against the current definition and the next one.

    The next one counts as soon as its draft is binding. A location that is
    allowed meanwhile is thus feasible whether the swap is made or compensated.

    :ivar group: VRTGroup or PresentGroup, as it was read last
    :param outsiders: {path name: Location} of members of other groups that
        soft policies refer to; only the cost depends on it
    """

    def __init__(self, context, group, outsiders=None):
        self._outsiders = outsiders or {}
        self._read(context, group)

    def _read(self, context, group):
        self.group = group
        self._definitions = [_Definition(context, group, self._outsiders)]

    def read_locations(self, context, draft_uuid):
        """Return the present MemberLocations of the group.

        :param draft_uuid: of the binding draft, or None; from now on, checks
            include its definition
        """
        draft = draft_uuid and VRTGroup.find(context, draft_uuid)
        self._definitions[1:] = (
            [_Definition(context, draft, {})] if draft else []
        )
        return locations.read(context, self.group, draft)

    def refresh(self, context):
        """Read the group again, and its policies if it was changed.

        :raises: GroupNotFound when it was deleted
        """
        group = VRTGroup.get(context, self.group.uuid)
        if group.status == states.Group.RELEASING:
            raise exception.GroupNotFound(group=group.uuid)
        previous, self.group = self.group, group
        if group.generation != previous.generation:
            self._read(context, group)

    def check_member(self, now, path, checked, current=None, unlocated=None):
        """Return the MemberCheck of one member, for some locations.

        :param now: MemberLocations
        :param checked: Locations that are to be checked
        :param current: Location where the member is; see move_check.Move
        :param unlocated: {path: planned Location} of members that have no hold
        """
        unlocated = unlocated or {}
        host_names = {
            **now.host_names,
            **{
                location.node: location.host
                for location in (
                    *checked,
                    *unlocated.values(),
                    *self._outsiders.values(),
                )
            },
        }
        others = {
            paths.outside('', other): {location.node}
            for other, location in self._outsiders.items()
        }
        return MemberCheck(
            [
                move_check.Move(
                    each.problem(host_names),
                    {**others, **now.nodes(excluded=path)},
                    path,
                    current and current.node,
                    {
                        other: {location.node}
                        for other, location in unlocated.items()
                    },
                )
                for each in self._definitions
            ]
        )


class _Definition:
    """The policies of one definition."""

    def __init__(self, context, group, outsiders):
        self._topology = definition.read(group, outsiders)
        self._domains = host_domains.Domains(
            context, definition.levels(self._topology)
        )

    def problem(self, host_names):
        return definition.policy_problem(
            self._topology, self._domains, host_names
        )


class MemberCheck:
    """The check of one member's host against several definitions.

    :param moves: the solver's Moves of that member; the first one belongs to
        the current definition
    """

    def __init__(self, moves):
        self._moves = moves

    @property
    def is_bound(self):
        """True if any strict policy refers to the member."""
        return any(move.is_bound for move in self._moves)

    def allows(self, node):
        return all(move.allows(node) for move in self._moves)

    def cost(self, node):
        return self._moves[0].cost(node)


def refused_members(context, members, state):
    """Return those members whose servers would violate a strict policy.

    A planned host may have become infeasible: a server was moved past the
    scheduler, or a host was put into another rack. A policy that is violated
    already only refuses what increases the violation. A group without policies
    costs no query.

    :param members: VRTMembers in state HELD, of one group
    :param state: work_queries.GroupState of the group, or None
    """
    if (
        state is None
        # The group is being deleted; the status of its members decides.
        or state.status == states.Group.RELEASING
        or not state.has_policies
    ):
        return []
    group = present_group.read(context, state)
    check = PolicyCheck(context, group)
    now = check.read_locations(context, state.binding_draft)
    unlocated = _unlocated(context, group, now)
    return [
        member
        for member in members
        if not _allows(check, now, member.path, unlocated)
    ]


def _unlocated(context, group, now):
    """Return {path: planned Location} of members that have no hold."""
    if all(member.path in now.locations for member in group.members):
        return {}
    plan = VRTPlan.find_newest(context, group.id)
    placements = plan.placements if plan else {}
    return {
        path: locations.Location(each.host, each.node)
        for path, each in placements.items()
        if path not in now.locations
    }


def _allows(check, now, path, unlocated):
    location = now.locations.get(path)
    if location is None:
        # Its hold has gone since the member was read.
        return True
    return check.check_member(
        now, path, {location}, unlocated=unlocated
    ).allows(location.node)
