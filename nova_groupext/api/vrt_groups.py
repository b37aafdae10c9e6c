# SPDX-License-Identifier: Apache-2.0
"""Controller of ``/os-vrt-groups``.

The decorator ``translate_errors`` converts exceptions of handlers into HTTP
errors.
"""

import contextlib

from nova.api.openstack import wsgi

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.api import actions
from nova_groupext.api import boot
from nova_groupext.api import describe
from nova_groupext.api import groups
from nova_groupext.api import list_query
from nova_groupext.api import related
from nova_groupext.api import rename
from nova_groupext.api import resource
from nova_groupext.api import revise
from nova_groupext.api import store
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import capabilities
from nova_groupext.api.views import group_views
from nova_groupext.objects.boot import VRTBoot
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.policies import rules
from nova_groupext.scheduler import rpcapi

# Most members on a page of detailed groups, those of their revisions included,
# unless one group has more.
PAGE_MEMBERS = 2000


class VRTGroupController(wsgi.Controller):
    _view_builder_class = group_views.GroupView

    def __init__(self):
        super().__init__()
        self._planner = rpcapi.PlannerAPI()
        self._actions = actions.Actions(self._planner)

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
        vrt_groups = list_query.find_groups(req, context)
        return self._view_builder.page(
            req,
            [self._view_builder.summary(req, each) for each in vrt_groups],
            list_query.next_marker(req, vrt_groups, vrt_groups),
        )

    @resource.translate_errors
    @resource.retry_changes
    def detail(self, req):
        context = req.environ['nova.context']
        context.can(rules.DETAIL, _own_project(context))
        vrt_groups = list_query.find_groups(req, context)
        page = VRTGroup.limit_by_members(context, vrt_groups, PAGE_MEMBERS)
        return self._view_builder.page(
            req,
            self._details(req, VRTGroup.list_for_views(context, page)),
            list_query.next_marker(req, vrt_groups, page),
            f'{group_views.COLLECTION}/detail',
        )

    @resource.translate_errors
    @resource.retry_changes
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
        if not group.hold_when_planned:
            context.can(rules.WHAT_IF, _own_project(context))
        groups.check_exclusive(context, group, parsed)
        related.check(context, group.project_id, parsed)
        new_boot = boot.read_for_new_group(req, attributes, group)
        stored, is_new = store.store(context, group, parsed)
        if is_new:
            groups.accept(context, stored, 'create', self._planner, stored)
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
    @resource.retry_changes
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
        groups.accept(context, group, 'revise', self._planner, group_to_plan)
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
    @resource.retry_changes
    def action(self, req, id, body):
        self._actions.perform(req, id, body)

    def _detail(self, req, group):
        [detail] = self._details(req, [group])
        return detail

    def _details(self, req, vrt_groups):
        """Return the detailed views of groups and their drafts."""
        context = req.environ['nova.context']
        ids = [group.id for group in vrt_groups]
        drafts = VRTGroup.drafts_by_group(context, ids, for_views=True)
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
