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
from nova_groupext.api import revise
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import group_views
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
            'adopt': (rules.ADOPT, self._adopt),
            'boot': (rules.BOOT, self._boot),
            'extend': (rules.EXTEND, self._extend),
            'hold': (rules.HOLD, self._hold),
            'propose': (rules.PROPOSAL, self._propose),
            'release': (rules.RELEASE, self._release),
            'replan': (rules.REPLAN, self._replan),
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
        rule, work = self._actions[name]
        parameters = parameters or {}
        group = groups.get_authorised(
            req.environ['nova.context'], rule, group_id, parameters
        )
        work(req, group, parameters)

    def _adopt(self, req, group, parameters):
        """Make existing servers members of the group."""
        context = req.environ['nova.context']
        draft = adopt.adopt(context, group, parameters['servers'])
        self._accept(context, group, 'adopt', draft)

    @staticmethod
    def _boot(req, group, parameters):
        """Start creating the servers of held members in the background."""
        context = req.environ['nova.context']
        if group.project_id != context.project_id:
            raise exception.GroupNotFound(group=group.uuid)
        _check_bootable(group)
        boot.read(req, parameters, group, '$.boot').start(
            group, parameters.get('generation')
        )
        VRTEvent.record_request(context, group.id, 'boot')

    @staticmethod
    def _extend(req, group, parameters):
        context = req.environ['nova.context']
        describe.check_expires_in(parameters, '$.extend')
        seconds = parameters.get('expires_in', group.expires_in)
        limited = describe.limit_expires_in(seconds)
        allowed = extend.allowed_seconds(context, group, limited)
        group.extend(context, allowed, parameters.get('generation'))
        VRTEvent.record_request(context, group.id, 'extend')
        notifications.notify_group(context, notifications.Event.EXTEND, group)

    def _hold(self, req, group, parameters):
        context = req.environ['nova.context']
        if group.status not in states.GROUP_WITHOUT_HOLDS:
            raise group.conflict(_hold_obstacle(group))
        if group.is_exclusive:
            context.can(rules.EXCLUSIVE, {'project_id': group.project_id})
        quota.check(
            context,
            group.project_id,
            [m for m in group.members if m.status == states.Member.TENTATIVE],
        )
        groups.check_planning_limit(context, group.project_id)
        group.change(
            context,
            states.Group.PLANNING,
            hold_when_planned=True,
            expires_in=describe.limit_expires_in(group.expires_in),
            fault=None,
        )
        self._accept(context, group, 'hold', group)

    def _propose(self, req, group, parameters):
        """Request a proposal of server moves, replacing an earlier one."""
        context = req.environ['nova.context']
        if not group_views.drift(group):
            VRTProposal.request(context, group, proposal.PLACED, fewest=True)
            VRTEvent.record_request(context, group.id, 'propose')
            return
        groups.check_planning_limit(context, group.project_id)
        VRTProposal.request(context, group)
        VRTEvent.record_request(context, group.id, 'propose')
        groups.cast_to_planner(self._planner.propose, context)

    def _release(self, req, group, parameters):
        context = req.environ['nova.context']
        if group.status not in CAN_RELEASE:
            raise group.conflict('it has no held members')
        paths = parameters.get('members')
        generation = parameters.get('generation')
        if paths is None:
            released = releases.release_all(context, group, generation)
        else:
            members = groups.members_without_server(
                group, paths, 'it has a server and no hold to release'
            )
            released = releases.release_members(
                context, group, [*members.values()], generation
            )
        if released:
            notifications.notify_group(
                context, notifications.Event.RELEASE, group
            )
        self._accept(context, group, 'release', group)

    def _replan(self, req, group, parameters):
        context = req.environ['nova.context']
        if group.is_exclusive:
            context.can(rules.EXCLUSIVE, {'project_id': group.project_id})
        group_to_plan = revise.replan(
            context, group, parameters.get('members')
        )
        self._accept(context, group, 'replan', group_to_plan)

    def _accept(self, context, group, name, group_to_plan):
        groups.accept(context, group, name, self._planner, group_to_plan)


def _check_bootable(group):
    """Refuse to boot a group of which nothing is held.

    One whose members all have servers may be booted again: it is done.

    :raises: GroupStateConflict
    """
    statuses = {member.status for member in group.members}
    is_done = statuses.issubset(states.MEMBER_HAS_SERVER)
    if group.status not in states.GROUP_WITH_HOLDS or not (
        is_done or states.Member.HELD in statuses
    ):
        raise group.conflict(
            'it has no held members; replan it to hold those without a server'
        )


def _hold_obstacle(group):
    if group.status in states.GROUP_REPLACEABLE:
        return (
            'it cannot be held in this status; use "replan" to hold its lost '
            'or released members'
        )
    return 'it cannot be held in this status'
