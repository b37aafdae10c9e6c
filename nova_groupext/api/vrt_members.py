# SPDX-License-Identifier: Apache-2.0
"""Controller of ``/os-vrt-groups/{id}/members``: single members.

Adding or removing a member revises the whole group, like a PUT of it.
"""

from nova.api.openstack import wsgi
from oslo_utils import strutils

from nova_groupext import exception
from nova_groupext.api import describe
from nova_groupext.api import groups
from nova_groupext.api import resource
from nova_groupext.api import revise
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import group_views
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.policies import rules
from nova_groupext.scheduler import rpcapi
from nova_groupext.solver.language import validation

MEMBER = '$.member'


class VRTMemberController(wsgi.Controller):
    _view_builder_class = group_views.GroupView

    def __init__(self):
        super().__init__()
        self._planner = rpcapi.PlannerAPI()

    @resource.translated
    def index(self, req, group_id):
        given = resource.query(req, request_schemas.MEMBERS)
        found = self._members(req, group_id)
        return self._view_builder.members_page(
            req, group_id, _asked_for(found, given)
        )

    @resource.translated
    def show(self, req, group_id, path):
        resource.query(req, request_schemas.NOTHING)
        for member in self._members(req, group_id):
            if member['path'] == path:
                return {'member': member}
        raise exception.MemberNotFound(group=group_id, member=path)

    @wsgi.response(202)
    @resource.translated
    def create(self, req, group_id, body):
        """Add a member, or increase the count of an existing entry."""
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.UPDATE, group_id)
        validation.check(body, request_schemas.ADD, '$')
        given = dict(body['member'])
        path = given.pop('path')
        topology = describe.as_given(group)
        node, name = _parent(topology, path)
        members = node.setdefault('members', {})
        if name in members:
            members[name] = _more(members[name], given)
        else:
            members[name] = given
        self._revise(context, group, topology)

    @wsgi.response(202)
    @resource.translated
    def delete(self, req, group_id, path):
        """Remove a member, or an entry with all its counted members."""
        context = req.environ['nova.context']
        given = resource.query(req, request_schemas.REMOVE)
        group = groups.get_authorised(context, rules.UPDATE, group_id, given)
        topology = describe.as_given(group)
        stem = _stem(group, path)
        node, name = _parent(topology, stem)
        fewer = None
        if stem != path:
            fewer = _fewer(node['members'][name], path)
        if fewer is None:
            del node['members'][name]
        else:
            node['members'][name] = fewer
        keep_server = strutils.bool_from_string(given.get('keep_server'))
        self._revise(context, group, topology, keep_server)

    @staticmethod
    def _members(req, group_id):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.SHOW, group_id)
        return group_views.members(
            group,
            VRTPlan.newest(context, group.id),
            VRTHold.reservations_of(context, [group.id]),
            groups.may_see_hosts(context, group),
        )

    def _revise(self, context, group, topology, keep_server=False):
        wanted = {
            'generation': group.generation,
            'topology': topology,
            'keep_server': keep_server,
        }
        parsed = describe.read_topology(topology)
        groups.check_exclusive(context, group, parsed)
        to_plan = revise.revise(context, group, wanted, parsed)
        groups.accept(context, group, 'revise', self._planner, to_plan)


def _asked_for(members, given):
    """Return the members after a marker that have a status.

    :param members: member views
    :param given: the query
    :raises: InvalidInput for a marker that is no member's path
    """
    if 'marker' in given:
        paths = [member['path'] for member in members]
        if given['marker'] not in paths:
            raise validation.InvalidInput(
                'query.marker', 'is no path of a member'
            )
        members = members[paths.index(given['marker']) + 1 :]
    if 'status' in given:
        members = [m for m in members if m['status'] == given['status']]
    return members


def _parent(topology, path):
    """Return the node that contains a member's entry, and the entry's name.

    :param topology: topology as described, not copied
    :raises: InvalidInput for a subgroup that does not exist
    """
    *subgroups, name = path.split('/')
    node = topology
    for subgroup in subgroups:
        node = node.get('groups', {}).get(subgroup)
        if node is None:
            raise validation.InvalidInput(
                f'{MEMBER}.path',
                f'names the subgroup {validation.quote(subgroup)}, which '
                'could not be found',
            )
    return node, name


def _more(described, given):
    """Return an entry with a larger count.

    A min_count grows equally: every added member has to be placed.
    """
    if 'count' not in described or given.keys() - {'count'}:
        raise validation.InvalidInput(
            f'{MEMBER}.path',
            'is the name of a member; of counted members some more are added '
            'by their name and a count',
        )
    added = given.get('count', 1)
    more = {**described, 'count': described['count'] + added}
    if 'min_count' in described:
        more['min_count'] += added
    return more


def _stem(group, path):
    """Return the path of the entry that describes a member.

    :raises: MemberNotFound
    """
    for member in group.members:
        if path in (member.path, member.stem):
            return member.stem
    raise exception.MemberNotFound(group=group.uuid, member=path)


def _fewer(described, path):
    """Return an entry with one counted member less, or None if none is left.

    :raises: MemberStateConflict unless the path is the last member's
    """
    last = described['count'] - 1
    if not path.endswith(f'-{last}'):
        stem = path.rpartition('-')[0]
        raise exception.MemberStateConflict(
            member=path,
            status='counted',
            reason=f'of these the last one, {stem}-{last}, can be removed; '
            'the place of any other can be released',
        )
    if last == 0:
        return None
    fewer = {**described, 'count': last}
    if 'min_count' in described:
        fewer['min_count'] = min(described['min_count'], last)
    return fewer


def _resource():
    return resource.Resource(VRTMemberController())


ROUTES = (
    (
        '/os-vrt-groups/{group_id}/members',
        {'GET': [_resource, 'index'], 'POST': [_resource, 'create']},
    ),
    (
        '/os-vrt-groups/{group_id}/members/{path:.+}',
        {'GET': [_resource, 'show'], 'DELETE': [_resource, 'delete']},
    ),
)
