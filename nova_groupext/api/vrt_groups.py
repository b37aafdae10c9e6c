# SPDX-License-Identifier: Apache-2.0
"""``/os-vrt-groups``: describe, show, hold, release and delete groups.

Every handler goes the same way: context, policy, schema, object, status.
What it raises becomes one of Nova's faults in the decorator.
"""

import functools

from nova.api.openstack import common
from nova.api.openstack import wsgi
from oslo_db import exception as db_exc
from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_utils import strutils

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.api import describe
from nova_groupext.api import resolve
from nova_groupext.api import resource
from nova_groupext.api.schemas import vrt_groups as schemas
from nova_groupext.api.views import capabilities
from nova_groupext.api.views import vrt_groups as views
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.planner import invalid
from nova_groupext.policies import vrt_groups as policies
from nova_groupext.scheduler import rpcapi

LOG = logging.getLogger(__name__)

# What was released once can be released again.
HOLDS_SOMETHING = (*states.HOLDS, states.Group.RELEASED)


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
        return capabilities.show()

    @resource.translated
    def index(self, req):
        context = req.environ['nova.context']
        context.can(policies.INDEX, _own(context))
        groups = self._list(req, context, with_parts=False)
        return self._view_builder.page(
            req, [self._view_builder.summary(req, each) for each in groups]
        )

    @resource.translated
    def detail(self, req):
        context = req.environ['nova.context']
        context.can(policies.DETAIL, _own(context))
        groups = self._list(req, context)
        plans = VRTPlan.newest_of(context, [group.id for group in groups])
        return self._view_builder.page(
            req,
            [self._detail(req, each, plans.get(each.id)) for each in groups],
            f'{views.COLLECTION}/detail',
        )

    @resource.translated
    def show(self, req, id):
        context = req.environ['nova.context']
        group = _find(context, policies.SHOW, id)
        resource.query(req, schemas.NOTHING)
        plan = VRTPlan.newest(context, group.id)
        return {'vrt_group': self._detail(req, group, plan)}

    @wsgi.response(202)
    @resource.translated
    def create(self, req, body):
        """Describe a group; the planners go on from there."""
        context = req.environ['nova.context']
        context.can(policies.CREATE, _own(context))
        wanted, parsed = describe.read(body)
        group = describe.group(context, wanted, parsed)
        _check_rights(context, group, parsed)
        made = _made_before(context, group)
        if made is None:
            made = self._make(context, group, parsed)
        detail = self._detail(req, made, VRTPlan.newest(context, made.id))
        answer = wsgi.ResponseObject({'vrt_group': detail})
        answer['Location'] = detail['links'][0]['href']
        return answer

    @wsgi.response(202)
    @resource.translated
    def delete(self, req, id):
        """Give back what is held and forget the group; servers go on."""
        context = req.environ['nova.context']
        group = _find(context, policies.DELETE, id)
        group.change(context, states.Group.RELEASING)
        _tell(self._planner.release_group, context, group)

    @wsgi.response(202)
    @resource.translated
    def action(self, req, id, body):
        invalid.check(body, schemas.ACTION, '$')
        if len(body) != 1:
            raise invalid.InvalidInput('$', 'must name one action')
        [(name, given)] = body.items()
        actions = {
            'extend': self._extend,
            'hold': self._hold,
            'release': self._release,
        }
        actions[name](req, id, given)

    def _hold(self, req, id, given):
        context = req.environ['nova.context']
        group = _find(context, policies.HOLD, id)
        if group.status not in states.HOLDS_NOTHING:
            raise exception.GroupStateConflict(
                group=group.uuid,
                status=group.status,
                reason='it cannot be held now',
            )
        if group.has_policy('exclusive'):
            context.can(policies.EXCLUSIVE, {'project_id': group.project_id})
        quota.check(
            context,
            group.project_id,
            [m for m in group.members if m.status == states.Member.TENTATIVE],
        )
        group.change(context, states.Group.PLANNING, hold=True, fault=None)
        _tell(self._planner.plan_group, context, group)

    def _release(self, req, id, given):
        context = req.environ['nova.context']
        group = _find(context, policies.RELEASE, id)
        if group.status not in HOLDS_SOMETHING:
            raise exception.GroupStateConflict(
                group=group.uuid,
                status=group.status,
                reason='nothing of it is held',
            )
        paths = (given or {}).get('members')
        members = None if paths is None else _to_release(group, paths)
        if group.give_up(context, members):
            notifications.of_group(context, notifications.Event.RELEASE, group)
        _tell(self._planner.release_group, context, group)

    def _extend(self, req, id, given):
        context = req.environ['nova.context']
        group = _find(context, policies.EXTEND, id)
        given = given or {}
        describe.check_expires_in(given, '$.extend')
        seconds = given.get('expires_in', group.expires_in)
        group.extend(context, int(min(seconds, CONF.vrt.max_expires_in)))

    def _list(self, req, context, with_parts=True):
        given = resource.query(req, schemas.LIST)
        everybody = strutils.bool_from_string(given.get('all_projects'))
        if everybody:
            context.can(policies.ALL_PROJECTS, _own(context))
        limit, marker = common.get_limit_and_marker(req)
        if marker is not None:
            _check_marker(context, marker)
        return VRTGroup.list(
            context,
            project_id=None if everybody else context.project_id,
            name=given.get('name'),
            status=given.get('status'),
            marker=marker,
            limit=limit,
            with_parts=with_parts,
        )

    def _detail(self, req, group, plan):
        sees_hosts = req.environ['nova.context'].can(
            policies.SHOW_PLACEMENT,
            {'project_id': group.project_id},
            fatal=False,
        )
        return self._view_builder.detail(req, group, plan, sees_hosts)

    def _make(self, context, group, parsed):
        """Store a group that was not there before, and have it planned."""
        requests = resolve.requests(context, parsed)
        for member in group.members:
            member.request = requests[member.stem]
        try:
            quota.check(context, group.project_id, group.members)
            quota.serialised(
                context,
                group.project_id,
                functools.partial(_store, context, group),
            )
        except (db_exc.DBDuplicateEntry, exception.LimitExceeded):
            # Perhaps the same request, sent twice at once, was faster.
            made = _made_before(context, group)
            if made is None:
                raise
            return made
        _tell(self._planner.plan_group, context, group)
        return group


