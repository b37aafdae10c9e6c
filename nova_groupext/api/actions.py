# SPDX-License-Identifier: Apache-2.0
"""Actions on a group: ``POST /os-vrt-groups/{id}/action``."""

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.api import adopt
from nova_groupext.api import boot
from nova_groupext.api import describe
from nova_groupext.api import extend
from nova_groupext.api import groups
from nova_groupext.api import planning_limit
from nova_groupext.api import revise
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import group_views
from nova_groupext.conf import CONF
from nova_groupext.objects import proposal
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.policies import rules
from nova_groupext.solver.language import validation

# Releasing a released group again is allowed.
CAN_RELEASE = (*states.GROUP_WITH_HOLDS, states.Group.RELEASED)


class Actions:
    """The actions, by their names in a request.

    :param planner: rpcapi.PlannerAPI
    """

    def __init__(self, planner):
        self._planner = planner
        self._actions = {
            'adopt': self._adopt,
            'boot': self._boot,
            'extend': self._extend,
            'hold': self._hold,
            'propose': self._propose,
            'release': self._release,
            'replan': self._replan,
        }

    def perform(self, req, group_id, body):
        """Perform the action of a request's body.

        :raises: InvalidInput, and what the action raises
        """
        validation.check(body, request_schemas.ACTION, '$')
        if len(body) != 1:
            raise validation.InvalidInput(
                '$', 'must contain exactly one action'
            )
        [(name, parameters)] = body.items()
        self._actions[name](req, group_id, parameters)

    def _adopt(self, req, group_id, parameters):
        """Make existing servers members of the group."""
        context = req.environ['nova.context']
        group = groups.get_authorised(
            context, rules.ADOPT, group_id, parameters
        )
        draft = adopt.adopt(context, group, parameters['servers'])
        self._accept(context, group, 'adopt', draft)

    def _boot(self, req, group_id, parameters):
        """Start creating the servers of held members in the background."""
        context = req.environ['nova.context']
        group = groups.get_authorised(
            context, rules.BOOT, group_id, parameters
        )
        if group.project_id != context.project_id:
            raise exception.GroupNotFound(group=group_id)
        if group.status not in states.GROUP_WITH_HOLDS:
            raise group.conflict('it has no held members')
        boot.read(req, parameters, group, '$.boot').start(
            group, (parameters or {}).get('generation')
        )
        VRTEvent.record_request(context, group.id, 'boot')

    def _extend(self, req, group_id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(
            context, rules.EXTEND, group_id, parameters
        )
        parameters = parameters or {}
        describe.check_expires_in(parameters, '$.extend')
        seconds = parameters.get('expires_in', group.expires_in)
        extend.extend(
            context,
            group,
            int(min(seconds, CONF.vrt.max_expires_in)),
            parameters.get('generation'),
        )
        VRTEvent.record_request(context, group.id, 'extend')
        notifications.notify_group(context, notifications.Event.EXTEND, group)

    def _hold(self, req, group_id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(
            context, rules.HOLD, group_id, parameters
        )
        if group.status not in states.GROUP_WITHOUT_HOLDS:
            raise group.conflict(_hold_obstacle(group))
        if group.is_exclusive:
            context.can(rules.EXCLUSIVE, {'project_id': group.project_id})
        quota.check(
            context,
            group.project_id,
            [m for m in group.members if m.status == states.Member.TENTATIVE],
        )
        planning_limit.check(context, group.project_id)
        group.change(
            context, states.Group.PLANNING, hold_when_planned=True, fault=None
        )
        self._accept(context, group, 'hold', group)

    def _propose(self, req, group_id, parameters):
        """Request a proposal of server moves, replacing an earlier one."""
        context = req.environ['nova.context']
        group = groups.get_authorised(
            context, rules.PROPOSAL, group_id, parameters
        )
        if not group_views.drift(group):
            VRTProposal.request(context, group, proposal.PLACED, fewest=True)
            VRTEvent.record_request(context, group.id, 'propose')
            return
        planning_limit.check(context, group.project_id)
        VRTProposal.request(context, group)
        VRTEvent.record_request(context, group.id, 'propose')
        groups.cast_to_planner(self._planner.propose, context)

    def _release(self, req, group_id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(
            context, rules.RELEASE, group_id, parameters
        )
        if group.status not in CAN_RELEASE:
            raise group.conflict('it has no held members')
        parameters = parameters or {}
        paths = parameters.get('members')
        generation = parameters.get('generation')
        if paths is None:
            released = releases.release_all(context, group, generation)
        else:
            members = _members_to_release(group, paths)
            released = releases.release_members(
                context, group, members, generation
            )
        if released:
            notifications.notify_group(
                context, notifications.Event.RELEASE, group
            )
        self._accept(context, group, 'release', group)

    def _replan(self, req, group_id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(
            context, rules.REPLAN, group_id, parameters
        )
        if group.is_exclusive:
            context.can(rules.EXCLUSIVE, {'project_id': group.project_id})
        movable_paths = (parameters or {}).get('members')
        group_to_plan = revise.replan(context, group, movable_paths)
        self._accept(context, group, 'replan', group_to_plan)

    def _accept(self, context, group, name, group_to_plan):
        groups.accept(context, group, name, self._planner, group_to_plan)


def _hold_obstacle(group):
    if group.status in states.GROUP_REPLACEABLE:
        return (
            'it cannot be held in this status; use "replan" to hold its lost '
            'or released members'
        )
    return 'it cannot be held in this status'


def _members_to_release(group, paths):
    """Return the members at these paths.

    :raises: MemberNotFound, MemberStateConflict if one has a server
    """
    by_path = {member.path: member for member in group.members}
    for path in paths:
        if path not in by_path:
            raise exception.MemberNotFound(group=group.uuid, member=path)
        if by_path[path].status in states.MEMBER_HAS_SERVER:
            raise exception.MemberStateConflict(
                member=path,
                status=by_path[path].status,
                reason='it has a server and no hold to release',
            )
    return [by_path[path] for path in paths]
