# SPDX-License-Identifier: Apache-2.0
"""Controller of ``/os-vrt-groups``.

The decorator ``translated`` converts exceptions of handlers into HTTP errors.
"""

import contextlib

from nova.api.openstack import common
from nova.api.openstack import wsgi
from oslo_utils import strutils
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.api import adopt
from nova_groupext.api import boot
from nova_groupext.api import busy
from nova_groupext.api import describe
from nova_groupext.api import extend
from nova_groupext.api import groups
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
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.boot import VRTBoot
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.policies import rules
from nova_groupext.scheduler import rpcapi
from nova_groupext.solver.language import validation

# Most members on a page of detailed groups, unless one group has more.
PAGE_MEMBERS = 2000

CHANGES_SINCE = 'changes-since'

# Releasing a released group again is allowed.
CAN_RELEASE = (*states.GROUP_WITH_HOLDS, states.Group.RELEASED)


class VRTGroupController(wsgi.Controller):
    _view_builder_class = group_views.GroupView

    def __init__(self):
        super().__init__()
        self._planner = rpcapi.PlannerAPI()

    @resource.translated
    def capabilities(self, req):
        """Return the policies, limits and quota of this cloud."""
        context = req.environ['nova.context']
        context.can(rules.CAPABILITIES, _own(context))
        resource.query(req, request_schemas.NOTHING)
        return capabilities.show(quota.shown(context, context.project_id))

    @resource.translated
    def index(self, req):
        context = req.environ['nova.context']
        context.can(rules.INDEX, _own(context))
        found = self._list(req, context)
        return self._view_builder.page(
            req, [self._view_builder.summary(req, each) for each in found]
        )

    @resource.translated
    def detail(self, req):
        context = req.environ['nova.context']
        context.can(rules.DETAIL, _own(context))
        found = self._list(req, context)
        page = VRTGroup.first(context, found, PAGE_MEMBERS)
        return self._view_builder.page(
            req,
            self._details(req, VRTGroup.list_shown(context, page)),
            f'{group_views.COLLECTION}/detail',
            goes_on=len(page) < len(found),
        )

    @resource.translated
    def show(self, req, id):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.SHOW, id)
        resource.query(req, request_schemas.NOTHING)
        return {'vrt_group': self._detail(req, group)}

    @resource.translated
    def proposal(self, req, id):
        """Return the proposed server moves that repair a group's drift."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.PROPOSAL, id)
        resource.query(req, request_schemas.NOTHING)
        proposed = VRTProposal.of_group(context, group)
        if proposed is None:
            raise exception.ProposalNotFound(group=id)
        return {
            'proposal': self._view_builder.proposal(
                group, proposed, groups.may_see_hosts(context, group)
            )
        }

    @wsgi.response(202)
    @resource.translated
    def create(self, req, body):
        """Store a described group and notify a planner."""
        context = req.environ['nova.context']
        context.can(rules.CREATE, _own(context))
        wanted, parsed = describe.read(body)
        group = describe.group(context, wanted, parsed)
        _check_rights(context, group, parsed)
        related.check(context, group.project_id, parsed)
        work = boot.of_new_group(req, wanted, group)
        made, is_new = store.store(context, group, parsed)
        if is_new:
            self._accept(context, made, 'create', made)
        if work is not None:
            # An earlier try of the same request may be booting it.
            with contextlib.suppress(exception.GroupBooting):
                work.begin(made)
                VRTEvent.asked(context, made.id, 'boot')
        detail = self._detail(req, made)
        answer = wsgi.ResponseObject({'vrt_group': detail})
        answer['Location'] = detail['links'][0]['href']
        return answer

    @wsgi.response(202)
    @resource.translated
    def update(self, req, id, body):
        """Revise the definition and notify a planner.

        Without a topology only the name, description or expiry change.
        """
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.UPDATE, id)
        wanted, parsed = describe.read(body, request_schemas.UPDATE)
        if parsed is None:
            rename.rename(context, group, wanted)
            renamed = groups.get_authorised(context, rules.UPDATE, id)
            return {'vrt_group': self._detail(req, renamed)}
        groups.check_exclusive(context, group, parsed)
        to_plan = revise.revise(context, group, wanted, parsed)
        self._accept(context, group, 'revise', to_plan)
        revised = groups.get_authorised(context, rules.UPDATE, id)
        return {'vrt_group': self._detail(req, revised)}

    @wsgi.response(202)
    @resource.translated
    def delete(self, req, id):
        """Delete a group; a planner releases its holds, servers stay."""
        context = req.environ['nova.context']
        given = resource.query(req, request_schemas.DELETE)
        group = groups.get_authorised(context, rules.DELETE, id, given)
        seen = given.get('generation')
        group.mark_deleted(context, seen and int(seen))
        groups.cast_to_planner(self._planner.serve_group, context, group.uuid)

    @wsgi.response(202)
    @resource.translated
    def action(self, req, id, body):
        validation.check(body, request_schemas.ACTION, '$')
        if len(body) != 1:
            raise validation.InvalidInput('$', 'must name one action')
        [(name, given)] = body.items()
        actions = {
            'adopt': self._adopt,
            'boot': self._boot,
            'extend': self._extend,
            'hold': self._hold,
            'propose': self._propose,
            'release': self._release,
            'replan': self._replan,
        }
        return actions[name](req, id, given)

    def _adopt(self, req, id, given):
        """Make existing servers members of the group."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.ADOPT, id, given)
        draft = adopt.adopt(context, group, given['servers'])
        self._accept(context, group, 'adopt', draft)

    def _boot(self, req, id, given):
        """Start creating the servers of held members in the background."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.BOOT, id, given)
        if group.project_id != context.project_id:
            raise exception.GroupNotFound(group=id)
        if group.status not in states.GROUP_WITH_HOLDS:
            raise group.conflict('nothing of it is held')
        boot.read(req, given, group, '$.boot').begin(
            group, (given or {}).get('generation')
        )
        VRTEvent.asked(context, group.id, 'boot')

    def _hold(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.HOLD, id, given)
        if group.status not in states.GROUP_WITHOUT_HOLDS:
            raise group.conflict(_why_not_held(group))
        if group.has_policy('exclusive'):
            context.can(rules.EXCLUSIVE, {'project_id': group.project_id})
        quota.check(
            context,
            group.project_id,
            [m for m in group.members if m.status == states.Member.TENTATIVE],
        )
        busy.check(context, group.project_id)
        group.change(context, states.Group.PLANNING, hold=True, fault=None)
        self._accept(context, group, 'hold', group)

    def _propose(self, req, id, given):
        """Request a proposal of server moves, replacing an earlier one."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.PROPOSAL, id, given)
        if not group_views.drift(group):
            VRTProposal.ask(context, group, proposal.PLACED, fewest=True)
            VRTEvent.asked(context, group.id, 'propose')
            return
        busy.check(context, group.project_id)
        VRTProposal.ask(context, group)
        VRTEvent.asked(context, group.id, 'propose')
        groups.cast_to_planner(self._planner.propose, context)

    def _release(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.RELEASE, id, given)
        if group.status not in CAN_RELEASE:
            raise group.conflict('nothing of it is held')
        given = given or {}
        paths = given.get('members')
        members = None if paths is None else _to_release(group, paths)
        seen = given.get('generation')
        if transitions.give_up(context, group, members, seen):
            notifications.of_group(context, notifications.Event.RELEASE, group)
        self._accept(context, group, 'release', group)

    def _replan(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.REPLAN, id, given)
        if group.has_policy('exclusive'):
            context.can(rules.EXCLUSIVE, {'project_id': group.project_id})
        movable_paths = (given or {}).get('members')
        to_plan = revise.replan(context, group, movable_paths)
        self._accept(context, group, 'replan', to_plan)

    def _extend(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.EXTEND, id, given)
        given = given or {}
        describe.check_expires_in(given, '$.extend')
        seconds = given.get('expires_in', group.expires_in)
        extend.extend(
            context,
            group,
            int(min(seconds, CONF.vrt.max_expires_in)),
            given.get('generation'),
        )
        VRTEvent.asked(context, group.id, 'extend')
        notifications.of_group(context, notifications.Event.EXTEND, group)

    def _accept(self, context, group, name, to_serve):
        groups.accept(context, group, name, self._planner, to_serve)

    def _list(self, req, context):
        given = resource.query(req, request_schemas.LIST)
        limit, marker = common.get_limit_and_marker(req)
        if marker is not None and not uuidutils.is_uuid_like(marker):
            raise validation.InvalidInput(
                'query.marker', 'is no id of a group'
            )
        try:
            return VRTGroup.list(
                context,
                marker=marker,
                limit=limit,
                sort_key=given.get('sort_key', listing.CREATED_AT),
                is_descending=given.get('sort_dir') == 'desc',
                **_filters(context, given),
            )
        except exception.GroupNotFound as exc:
            raise validation.InvalidInput(
                'query.marker', exc.format_message()
            ) from exc

    def _detail(self, req, group):
        [detail] = self._details(req, [group])
        return detail

    def _details(self, req, found):
        """Return the detailed views of groups and their drafts."""
        context = req.environ['nova.context']
        ids = [group.id for group in found]
        drafts = VRTGroup.drafts_of(context, ids)
        # Reload: a draft committed since the first load is not in drafts.
        found = VRTGroup.renewed(context, found)
        plans = VRTPlan.newest_of(
            context, [*ids, *(draft.id for draft in drafts.values())]
        )
        reservations = VRTHold.reservations_of(context, ids)
        boots = VRTBoot.of_groups(context, ids)
        events = VRTEvent.of_groups(context, ids)
        groups.note_absence(context, [*found, *drafts.values()])
        return [
            self._view_builder.detail(
                req,
                group,
                plans,
                reservations,
                drafts.get(group.id),
                boots.get(group.id),
                events.get(group.id, []),
                sees_hosts=groups.may_see_hosts(context, group),
            )
            for group in found
        ]


def _own(context):
    return {'project_id': context.project_id}


def _filters(context, given):
    """Return the filters of a list, restricted by the caller's rights."""
    filters = {name: given[name] for name in listing.FILTERS if name in given}
    if CHANGES_SINCE in filters:
        filters[CHANGES_SINCE] = _time(filters[CHANGES_SINCE])
    # Nova's clients send all_tenants.
    everybody = any(
        strutils.bool_from_string(given.get(name))
        for name in ('all_projects', 'all_tenants')
    )
    if everybody or 'project_id' in filters:
        context.can(rules.ALL_PROJECTS, _own(context))
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
            f'query.{CHANGES_SINCE}', 'is no time of ISO 8601'
        ) from exc


def _check_rights(context, group, parsed):
    """Check the policy rules that depend on the description."""
    if not group.hold:
        context.can(rules.WHAT_IF, _own(context))
    groups.check_exclusive(context, group, parsed)


def _why_not_held(group):
    if group.status in states.GROUP_REPLACEABLE:
        return (
            'it cannot be held once more; "replan" holds what it has lost '
            'or given up'
        )
    return 'it cannot be held now'


def _to_release(group, paths):
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
                reason='it has become a server and holds nothing',
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
