# SPDX-License-Identifier: Apache-2.0
"""Controller of ``/os-vrt-groups/{id}/members``: single members.

Adding or removing a member revises the whole group, like a PUT of it.
"""

import re

from nova.api.openstack import wsgi
from oslo_utils import strutils

from nova_groupext import exception
from nova_groupext.api import describe
from nova_groupext.api import groups
from nova_groupext.api import resource
from nova_groupext.api import revise
from nova_groupext.api.schemas import request_schemas
from nova_groupext.api.views import group_views
from nova_groupext.api.views import member_views
from nova_groupext.membership import settling
from nova_groupext.membership import stored
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.policies import rules
from nova_groupext.scheduler import rpcapi
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import validation

MEMBER = '$.member'


class VRTMemberController(wsgi.Controller):
    _view_builder_class = group_views.GroupView

    def __init__(self):
        super().__init__()
        self._planner = rpcapi.PlannerAPI()

    @resource.translate_errors
    def index(self, req, group_id):
        parameters = resource.query(req, request_schemas.MEMBERS)
        members = self._members(req, group_id)
        return self._view_builder.members_page(
            req, group_id, _select(members, parameters)
        )

    @resource.translate_errors
    def show(self, req, group_id, path):
        resource.query(req, request_schemas.NOTHING)
        for member in self._members(req, group_id):
            if member['path'] == path:
                return {'member': member}
        raise exception.MemberNotFound(group=group_id, member=path)

    @wsgi.response(202)
    @resource.translate_errors
    @resource.retry_changes
    def create(self, req, group_id, body):
        """Add a member, or increase the count of an existing entry."""
        context = req.environ['nova.context']
        validation.check(body, request_schemas.ADD, '$')
        description = dict(body['member'])
        group = groups.get_authorised(
            context, rules.UPDATE, group_id, description
        )
        description.pop('generation', None)
        path = description.pop('path')
        topology = describe.compose_topology(group)
        node, name = _parent(topology, path)
        members = node.setdefault('members', {})
        if name in members:
            members[name] = _increase(members[name], description)
        else:
            members[name] = description
        self._revise(context, group, topology)

    @wsgi.response(202)
    @resource.translate_errors
    @resource.retry_changes
    def delete(self, req, group_id, path):
        """Remove a member, or an entry with all its counted members."""
        context = req.environ['nova.context']
        parameters = resource.query(req, request_schemas.REMOVE)
        group = groups.get_authorised(
            context, rules.UPDATE, group_id, parameters
        )
        keep_server = strutils.bool_from_string(parameters.get('keep_server'))
        if not keep_server:
            revise.check_without_servers(
                [each for each in group.members if each.path == path]
            )
        topology = describe.compose_topology(group)
        member_set = _member_set(group, path)
        if member_set != path:
            _check_is_last(group, member_set, path)
        if not _is_left_out(group, member_set):
            node, name = _parent(topology, member_set)
            if member_set == path:
                del node['members'][name]
            elif not (keep_server and _leaves_enough(group, path)):
                _decrease(node['members'], name)
        removed = path if keep_server else None
        self._revise(context, group, topology, keep_server, removed)

    @staticmethod
    def _members(req, group_id):
        context = req.environ['nova.context']
        group = groups.get_authorised(context, rules.SHOW, group_id)
        return member_views.member_views(
            group,
            VRTPlan.find_newest(context, group.id),
            VRTHold.reservations_by_member(context, [group.id]),
            groups.may_see_hosts(context, group),
        )

    def _revise(
        self, context, group, topology, keep_server=False, removed=None
    ):
        attributes = {
            'generation': group.definition_generation,
            'topology': topology,
            'keep_server': keep_server,
        }
        parsed = describe.read_topology(topology)
        groups.check_exclusive(context, group, parsed)
        group_to_plan = revise.revise(
            *(context, group, attributes, parsed, removed), reads_again=False
        )
        groups.accept(context, group, 'revise', self._planner, group_to_plan)


def _select(members, parameters):
    """Return the members after a marker that have a status, by path.

    The marker need not be a member's path: the member may have been removed.

    :param members: member views
    :param parameters: the query
    """
    if 'marker' in parameters:
        marker = _sort_value(parameters['marker'])
        members = [m for m in members if _sort_value(m['path']) > marker]
    if 'status' in parameters:
        members = [m for m in members if m['status'] == parameters['status']]
    return sorted(members, key=lambda member: _sort_value(member['path']))


def _sort_value(path):
    """Return a value by which ``web-9`` sorts before ``web-10``."""
    parts = re.split('0*([0-9]+)', path)
    # Without int(), which refuses thousands of digits.
    parts[1::2] = [(len(digits), digits) for digits in parts[1::2]]
    return parts, path


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
                'does not exist',
            )
    return node, name


def _increase(present, added):
    """Return an entry with a larger count.

    A min_count grows equally: every added member has to be placed.
    """
    if 'count' not in present or added.keys() - {'count'}:
        raise validation.InvalidInput(
            f'{MEMBER}.path',
            'names an existing member; add counted members with only their '
            'name and a count',
        )
    number = added.get('count', 1)
    increased = {**present, 'count': present['count'] + number}
    if 'min_count' in present:
        increased['min_count'] += number
    return increased


def _member_set(group, path):
    """Return the path of the entry that describes a member.

    Its servers stay members while they are leaving, without an entry.

    :raises: MemberNotFound
    """
    if any(
        each.path == path and not each.is_left_out
        for each in group.member_sets
    ):
        return path
    for member in group.members:
        if path == member.path and not member.is_successor:
            return member.member_set
    raise exception.MemberNotFound(group=group.uuid, member=path)


def _check_is_last(group, member_set, path):
    """Refuse to remove another counted member without a server than the last.

    Servers are let go of one by one, whatever their members' indexes are.

    :raises: MemberStateConflict
    """
    without_server = [
        each.path
        for each in group.members
        if each.member_set == member_set
        and not each.is_successor
        and each.status not in states.MEMBER_HAS_SERVER
    ]
    last = max(without_server, key=paths.split_index, default=None)
    if path in without_server and path != last:
        raise exception.MemberStateConflict(
            member=path,
            status='counted',
            reason=f'only the last of these members, {last}, can be removed; '
            'to give another one up, release it, or delete its server if it '
            'has one',
        )


def _is_left_out(group, member_set):
    """Check whether the definition has left out a member set with servers."""
    return any(
        each.path == member_set and each.is_left_out
        for each in group.member_sets
    )


def _leaves_enough(group, path):
    """Check whether as many as described remain when a member is let go.

    More have a place than its set describes, or a successor follows.
    """
    roster = stored.read(group)
    member = roster.find(path)
    return roster.number_beyond_count(
        member.member_set
    ) > 0 or settling.has_follower(roster, member)


def _decrease(members, name):
    """Describe a counted member less; remove the entry if none is left.

    A server of a former counted member does not count for a single member.

    :param members: ``members`` of a topology, which are changed
    """
    present = members[name]
    if 'count' not in present:
        return
    number = max(0, present['count'] - 1)
    if number == 0 and 'max_count' not in present:
        del members[name]
        return
    members[name] = {**present, 'count': number}
    if 'min_count' in present:
        members[name]['min_count'] = min(present['min_count'], number)


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
