# SPDX-License-Identifier: Apache-2.0
"""Controller of ``/os-vrt-groups``.

The decorator ``translate_errors`` converts exceptions of handlers into HTTP
errors.
"""

import contextlib

from nova.api.openstack import common
from nova.api.openstack import wsgi
from oslo_utils import strutils
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.api import adopt
from nova_groupext.api import boot
from nova_groupext.api import describe
from nova_groupext.api import extend
from nova_groupext.api import groups
from nova_groupext.api import planning_limit
from nova_groupext.api import related
from nova_groupext.api import rename
from nova_groupext.api import resource
from nova_groupext.api import revise
from nova_groupext.api import store
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import capabilities
from nova_groupext.api.views import group_views
from nova_groupext.conf import CONF
from nova_groupext.objects import listing
from nova_groupext.objects import proposal
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects.boot import VRTBoot
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.policies import rules
from nova_groupext.scheduler import rpcapi
from nova_groupext.solver.language import validation

# Most members on a page of detailed groups, those of their revisions included,
# unless one group has more.
PAGE_MEMBERS = 2000

CHANGES_SINCE = 'changes-since'

# Releasing a released group again is allowed.
CAN_RELEASE = (*states.GROUP_WITH_HOLDS, states.Group.RELEASED)


class VRTGroupController(wsgi.Controller):
    _view_builder_class = group_views.GroupView

    def __init__(self):
        super().__init__()
        self._planner = rpcapi.PlannerAPI()

    @resource.translate_errors
    def capabilities(self, req):
        """Return the policies, limits and quota of this cloud."""
        context = req.environ['nova.context']
        context.can(rules.CAPABILITIES, _own_project(context))
        resource.query(req, request_schemas.NOTHING)
        return capabilities.view(quota.get_usage(context, context.project_id))

    @resource.translate_errors
    def index(self, req):
        context = req.environ['nova.context']
        context.can(rules.INDEX, _own_project(context))
        vrt_groups = self._list(req, context)
        return self._view_builder.page(
            req,
            [self._view_builder.summary(req, each) for each in vrt_groups],
            _next_marker(req, vrt_groups, vrt_groups),
        )

    @resource.translate_errors
    def detail(self, req):
        context = req.environ['nova.context']
        context.can(rules.DETAIL, _own_project(context))
        vrt_groups = self._list(req, context)
        page = VRTGroup.limit_by_members(context, vrt_groups, PAGE_MEMBERS)
        return self._view_builder.page(
            req,
            self._details(req, VRTGroup.list_for_views(context, page)),
            _next_marker(req, vrt_groups, page),
            f'{group_views.COLLECTION}/detail',
        )

    @resource.translate_errors
    def show(self, req, id):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.SHOW, id)
        resource.query(req, request_schemas.NOTHING)
        return {'vrt_group': self._detail(req, group)}

    @resource.translate_errors
    def proposal(self, req, id):
        """Return the proposed server moves that repair a group's drift."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.PROPOSAL, id)
        resource.query(req, request_schemas.NOTHING)
        vrt_proposal = VRTProposal.find_by_group(context, group)
        if vrt_proposal is None:
            raise exception.ProposalNotFound(group=id)
        return {
            'proposal': self._view_builder.proposal(
                group, vrt_proposal, groups.may_see_hosts(context, group)
            )
        }

    @wsgi.response(202)
    @resource.translate_errors
    def create(self, req, body):
        """Store a described group and notify a planner."""
        context = req.environ['nova.context']
        context.can(rules.CREATE, _own_project(context))
        attributes, parsed = describe.read_body(body)
        group = describe.build_group(context, attributes, parsed)
        _check_rights(context, group, parsed)
        related.check(context, group.project_id, parsed)
        new_boot = boot.read_for_new_group(req, attributes, group)
        stored, is_new = store.store(context, group, parsed)
        if is_new:
            self._accept(context, stored, 'create', stored)
        if new_boot is not None:
            # An earlier try of the same request may be booting it.
            with contextlib.suppress(exception.GroupBooting):
                new_boot.start(stored)
                VRTEvent.record_request(context, stored.id, 'boot')
        detail = self._detail(req, stored)
        answer = wsgi.ResponseObject({'vrt_group': detail})
        answer['Location'] = detail['links'][0]['href']
        return answer

    @wsgi.response(202)
    @resource.translate_errors
    def update(self, req, id, body):
        """Revise the definition and notify a planner.

        Without a topology only the name, description or expiry change.
        """
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.UPDATE, id)
        attributes, parsed = describe.read_body(body, request_schemas.UPDATE)
        if 'expires_in' in attributes:
            context.can(rules.EXTEND, {'project_id': group.project_id})
        if parsed is None:
            rename.rename(context, group, attributes)
            renamed = groups.get_authorised(context, rules.UPDATE, id)
            return {'vrt_group': self._detail(req, renamed)}
        groups.check_exclusive(context, group, parsed)
        group_to_plan = revise.revise(context, group, attributes, parsed)
        self._accept(context, group, 'revise', group_to_plan)
        revised = groups.get_authorised(context, rules.UPDATE, id)
        return {'vrt_group': self._detail(req, revised)}

    @wsgi.response(202)
    @resource.translate_errors
    def delete(self, req, id):
        """Delete a group; a planner releases its holds, servers stay."""
        context = req.environ['nova.context']
        parameters = resource.query(req, request_schemas.DELETE)
        group = groups.get_authorised(context, rules.DELETE, id, parameters)
        generation = parameters.get('generation')
        group.mark_deleted(context, generation and int(generation))
        groups.cast_to_planner(self._planner.serve_group, context, group.uuid)

    @wsgi.response(202)
    @resource.translate_errors
    def action(self, req, id, body):
        validation.check(body, request_schemas.ACTION, '$')
        if len(body) != 1:
            raise validation.InvalidInput(
                '$', 'must contain exactly one action'
            )
        [(name, parameters)] = body.items()
        actions = {
            'adopt': self._adopt,
            'boot': self._boot,
            'extend': self._extend,
            'hold': self._hold,
            'propose': self._propose,
            'release': self._release,
            'replan': self._replan,
        }
        return actions[name](req, id, parameters)

    def _adopt(self, req, id, parameters):
        """Make existing servers members of the group."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.ADOPT, id, parameters)
        draft = adopt.adopt(context, group, parameters['servers'])
        self._accept(context, group, 'adopt', draft)

    def _boot(self, req, id, parameters):
        """Start creating the servers of held members in the background."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.BOOT, id, parameters)
        if group.project_id != context.project_id:
            raise exception.GroupNotFound(group=id)
        if group.status not in states.GROUP_WITH_HOLDS:
            raise group.conflict('it has no held members')
        boot.read(req, parameters, group, '$.boot').start(
            group, (parameters or {}).get('generation')
        )
        VRTEvent.record_request(context, group.id, 'boot')

    def _hold(self, req, id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.HOLD, id, parameters)
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

    def _propose(self, req, id, parameters):
        """Request a proposal of server moves, replacing an earlier one."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.PROPOSAL, id, parameters)
        if not group_views.drift(group):
            VRTProposal.request(context, group, proposal.PLACED, fewest=True)
            VRTEvent.record_request(context, group.id, 'propose')
            return
        planning_limit.check(context, group.project_id)
        VRTProposal.request(context, group)
        VRTEvent.record_request(context, group.id, 'propose')
        groups.cast_to_planner(self._planner.propose, context)

    def _release(self, req, id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.RELEASE, id, parameters)
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

    def _replan(self, req, id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.REPLAN, id, parameters)
        if group.is_exclusive:
            context.can(rules.EXCLUSIVE, {'project_id': group.project_id})
        movable_paths = (parameters or {}).get('members')
        group_to_plan = revise.replan(context, group, movable_paths)
        self._accept(context, group, 'replan', group_to_plan)

    def _extend(self, req, id, parameters):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.EXTEND, id, parameters)
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

    def _accept(self, context, group, name, group_to_plan):
        groups.accept(context, group, name, self._planner, group_to_plan)

    def _list(self, req, context):
        parameters = resource.query(req, request_schemas.LIST)
        limit, _marker = common.get_limit_and_marker(req)
        try:
            return VRTGroup.list(
                context,
                marker=_marker_values(parameters),
                limit=limit,
                sort_key=_sort_key(parameters),
                is_descending=parameters.get('sort_dir') == 'desc',
                **_filters(context, parameters),
            )
        except exception.GroupNotFound as exc:
            raise validation.InvalidInput(
                'query.marker', exc.format_message()
            ) from exc

    def _detail(self, req, group):
        [detail] = self._details(req, [group])
        return detail

    def _details(self, req, vrt_groups):
        """Return the detailed views of groups and their drafts."""
        context = req.environ['nova.context']
        ids = [group.id for group in vrt_groups]
        drafts = VRTGroup.drafts_for_views(context, ids)
        # Reload: a draft committed since the first load is not in drafts.
        vrt_groups = VRTGroup.refresh(context, vrt_groups)
        plans = VRTPlan.newest_by_group(
            context, [*ids, *(draft.id for draft in drafts.values())]
        )
        reservations = VRTHold.reservations_by_member(context, ids)
        boots = VRTBoot.by_group(context, ids)
        events = VRTEvent.by_group(context, ids)
        groups.set_no_planner_fault(context, [*vrt_groups, *drafts.values()])
        return [
            self._view_builder.detail(
                req,
                group,
                plans,
                reservations,
                drafts.get(group.id),
                boots.get(group.id),
                events.get(group.id, []),
                may_see_hosts=groups.may_see_hosts(context, group),
            )
            for group in vrt_groups
        ]