def _own(context):
    return {'project_id': context.project_id}


def _find(context, rule, group_id):
    """Return a group on which the rule allows something.

    :raises: GroupNotFound for a deleted group, and for other projects'
    """
    group = VRTGroup.get(context, group_id)
    target = {'project_id': group.project_id}
    is_own = group.project_id == context.project_id
    if group.status == states.Group.RELEASING or not (
        is_own or context.can(rule, target, fatal=False)
    ):
        raise exception.GroupNotFound(group=group_id)
    context.can(rule, target)
    return group


def _check_marker(context, marker):
    try:
        _find(context, policies.INDEX, marker)
    except exception.GroupNotFound as exc:
        raise invalid.InvalidInput(
            'query.marker', exc.format_message()
        ) from exc


def _check_rights(context, group, parsed):
    """Check what depends on the description."""
    if not group.hold:
        context.can(policies.WHAT_IF, _own(context))
    if any(policy.type == 'exclusive' for policy in parsed.policies):
        context.can(policies.EXCLUSIVE, _own(context))


def _made_before(context, group):
    """Return the group that an earlier try of the request made, or None.

    :raises: TokenUsed when that one was described differently
    """
    if group.client_token is None:
        return None
    made = VRTGroup.get_by_token(context, group.project_id, group.client_token)
    if made is not None and (
        made.status == states.Group.RELEASING
        or not describe.says_the_same(made, group)
    ):
        raise exception.TokenUsed(token=group.client_token)
    return made


def _store(context, group):
    """Store a new group, unless its project has too many."""
    limit = CONF.vrt.max_groups_per_project
    if VRTGroup.count(context, group.project_id) >= limit:
        raise exception.LimitExceeded(
            reason=f'The project has {limit} VRT groups, which is all it '
            'may have.'
        )
    group.create(context)


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


def _tell(cast, context, group):
    """Tell a planner; what none was told, their reaper finds."""
    try:
        cast(context, group.uuid)
    except messaging.MessagingException:
        LOG.exception('No planner was told of VRT group %s.', group.uuid)


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
        {'GET': [_resource, 'show'], 'DELETE': [_resource, 'delete']},
    ),
    ('/os-vrt-groups/{id}/action', {'POST': [_resource, 'action']}),
)
