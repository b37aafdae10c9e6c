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
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.solver.moves import minimum_moves

LOG = logging.getLogger(__name__)

# A planner that exceeds the time limit by this factor counts as dead.
DEAD_PLANNER_FACTOR = 3

UNDECIDED = {'status': 'undecided', 'fewest': False, 'moves': {}}


def propose(context, group, placement_client):
    """Compute the proposal of a group, unless another planner does.

    :param group: VRTGroup, perhaps without its members
    """
    proposal = VRTProposal.claim(
        context, group, DEAD_PLANNER_FACTOR * CONF.vrt.proposal_time_limit
    )
    group = proposal and VRTGroup.find(context, group.uuid)
    if group is None:
        return
    values = UNDECIDED
    try:
        values = _find(context, group, placement_client)
    finally:
        # An error is answered as undecided, and not retried.
        proposal.answer(context, **values)


def _find(context, group, placement_client):
    """Return the column values of a proposal."""
    deadline = deadlines.Deadline(context, None, CONF.vrt.proposal_time_limit)
    try:
        server_changes.follow_servers(context, placement_client, group=group)
        snapshot = look.look(
            context, group, placement_client, check_deadline=deadline.check
        )
    except (exception.PlacementUnavailable, exception.OutOfTime):
        LOG.exception(
            'The proposal for VRT group %s is undecided: the cloud could not '
            'be read.',
            group.uuid,
        )
        return UNDECIDED
    present = locations.read(context, group)
    nodes = {
        path: location.node for path, location in present.locations.items()
    }
    if not snapshot.hosts.keys() >= set(nodes.values()):
        return UNDECIDED
    problem = deadline.limit(snapshot.problem)
    answer = solver_process.solve(
        minimum_moves.make_problem(problem, nodes, _movable(group, present))
    )
    moves = minimum_moves.list_moves(answer, nodes)
    is_proof = answer.status != 'refused' or not _is_incomplete(snapshot)
    return {
        'status': answer.status if is_proof else UNDECIDED['status'],
        'fewest': not answer.stats.get('cut_short', True),
        'moves': {
            path: {
                'host': snapshot.hosts[node].host,
                'domains': host_domains.all_of_state(snapshot.hosts[node]),
            }
            for path, node in moves.items()
        },
    }


def _is_incomplete(snapshot):
    """Check whether hosts may be missing; true if that is unknown."""
    try:
        return bool(snapshot.gaps.find())
    except (exception.PlacementUnavailable, exception.OutOfTime):
        return True


def _movable(group, present):
    """Return the paths of the servers that may move."""
    confined = {
        path
        for policy in exclusive_hosts.policies(group)
        for path in policy.members
    }
    return {
        member.path
        for member in group.members
        if member.status == states.Member.ACTIVE
        and member.path in present.locations
        and member.path not in present.destinations
        and member.path not in confined
    }