def _own_project(context):
    return {'project_id': context.project_id}


def _sort_key(parameters):
    return parameters.get('sort_key', listing.CREATED_AT)


def _marker_values(parameters):
    """Return the values of the marker, see listing.parse_marker(), or None."""
    if 'marker' not in parameters:
        return None
    try:
        return listing.parse_marker(
            parameters['marker'], _sort_key(parameters)
        )
    except ValueError as exc:
        raise validation.InvalidInput(
            'query.marker', 'is not the id of a group'
        ) from exc


def _next_marker(req, listed, shown):
    """Return the marker of the next page, or None after the last page.

    :param listed: VRTGroups within the limit of the page
    :param shown: the first of them, which the page contains
    """
    limit, _marker = common.get_limit_and_marker(req)
    if not shown or len(shown) == len(listed) < limit:
        return None
    return listing.marker_of(shown[-1], _sort_key(req.GET))


def _filters(context, parameters):
    """Return the filters of a list, restricted by the caller's rights."""
    filters = {
        name: parameters[name]
        for name in listing.FILTERS
        if name in parameters
    }
    if CHANGES_SINCE in filters:
        filters[CHANGES_SINCE] = _time(filters[CHANGES_SINCE])
    # Nova's clients send all_tenants.
    is_all_projects = any(
        strutils.bool_from_string(parameters.get(name))
        for name in ('all_projects', 'all_tenants')
    )
    if is_all_projects or 'project_id' in filters:
        context.can(rules.ALL_PROJECTS, _own_project(context))
    else:
        filters['project_id'] = context.project_id
    return filters


