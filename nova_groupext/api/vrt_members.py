# SPDX-License-Identifier: Apache-2.0
"""``/os-vrt-groups/{id}/members``: members seen, added and removed singly.

Adding and removing revises the whole group, as a PUT of all of it would.
"""

from nova.api.openstack import wsgi
from oslo_utils import strutils

from nova_groupext import exception
from nova_groupext.api import describe
from nova_groupext.api import groups
from nova_groupext.api import resource
from nova_groupext.api import revise
from nova_groupext.api.schemas import vrt_groups as schemas
from nova_groupext.api.views import vrt_groups as views
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.planner import invalid
from nova_groupext.policies import vrt_groups as policies
from nova_groupext.scheduler import rpcapi

MEMBER = '$.member'


class VRTMemberController(wsgi.Controller):
    _view_builder_class = views.GroupView

    def __init__(self):
        super().__init__()
        self._planner = rpcapi.PlannerAPI()

    @resource.translated
    def index(self, req, group_id):
        given = resource.query(req, schemas.MEMBERS)
        found = self._members(req, group_id)
        return self._view_builder.members_page(
            req, group_id, _asked_for(found, given)
        )

    @resource.translated
    def show(self, req, group_id, path):
        resource.query(req, schemas.NOTHING)
        for member in self._members(req, group_id):
            if member['path'] == path:
                return {'member': member}
        raise exception.MemberNotFound(group=group_id, member=path)

    @wsgi.response(202)
    @resource.translated
    def create(self, req, group_id, body):
        """Add a member, or some more of those that are counted."""
        context = req.environ['nova.context']
        group = groups.find(context, policies.UPDATE, group_id)
        invalid.check(body, schemas.ADD, '$')
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
        """Remove a member, or all that are counted under one name."""
        context = req.environ['nova.context']
        given = resource.query(req, schemas.REMOVE)
        group = groups.find(context, policies.UPDATE, group_id, given)
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
        group = groups.find(context, policies.SHOW, group_id)
        return views.members(
            group,
            VRTPlan.newest(context, group.id),
            VRTHold.growths_of(context, [group.id]),
            groups.sees_hosts(context, group),
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
        groups.tell(self._planner.serve_group, context, to_plan.uuid)


def _asked_for(members, given):
    """Return those members that come after a marker and have a status.

    :param members: as they are shown
    :raises: InvalidInput for a marker that is no member's path
    """
    if 'marker' in given:
        paths = [member['path'] for member in members]
        if given['marker'] not in paths:
            raise invalid.InvalidInput(
                'query.marker', 'is no path of a member'
            )
        members = members[paths.index(given['marker']) + 1 :]
    if 'status' in given:
        members = [m for m in members if m['status'] == given['status']]
    return members


def _parent(topology, path):
    """Return the node that a member's stem stands in, and its name there.

    :param topology: as the group was described; the node is a part of it
    :raises: InvalidInput for a subgroup that there is not
    """
    *subgroups, name = path.split('/')
    node = topology
    for subgroup in subgroups:
        node = node.get('groups', {}).get(subgroup)
        if node is None:
            raise invalid.InvalidInput(
                f'{MEMBER}.path',
                f'names the subgroup {invalid.quote(subgroup)}, which could '
                'not be found',
            )
    return node, name


def _more(described, given):
    """Return a description of more members of the same kind.

    All that are added have to be placed.
    """
    if 'count' not in described or given.keys() - {'count'}:
        raise invalid.InvalidInput(
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
    """Return what a member is described under.

    :raises: MemberNotFound
    """
    for member in group.members:
        if path in (member.path, member.stem):
            return member.stem
    raise exception.MemberNotFound(group=group.uuid, member=path)


def _fewer(described, path):
    """Return a description of one less of counted members, None for none.

    :raises: MemberStateConflict for another than the last one
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
