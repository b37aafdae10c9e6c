# SPDX-License-Identifier: Apache-2.0
"""Which servers to move so that a group's strict policies hold again.

A plan, not an action: nothing is held for it, and whoever moves the servers is
asked the same as always. Only servers that rest are moved.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.planner import fewest
from nova_groupext.planner import problem as planner_problem
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler.decide import solving
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.look import positions

LOG = logging.getLogger(__name__)

UNDECIDED = {'status': 'undecided', 'fewest': False, 'moves': {}}


def propose(context, group, client):
    """Look for the fewest moves that mend a group.

    :param group: VRTGroup
    :param client: Nova's SchedulerReportClient
    :returns: {status, fewest: whether it is known that no fewer would do,
        moves: {path: {host, domains}}}
    """
    try:
        follow.follow_servers(context, ledger.Ledger(client), group=group)
        seen = look.look(context, group, client)
    except exception.PlacementUnavailable:
        LOG.exception('Nothing is proposed for VRT group %s.', group.uuid)
        return UNDECIDED
    now = positions.of(context, group)
    home = {path: seat.node for path, seat in now.seats.items()}
    if not seen.hosts.keys() >= set(home.values()):
        return UNDECIDED
    raw = {**seen.problem, 'time_limit': CONF.vrt.proposal_time_limit}
    problem = fewest.problem_of(
        planner_problem.parse(raw), home, _movable(group, now)
    )
    answer = solving.solve(problem)
    moves = fewest.moves(answer, home)
    is_proof = answer.status != 'refused' or seen.is_complete
    return {
        'status': answer.status if is_proof else UNDECIDED['status'],
        'fewest': not answer.stats.get('cut_short', True),
        'moves': {
            path: _seat(seen.hosts[node]) for path, node in moves.items()
        },
    }


def _movable(group, now):
    """Return the paths of the servers that may move."""
    bound = {
        path
        for policy in exclusive.policies(group)
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
