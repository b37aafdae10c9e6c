# SPDX-License-Identifier: Apache-2.0
"""Common steps of handlers: authorise, check, cast to planners."""

from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import planners
from nova_groupext.objects import states
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.policies import rules

LOG = logging.getLogger(__name__)


def get_authorised(context, rule, group_id, parameters=None):
    """Return a group if the policy rule allows the request.

    :param parameters: the request's parameters; ``generation``, if present, is
        the expected generation
    :raises: GroupNotFound for a deleted group, a draft, or a group of another
        project; PolicyNotAuthorized; StaleGeneration
    """
    group = VRTGroup.get(context, group_id)
    target = {'project_id': group.project_id}
    is_own_project = group.project_id == context.project_id
    if not is_visible(group) or not (
        is_own_project or context.can(rule, target, fatal=False)
    ):
        raise exception.GroupNotFound(group=group_id)
    context.can(rule, target)
    generation = (parameters or {}).get('generation')
    if generation is not None:
        check_generation(group, generation)
    return group


def check_generation(group, generation):
    """Check that a group still has the definition that a caller has read.

    :param generation: as the caller sent it: a number, or its text
    :raises: StaleGeneration
    """
    if int(generation) != group.definition_generation:
        raise exception.StaleGeneration(group=group.uuid)


def is_visible(group):
    """Check whether a group is visible: neither a draft nor deleted."""
    return group.status != states.Group.RELEASING and group.revises_id is None


def members_without_server(group, paths, reason):
    """Return {path: VRTMember} of some members, which must have no server.

    :param reason: phrase for the error
    :raises: MemberNotFound; MemberStateConflict that names all with a server
    """
    by_path = {
        member.path: member
        for member in group.members
        if not member.is_successor
    }
    for path in paths:
        if path not in by_path:
            raise exception.MemberNotFound(group=group.uuid, member=path)
    members = {path: by_path[path] for path in paths}
    in_use = [
        member
        for member in members.values()
        if member.status in states.MEMBER_HAS_SERVER
    ]
    if in_use:
        raise in_use_error(in_use, reason)
    return members


def in_use_error(members, reason):
    """Return the MemberStateConflict of members that have servers."""
    return exception.member_state_conflict(
        [each.path for each in members],
        status=' or '.join(sorted({each.status for each in members})),
        reason=reason,
    )


def may_see_hosts(context, group):
    """Check whether the context may see hosts, costs and statistics."""
    return context.can(
        rules.SHOW_PLACEMENT,
        {'project_id': group.project_id},
        fatal=False,
    )


def set_no_planner_fault(context, candidates):
    """Set an unsaved fault on groups if no planner runs.

    :param candidates: VRTGroups and drafts; only waiting ones get the fault
    """
    waiting = [
        group
        for group in candidates
        if group.status == states.Group.PLANNING and group.fault is None
    ]
    interval = CONF.vrt.heartbeat_interval
    if waiting and not VRTPlanner.is_any_alive(context, interval):
        for group in waiting:
            group.fault = planners.NO_PLANNER
            # Start of the wait: the same in every answer.
            group.fault_at = group.updated_at or group.created_at


def check_exclusive(context, group, parsed):
    """Check the right to use exclusive policies.

    :param parsed: Topology
    """
    if any(policy.is_exclusive for policy in parsed.policies):
        context.can(rules.EXCLUSIVE, {'project_id': group.project_id})


def check_planning_limit(context, project_id):
    """Refuse to plan more while a project waits for too many plans.

    Proposals count. Concurrent requests may exceed the limit slightly, which
    is acceptable.

    :raises: TooManyPlanned
    """
    limit = CONF.vrt.max_planning_per_project
    number = VRTGroup.count_planning(
        context, project_id
    ) + VRTProposal.count_waiting(context, project_id)
    if number >= limit:
        raise exception.TooManyPlanned(number=number, limit=limit)


def accept(context, group, name, planner, group_to_plan):
    """Store a request as an event of its group and notify a planner.

    :param name: name of the event
    :param planner: rpcapi.PlannerAPI
    :param group_to_plan: VRTGroup, or draft, for the planner to process
    """
    VRTEvent.record_request(context, group.id, name)
    cast_to_planner(planner.serve_group, context, group_to_plan.uuid)


def cast_to_planner(cast, context, *args):
    """Send a cast to a planner; log failures, as planners also poll.

    :param args: arguments of the cast after the context
    """
    try:
        cast(context, *args)
    except messaging.MessagingException:
        LOG.exception(
            'A cast to the planners failed; a planner will find the work '
            'when it polls: %s',
            args,
        )
