# SPDX-License-Identifier: Apache-2.0
"""Is a plan lawful wherever servers that move or are resized come to rest?

A plan takes each server to be at one host. One that moves, or for whose resize
something is held, may end at another, and nobody may be put where that would
break a strict policy.
"""

import functools

from nova_groupext import exception
from nova_groupext.planner import moves
from nova_groupext.scheduler.look import definition
from nova_groupext.scheduler.look import hosts


class Ends:
    """A placement, and where else its servers may come to be.

    :param group: VRTGroup, as it is to be
    :param placement: as VRTPlan has it, servers where they are
    :param resizes: {path: Seat} of the places that are planned for resizes
    :param now: positions.Positions of the group
    """

    def __init__(self, context, group, placement, resizes, now):
        self._context = context
        self._group = group
        self._names = {
            **{seat['node']: seat['host'] for seat in placement.values()},
            **{seat.node: seat.host for seat in resizes.values()},
            **now.names,
        }
        self._placement = placement
        self._resizes = resizes
        self._moves = {
            path: {seat.node for seat in seats}
            for path, seats in now.targets.items()
            if path in placement
        }
        # {path: ids of hosts} until all moves are over.
        self._moved = {
            path: {seat['node'], *self._moves.get(path, ())}
            for path, seat in placement.items()
        }

    @property
    def moving(self):
        """The paths of the members that move."""
        return self._moves.keys()

    def unwelcome(self, coming):
        """Return the paths of those that cannot be where they are to come.

        :param coming: {member path: host id} of the places that are new
        """
        if not self._moves and not self._resizes:
            return set()
        places = {
            path: {*nodes, *self._resized(path)}
            for path, nodes in self._moved.items()
        }
        return {
            path
            for path, host in coming.items()
            if host != self._home(path)
            and not moves.Move(
                self._problem,
                {other: h for other, h in places.items() if other != path},
                path,
                None,
            ).allows(host)
        }

    def check(self):
        """Refuse a plan that a move could make break a strict policy.

        :raises: MemberStateConflict that names those who move
        """
        if self._moves and any(
            moves.harm(self._problem, policy, self._moved)
            for policy in self._problem.topology.policies
            if policy.strict
        ):
            raise conflict(self._moves)

    def _home(self, path):
        """Where who is to be resized is: others come there, if anybody."""
        is_server = path in self._resizes
        return self._placement[path]['node'] if is_server else None

    def _resized(self, path):
        return {self._resizes[path].node} if path in self._resizes else ()

    @functools.cached_property
    def _problem(self):
        tree = definition.read(self._group)
        return definition.of_places(
            tree,
            hosts.Domains(self._context, definition.levels(tree)),
            self._names,
        )


def conflict(moving):
    """Return the error of one who has to wait for servers that move.

    :param moving: paths of their members
    """
    return exception.state_conflict(
        sorted(moving),
        status='moving',
        reason='where that may end, a strict policy would be broken; try '
        'again when it is over',
    )
