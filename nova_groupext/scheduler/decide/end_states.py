# SPDX-License-Identifier: Apache-2.0
"""Check of a plan against the ends of moves, resizes and replacements.

A plan assigns one host to each server. A server that moves, or that has a
resize reservation, may end on another host, and the one that a successor
names will be gone: no member may be put where that would violate a strict
policy.
"""

import functools

from nova_groupext import exception
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.solver.moves import move_check


class EndStates:
    """Placements with the other hosts where its servers may end.

    :param group: VRTGroup with the definition that the plan is for
    :param placements: {path: MemberPlacement}, of servers on their present
        hosts
    :param resizes: {path: Location} that is planned for a resize
    :param present: locations.MemberLocations of the group
    """

    def __init__(self, context, group, placements, resizes, present):
        self._context = context
        self._group = group
        self._names = {
            **{each.node: each.host for each in placements.values()},
            **{location.node: location.host for location in resizes.values()},
            **present.host_names,
        }
        self._placements = placements
        self._resizes = resizes
        self._moves = {
            path: {location.node for location in locations}
            for path, locations in present.destinations.items()
            if path in placements
        }
        # Paths of the members that successors name
        self._succeeded = {
            member.succeeds
            for member in group.members
            if member.path in placements and member.succeeds in placements
        }
        # {path: host ids} that the member may be on until all moves end.
        self._moved = {
            path: {each.node, *self._moves.get(path, ())}
            for path, each in placements.items()
        }

    @property
    def moving(self):
        """Paths of the members that move."""
        return self._moves.keys()

    def rejected_members(self, coming):
        """Return the paths of members that must not use their new hosts.

        :param coming: {member path: host id} of the new assignments
        """
        if not (self._moves or self._resizes or self._succeeded):
            return set()
        nodes_of = {
            path: {*nodes, *self._resized(path)}
            for path, nodes in self._moved.items()
        }
        return {
            path
            for path, host in coming.items()
            if host != self._present_host(path)
            and not all(
                self._allows(path, host, nodes_of, absent)
                for absent in self._ends_of(path)
            )
        }

    def _ends_of(self, path):
        """Return the sets of members that may be gone when a member stays.

        Its own present place does not count, nor does a server that it, or
        another successor, names.
        """
        return [{path}, *({path, each} for each in self._succeeded - {path})]

    def _allows(self, path, host, nodes_of, absent):
        others = {
            each: h for each, h in nodes_of.items() if each not in absent
        }
        move = move_check.Move(self._problem, others, path, None)
        return move.allows(host)

    def check(self):
        """Refuse a plan that violates a strict policy after some move.

        :raises: MemberStateConflict that names the moving members
        """
        if self._moves and any(
            move_check.worst_violation(self._problem, policy, self._moved)
            for policy in self._problem.topology.policies
            if policy.strict
        ):
            raise conflict(self._moves)

    def _present_host(self, path):
        """Return the host of a server that is to be resized, else None."""
        is_server = path in self._resizes
        return self._placements[path].node if is_server else None

    def _resized(self, path):
        return {self._resizes[path].node} if path in self._resizes else ()

    @functools.cached_property
    def _problem(self):
        tree = definition.read(self._group)
        return definition.policy_problem(
            tree,
            host_domains.Domains(self._context, definition.levels(tree)),
            self._names,
        )


def conflict(moving):
    """Return the error of a revision that has to wait for moving servers.

    :param moving: paths of their members
    """
    return exception.member_state_conflict(
        sorted(moving),
        status='moving',
        reason='a move may end on a host where a strict policy is violated; '
        'retry when the move has ended',
    )
