# SPDX-License-Identifier: Apache-2.0
"""Which servers to move so that a group's strict policies hold again.

A plan, not an action: nothing is held for it, and whoever moves the servers is
asked the same as always. Only servers that rest are moved.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.planner import fewest
from nova_groupext.planner import problem as planner_problem
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import solving
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.look import positions

LOG = logging.getLogger(__name__)

# A planner that needs so many times as long as it may has died over it.
PATIENCE = 3

UNDECIDED = {'status': 'undecided', 'fewest': False, 'moves': {}}


def propose(context, group, client):
    """Look for the fewest moves that mend a group, if nobody else does.

    :param group: VRTGroup, perhaps without its parts
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
        # What fails is told, and not tried again.
        asked.answer(context, **found)


def _find(context, group, client):
    """Return the values of a proposal."""
    deadline = deadlines.Deadline(context, None, CONF.vrt.proposal_time_limit)
    try:
        follow.follow_servers(context, ledger.Ledger(client), group=group)
        seen = look.look(context, group, client, go_on=deadline.go_on)
    except (exception.PlacementUnavailable, exception.OutOfTime):
        LOG.exception('Nothing is proposed for VRT group %s.', group.uuid)
        return UNDECIDED
    now = positions.of(context, group)
    home = {path: seat.node for path, seat in now.seats.items()}
    if not seen.hosts.keys() >= set(home.values()):
        return UNDECIDED
    raw = {**seen.problem, 'time_limit': deadline.for_deciding()}
    problem = fewest.problem_of(
        planner_problem.parse(raw), home, _movable(group, now)
    )
    answer = solving.solve(problem)
    moves = fewest.moves(answer, home)
    is_proof = answer.status != 'refused' or not _unseen(seen)
    return {
        'status': answer.status if is_proof else UNDECIDED['status'],
        'fewest': not answer.stats.get('cut_short', True),
        'moves': {
            path: _seat(seen.hosts[node]) for path, node in moves.items()
        },
    }


def _unseen(seen):
    """Tell whether something may have been missed; yes if that is unknown."""
    try:
        return seen.blind_spots.find()
    except (exception.PlacementUnavailable, exception.OutOfTime):
        return True


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
