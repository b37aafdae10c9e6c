# SPDX-License-Identifier: Apache-2.0
"""Is a plan lawful wherever the servers that are moving come to rest?

A plan takes each server to be at one host. One that moves may end at another,
and nobody may be put where that would break a strict policy.
"""

from nova_groupext import exception
from nova_groupext.planner import moves
from nova_groupext.scheduler.look import definition
from nova_groupext.scheduler.look import hosts


def check(context, group, placement, now):
    """Refuse a plan that could come to break a strict policy.

    :param group: VRTGroup, as it is to be
    :param placement: as VRTPlan has it
    :param now: positions.Positions of the group
    :raises: MemberStateConflict that names those who move
    """
    moving = {
        path: {seat.node for seat in seats}
        for path, seats in now.targets.items()
        if path in placement
    }
    if not moving:
        return
    tree = definition.read(group)
    names = {seat['node']: seat['host'] for seat in placement.values()}
    problem = definition.of_places(
        tree,
        hosts.Domains(context, definition.levels(tree)),
        {**names, **now.names},
    )
    ends = {
        path: {seat['node'], *moving.get(path, ())}
        for path, seat in placement.items()
    }
    if any(
        moves.harm(problem, policy, ends)
        for policy in tree.policies
        if policy.strict
    ):
        raise conflict(moving)


def conflict(moving):
    """Return the error of one who has to wait for servers that move.

    :param moving: paths of their members
    """
    return exception.MemberStateConflict(
        member=', '.join(sorted(moving)),
        status='moving',
        reason='where it may come to rest, a strict policy would be broken; '
        'try again when that is over',
    )
