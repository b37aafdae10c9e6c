# SPDX-License-Identifier: Apache-2.0
"""``/os-vrt-groups``: describe, show, hold, release and delete groups.

Every handler goes the same way: context, policy, schema, object, status.
What it raises becomes one of Nova's faults in the decorator.
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
from nova_groupext.api import rename
from nova_groupext.api import resource
from nova_groupext.api import revise
from nova_groupext.api import store
from nova_groupext.api.schemas import vrt_groups as schemas
from nova_groupext.api.views import capabilities
from nova_groupext.api.views import vrt_groups as views
from nova_groupext.conf import CONF
from nova_groupext.objects import listing
from nova_groupext.objects import proposal as proposals
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.boot import VRTBoot
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.planner import invalid
from nova_groupext.policies import vrt_groups as policies
from nova_groupext.scheduler import rpcapi

# A page of groups with all details ends when there are so many members in it.
PAGE_MEMBERS = 2000

CHANGES_SINCE = 'changes-since'

# What was released once can be released again.
CAN_RELEASE = (*states.HOLDS, states.Group.RELEASED)


class VRTGroupController(wsgi.Controller):
    _view_builder_class = views.GroupView

    def __init__(self):
        super().__init__()
        self._planner = rpcapi.PlannerAPI()

    @resource.translated
    def capabilities(self, req):
        """What this cloud can do with groups."""
        context = req.environ['nova.context']
        context.can(policies.CAPABILITIES, _own(context))
        resource.query(req, schemas.NOTHING)
        return capabilities.show(quota.shown(context, context.project_id))

    @resource.translated
    def index(self, req):
        context = req.environ['nova.context']
        context.can(policies.INDEX, _own(context))
        found = self._list(req, context)
        return self._view_builder.page(
            req, [self._view_builder.summary(req, each) for each in found]
        )

    @resource.translated
    def detail(self, req):
        context = req.environ['nova.context']
        context.can(policies.DETAIL, _own(context))
        found = self._list(req, context)
        page = VRTGroup.first(context, found, PAGE_MEMBERS)
        return self._view_builder.page(
            req,
            self._details(req, VRTGroup.list_shown(context, page)),
            f'{views.COLLECTION}/detail',
            goes_on=len(page) < len(found),
        )

    @resource.translated
    def show(self, req, id):
        context = req.environ['nova.context']
        group = groups.find(context, policies.SHOW, id)
        resource.query(req, schemas.NOTHING)
        return {'vrt_group': self._detail(req, group)}

    @resource.translated
    def proposal(self, req, id):
        """Which servers to move for what drifted to hold again."""
        context = req.environ['nova.context']
        group = groups.find(context, policies.PROPOSAL, id)
        resource.query(req, schemas.NOTHING)
        proposed = VRTProposal.of_group(context, group)
        if proposed is None:
            raise exception.ProposalNotFound(group=id)
        return {
            'proposal': self._view_builder.proposal(
                group, proposed, groups.sees_hosts(context, group)
            )
        }

    @wsgi.response(202)
    @resource.translated
    def create(self, req, body):
        """Describe a group; the planners go on from there."""
        context = req.environ['nova.context']
        context.can(policies.CREATE, _own(context))
        wanted, parsed = describe.read(body)
        group = describe.group(context, wanted, parsed)
        _check_rights(context, group, parsed)
        work = boot.of_new_group(req, wanted, group)
        made, is_new = store.store(context, group, parsed)
        if is_new:
            groups.tell(self._planner.serve_group, context, made.uuid)
        if work is not None:
            # An earlier try of the same request may be at it.
            with contextlib.suppress(exception.GroupBooting):
                work.begin(made)
        detail = self._detail(req, made)
        answer = wsgi.ResponseObject({'vrt_group': detail})
        answer['Location'] = detail['links'][0]['href']
        return answer

    @wsgi.response(202)
    @resource.translated
    def update(self, req, id, body):
        """Revise the definition; the planners go on from there.

        Without a topology only what is said of the group is changed.
        """
        context = req.environ['nova.context']
        group = groups.find(context, policies.UPDATE, id)
        wanted, parsed = describe.read(body, schemas.UPDATE)
        if parsed is None:
            rename.rename(context, group, wanted)
            renamed = groups.find(context, policies.UPDATE, id)
            return {'vrt_group': self._detail(req, renamed)}
        groups.check_exclusive(context, group, parsed)
        to_plan = revise.revise(context, group, wanted, parsed)
        groups.tell(self._planner.serve_group, context, to_plan.uuid)
        revised = groups.find(context, policies.UPDATE, id)
        return {'vrt_group': self._detail(req, revised)}

    @wsgi.response(202)
    @resource.translated
    def delete(self, req, id):
        """Give back what is held and forget the group; servers go on."""
        context = req.environ['nova.context']
        given = resource.query(req, schemas.DELETE)
        group = groups.find(context, policies.DELETE, id, given)
        group.mark_deleted(context)
        groups.tell(self._planner.serve_group, context, group.uuid)

    @wsgi.response(202)
    @resource.translated
    def action(self, req, id, body):
        invalid.check(body, schemas.ACTION, '$')
        if len(body) != 1:
            raise invalid.InvalidInput('$', 'must name one action')
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
        """Let servers that run already become members."""
        context = req.environ['nova.context']
        group = groups.find(context, policies.ADOPT, id, given)
        draft = adopt.adopt(context, group, given['servers'])
        groups.tell(self._planner.serve_group, context, draft.uuid)

    def _boot(self, req, id, given):
        """Create the servers of what is held, behind the answer."""
        context = req.environ['nova.context']
        group = groups.find(context, policies.BOOT, id, given)
        if group.project_id != context.project_id:
            raise exception.GroupNotFound(group=id)
        if group.status not in states.HOLDS:
            raise group.conflict('nothing of it is held')
        boot.read(req, given, group, '$.boot').begin(group)

    def _hold(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.find(context, policies.HOLD, id, given)
        if group.status not in states.HOLDS_NOTHING:
            raise group.conflict(_why_not_held(group))
        if group.has_policy('exclusive'):
            context.can(policies.EXCLUSIVE, {'project_id': group.project_id})
        quota.check(
            context,
            group.project_id,
            [m for m in group.members if m.status == states.Member.TENTATIVE],
        )
        busy.check(context, group.project_id)
        group.change(context, states.Group.PLANNING, hold=True, fault=None)
        groups.tell(self._planner.serve_group, context, group.uuid)

    def _propose(self, req, id, given):
        """Ask which servers to move; what was proposed before is forgotten."""
        context = req.environ['nova.context']
        group = groups.find(context, policies.PROPOSAL, id, given)
        if not views.drift(group):
            VRTProposal.ask(context, group, proposals.PLACED, fewest=True)
            return
        busy.check(context, group.project_id)
        VRTProposal.ask(context, group)
        groups.tell(self._planner.propose, context)

    def _release(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.find(context, policies.RELEASE, id, given)
        if group.status not in CAN_RELEASE:
            raise group.conflict('nothing of it is held')
        paths = (given or {}).get('members')
        members = None if paths is None else _to_release(group, paths)
        if transitions.give_up(context, group, members):
            notifications.of_group(context, notifications.Event.RELEASE, group)
        groups.tell(self._planner.serve_group, context, group.uuid)

    def _replan(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.find(context, policies.REPLAN, id, given)
        if group.has_policy('exclusive'):
            context.can(policies.EXCLUSIVE, {'project_id': group.project_id})
        movable = (given or {}).get('members')
        to_plan = revise.replan(context, group, movable)
        groups.tell(self._planner.serve_group, context, to_plan.uuid)

    def _extend(self, req, id, given):
        context = req.environ['nova.context']
        group = groups.find(context, policies.EXTEND, id, given)
        given = given or {}
        describe.check_expires_in(given, '$.extend')
        seconds = given.get('expires_in', group.expires_in)
        extend.extend(
            context, group, int(min(seconds, CONF.vrt.max_expires_in))
        )
        notifications.of_group(context, notifications.Event.EXTEND, group)

    def _list(self, req, context):
        given = resource.query(req, schemas.LIST)
        limit, marker = common.get_limit_and_marker(req)
        if marker is not None and not uuidutils.is_uuid_like(marker):
            raise invalid.InvalidInput('query.marker', 'is no id of a group')
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
            raise invalid.InvalidInput(
                'query.marker', exc.format_message()
            ) from exc

    def _detail(self, req, group):
        [detail] = self._details(req, [group])
        return detail

    def _details(self, req, found):
        """Return what is to be seen of some groups and their drafts."""
        context = req.environ['nova.context']
        ids = [group.id for group in found]
        drafts = VRTGroup.drafts_of(context, ids)
        # Else one might show neither a revision nor what has come of it.
        found = VRTGroup.renewed(context, found)
        plans = VRTPlan.newest_of(
            context, [*ids, *(draft.id for draft in drafts.values())]
        )
        growths = VRTHold.growths_of(context, ids)
        boots = VRTBoot.of_groups(context, ids)
        groups.note_absence(context, [*found, *drafts.values()])
        return [
            self._view_builder.detail(
                req,
                group,
                plans,
                growths,
                drafts.get(group.id),
                boots.get(group.id),
                sees_hosts=groups.sees_hosts(context, group),
            )
            for group in found
        ]


def _own(context):
    return {'project_id': context.project_id}


def _filters(context, given):
    """Return the filters of a list, by the right to see what they show."""
    filters = {name: given[name] for name in listing.FILTERS if name in given}
    if CHANGES_SINCE in filters:
        filters[CHANGES_SINCE] = _time(filters[CHANGES_SINCE])
    # Nova's clients say it in their own word.
    everybody = any(
        strutils.bool_from_string(given.get(name))
        for name in ('all_projects', 'all_tenants')
    )
    if everybody or 'project_id' in filters:
        context.can(policies.ALL_PROJECTS, _own(context))
    else:
        filters['project_id'] = context.project_id
    return filters


def _time(text):
    """Return a time as the tables have it: naive, in UTC."""
    try:
        return timeutils.normalize_time(timeutils.parse_isotime(text))
    except ValueError as exc:
        raise invalid.InvalidInput(
            f'query.{CHANGES_SINCE}', 'is no time of ISO 8601'
        ) from exc


def _check_rights(context, group, parsed):
    """Check what depends on the description."""
    if not group.hold:
        context.can(policies.WHAT_IF, _own(context))
    groups.check_exclusive(context, group, parsed)


def _why_not_held(group):
    if group.status in states.CAN_REPLAN:
        return (
            'it cannot be held once more; "replan" holds what it has lost '
            'or given up'
        )
    return 'it cannot be held now'


def _to_release(group, paths):
    """Return the members at these paths.

    :raises: MemberNotFound, MemberStateConflict; nothing is changed then
    """
    by_path = {member.path: member for member in group.members}
    for path in paths:
        if path not in by_path:
            raise exception.MemberNotFound(group=group.uuid, member=path)
        if by_path[path].status in states.IN_USE:
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
