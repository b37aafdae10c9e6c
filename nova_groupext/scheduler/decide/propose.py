# SPDX-License-Identifier: Apache-2.0
"""Proposal of the fewest server moves that restore strict policies.

A proposal holds nothing and moves nothing; the moves that follow it are
checked like any other. Only servers that are not moving are proposed.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import solver_process
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.solver.model import problems
from nova_groupext.solver.moves import minimum_moves

LOG = logging.getLogger(__name__)

# A planner that exceeds the time limit by this factor counts as dead.
PATIENCE = 3

UNDECIDED = {'status': 'undecided', 'fewest': False, 'moves': {}}


def propose(context, group, client):
    """Compute the proposal of a group, unless another planner does.

    :param group: VRTGroup, perhaps without its members
    :param client: Nova's SchedulerReportClient
    """
    asked = VRTProposal.claim(
        context, group, PATIENCE * CONF.vrt.proposal_time_limit
    )
    whole = asked and VRTGroup.find(context, group.uuid)
    if whole is None:
        return
    found = UNDECIDED
    try:
        found = _find(context, whole, client)
    finally:
        # An error is answered as undecided, and not retried.
        asked.answer(context, **found)


def _find(context, group, client):
    """Return the column values of a proposal."""
    deadline = deadlines.Deadline(context, None, CONF.vrt.proposal_time_limit)
    try:
        follow.follow_servers(
            context, placement_client.PlacementClient(client), group=group
        )
        seen = look.look(context, group, client, go_on=deadline.go_on)
    except (exception.PlacementUnavailable, exception.OutOfTime):
        LOG.exception('Nothing is proposed for VRT group %s.', group.uuid)
        return UNDECIDED
    now = locations.of(context, group)
    home = {path: seat.node for path, seat in now.seats.items()}
    if not seen.hosts.keys() >= set(home.values()):
        return UNDECIDED
    raw = {**seen.problem, 'time_limit': deadline.for_deciding()}
    problem = minimum_moves.problem_of(
        problems.parse(raw), home, _movable(group, now)
    )
    answer = solver_process.solve(problem)
    moves = minimum_moves.moves(answer, home)
    is_proof = answer.status != 'refused' or not _unseen(seen)
    return {
        'status': answer.status if is_proof else UNDECIDED['status'],
        'fewest': not answer.stats.get('cut_short', True),
        'moves': {
            path: _seat(seen.hosts[node]) for path, node in moves.items()
        },
    }


def _unseen(seen):
    """Check whether hosts may be missing; true if that is unknown."""
    try:
        return seen.blind_spots.find()
    except (exception.PlacementUnavailable, exception.OutOfTime):
        return True


def _movable(group, now):
    """Return the paths of the servers that may move."""
    bound = {
        path
        for policy in exclusive_hosts.policies(group)
        for side in policy.sides
        for path in side
    }
    return {
        member.path
        for member in group.members
        if member.status == states.Member.ACTIVE
        and member.path in now.seats
        and member.path not in now.targets
        and member.path not in bound
    }


def _seat(host):
    return {'host': host.host, 'domains': hosts.all_domains(host)}