def _time(text):
    """Return a naive UTC datetime, as in the tables."""
    try:
        return timeutils.normalize_time(timeutils.parse_isotime(text))
    # OverflowError: the conversion to UTC leaves the range of datetime.
    except (ValueError, OverflowError) as exc:
        raise validation.InvalidInput(
            f'query.{CHANGES_SINCE}', 'is not an ISO 8601 time'
        ) from exc


def _check_rights(context, group, parsed):
    """Check the policy rules that depend on the description."""
    if not group.hold_when_planned:
        context.can(rules.WHAT_IF, _own_project(context))
    groups.check_exclusive(context, group, parsed)


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


def _resource():
    return resource.Resource(VRTGroupController())


ROUTES = (
    (
        '/os-vrt-groups',
        {'GET': [_resource, 'index'], 'POST': [_resource, 'create']},
    ),
    ('/os-vrt-groups/capabilities', {'GET': [_resource, 'capabilities']}),
    ('/os-vrt-groups/detail', {'GET': [_resource, 'detail']}),
    (
        '/os-vrt-groups/{id}',
        {
            'GET': [_resource, 'show'],
            'PUT': [_resource, 'update'],
            'DELETE': [_resource, 'delete'],
        },
    ),
    ('/os-vrt-groups/{id}/action', {'POST': [_resource, 'action']}),
    ('/os-vrt-groups/{id}/proposal', {'GET': [_resource, 'proposal']}),
)
