# SPDX-License-Identifier: Apache-2.0
"""Paste filter that validates the hints of a new server.

The client gets an error and its reason at once, instead of the fault of a
server in state ERROR. The scheduler checks again, and its check decides.

The filter goes after ``keystonecontext`` in the pipeline::

    [filter:vrt_hints]
    paste.filter_factory = nova_groupext.api.hints:HintsFilter.factory
"""

import contextlib
import functools
import http

from nova import exception as nova_exc
from nova.api import wsgi as base_wsgi
from nova.api.openstack import wsgi
from oslo_serialization import jsonutils
from oslo_utils import uuidutils
import webob.dec
import webob.exc

from nova_groupext import exception
from nova_groupext import member_ref
from nova_groupext.api import descriptions
from nova_groupext.api import groups
from nova_groupext.api import resource
from nova_groupext.api import server_groups
from nova_groupext.db import engine
from nova_groupext.membership import allowed
from nova_groupext.membership import creates
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.nova import servers
from nova_groupext.solver.language import validation
from nova_groupext_client import hints as client_hints

CREATES = ('servers', 'os-volumes_boot')
HINTS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
OUR_HINTS = (member_ref.GROUP_HINT, member_ref.MEMBER_HINT)
# What a body contains that has ours, or the one of server groups
NAMES = (*OUR_HINTS, f'"{server_groups.HINT}"')
# JSON escapes of the letters in a hint's name. They are rare in bodies: only
# non-ASCII characters need escapes.
ESCAPES = tuple(f'\\u00{digit}' for digit in range(4, 8))
FORCED = ('host', 'hypervisor_hostname')


class HintsFilter(base_wsgi.Middleware):
    """Middleware that rejects servers with invalid hints.

    A request that cannot contain them passes without being parsed. The hint of
    Nova for server groups may name a VRT group, too: see server_groups.py.
    """

    def __init__(self, application):
        super().__init__(application)
        engine.configure()

    @webob.dec.wsgify(RequestClass=wsgi.Request)
    def __call__(self, req):
        shown = server_groups.shown_id(req)
        if shown is None and not _may_have_hints(req):
            return self.application
        with contextlib.suppress(
            nova_exc.InvalidAPIVersionString, nova_exc.InvalidGlobalAPIVersion
        ):
            req.set_api_version_request()
        try:
            if shown is not None:
                return self._show_server_group(req, shown)
            return self._create(req)
        except webob.exc.HTTPException as exc:
            return wsgi.Fault(exc)

    @resource.translate_errors
    def _show_server_group(self, req, group_id):
        response = req.copy().get_response(self.application)
        if response.status_int == http.HTTPStatus.NOT_FOUND:
            server_groups.show(req, group_id, response)
        return response

    @resource.translate_errors
    def _create(self, req):
        body = _read(req.body)
        key, hints = _hints_of(body)
        if any(name in hints for name in OUR_HINTS):
            _check_request(req, body['server'], key, hints)
        elif server_groups.HINT in hints:
            response = req.copy().get_response(self.application)
            if response.status_int != http.HTTPStatus.BAD_REQUEST:
                return response
            ours = server_groups.member_hints(
                req.environ['nova.context'], hints
            )
            if ours is None:
                return response
            _check_request(req, body['server'], key, ours)
            req.body = jsonutils.dump_as_bytes({**body, key: ours})
        return self.application


def _may_have_hints(req):
    """Check whether a request creates a server and may have our hints."""
    if req.method != 'POST':
        return False
    # The raw path: it need not be UTF-8.
    *project, last = req.environ['PATH_INFO'].strip('/').split('/')
    return (
        last in CREATES
        and len(project) <= 1
        and any(name.encode() in req.body for name in (*NAMES, *ESCAPES))
    )


def _hints_of(body):
    """Return (their key in the body, the hints); {} where there are none."""
    if not isinstance(body, dict) or not isinstance(body.get('server'), dict):
        return None, {}  # Nova's schema has the better error.
    # Nova reads the first if both keys are present.
    key = next((each for each in HINTS if each in body), None)
    hints = body.get(key)
    return key, hints if isinstance(hints, dict) else {}


def _check_request(req, server, key, hints):
    hints = {name: _single(value) for name, value in hints.items()}
    _check_hints(hints, validation.json_path('$', key))
    _check_server(server)
    _check_members(
        req.environ['nova.context'],
        hints[member_ref.GROUP_HINT],
        member_ref.to_path(hints[member_ref.MEMBER_HINT]),
        server,
    )


def _read(body):
    try:
        return jsonutils.loads(body)
    except ValueError:
        return None
    except RecursionError as exc:
        raise validation.InvalidInput('$', 'is nested too deeply') from exc


def _single(value):
    """Return the text of a hint: some tools send numbers, or lists of one."""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value


def _check_hints(hints, where):
    for name in OUR_HINTS:
        if name not in hints:
            raise validation.InvalidInput(
                where, f'requires both {OUR_HINTS[0]} and {OUR_HINTS[1]}'
            )
        value = hints[name]
        if not (isinstance(value, str) and value and value.isprintable()):
            raise validation.InvalidInput(
                validation.json_path(where, name),
                'must be a non-empty string of printable characters',
            )
    if not uuidutils.is_uuid_like(hints[member_ref.GROUP_HINT]):
        raise validation.InvalidInput(
            validation.json_path(where, member_ref.GROUP_HINT),
            'must be the id (UUID) of a VRT group, not its name',
        )
    for name in client_hints.CONFLICTING:
        if name in hints:
            raise validation.InvalidInput(
                validation.json_path(where, name),
                'cannot be used with a member of a VRT group: its plan '
                'selects the host',
            )


def _check_server(server):
    zone = server.get('availability_zone')
    forced = ['availability_zone'] if ':' in str(zone) else []
    for name in forced or [each for each in FORCED if each in server]:
        raise validation.InvalidInput(
            f'$.server.{name}',
            'cannot force a host for a member of a VRT group: its plan '
            'selects the host',
        )


def _check_members(context, group, path, server):
    """Check that enough members under a path can become this server.

    A member's own path takes one query.

    :raises: GroupNotFound, MemberNotFound, MemberStateConflict,
        DescriptionMismatch, TooFewRedeemable, InvalidInput
    """
    try:
        members = _find_members(context, group, path)
        _check_held(context, members, path, server)
    except (
        exception.MemberNotFound,
        exception.MemberStateConflict,
        exception.TooFewRedeemable,
    ) as exc:
        _check_placeable(context, group, path, server, exc)


def _check_held(context, members, path, server):
    if members[0].path == path:
        _check_counts(server)
    if len(members) == 1:
        check_redeemable(members[0])
    matching = _matching_members(context, members, path, server)
    free = [m for m in matching if m.redeem_obstacle() is None]
    if len(free) < _requested_number(server):
        raise exception.TooFewRedeemable(
            requested=_requested_number(server),
            member=path,
            free=len(free),
            total=len(members),
        )


def _check_placeable(context, group_uuid, path, server, error):
    """Check that planners may place members for the servers.

    :param error: raised where the definition allows no more members now
    :raises: MemberLimitExceeded, PlacementRefused, DescriptionMismatch
    """
    group = VRTGroup.find(context, group_uuid)
    if group.status not in states.GROUP_REPLACEABLE:
        raise error
    number = _requested_number(server)
    matching = _matching_sets(context, group, path, server)
    try:
        choices = allowed.choose(
            *(group, path, matching),
            [str(index) for index in range(number)],
            functools.partial(servers.find_ending, context.elevated()),
        )
    except creates.Refused as exc:
        _refuse(path, server, exc.obstacle, error)
    refused = VRTCreate.find_refused(
        *(context, group, path, matching, number),
        has_successors=any(each.member.is_successor for each in choices),
    )
    if refused is not None:
        raise exception.PlacementRefused(reason=refused.fault)


def _refuse(path, server, obstacle, error):
    """Raise the error for servers that get no members.

    :param error: what keeps them from members that are held
    """
    if obstacle == creates.Obstacle.BEYOND_LIMIT:
        raise exception.MemberLimitExceeded(
            member=path, reason=error.format_message()
        )
    if obstacle == creates.Obstacle.ONE_MEMBER:
        _check_counts(server)
    raise error


def _matching_sets(context, group, path, server):
    """Return the paths of the member sets that describe the server.

    :raises: DescriptionMismatch if there are none
    """
    differing = {
        member_set.path: descriptions.differences(
            context, server, member_set.resolved_request
        )
        for member_set in allowed.member_sets_for(group, path)
    }
    matching = [each for each, found in differing.items() if not found]
    if differing and not matching:
        [first, *_others] = differing.values()
        raise descriptions.mismatch(context, path, first)
    return matching


def _find_members(context, group, path):
    project_id = context.project_id
    try:
        return VRTMember.list_by_path(
            context, group, path, project_id=project_id
        )
    except exception.MemberNotFound as exc:
        vrt_group = VRTGroup.find(context, group)
        if (
            vrt_group is None
            or vrt_group.project_id != project_id
            or not groups.is_visible(vrt_group)
        ):
            raise exception.GroupNotFound(group=group) from exc
        raise


def _check_counts(server):
    for name in ('min_count', 'max_count'):
        if str(server.get(name, 1)) != '1':
            raise validation.InvalidInput(
                f'$.server.{name}', 'must be 1: one member is one server'
            )


def _requested_number(server):
    """Return the number of servers requested.

    Nova creates fewer than ``max_count`` only if the quota requires it; its
    scheduler finds hosts for all of them or for none.
    """
    number = server.get('max_count', server.get('min_count', 1))
    try:
        return int(number)
    except (TypeError, ValueError, OverflowError):
        return 1  # Nova's schema has the better error.


def _matching_members(context, members, path, server):
    """Return the members whose description the server matches.

    :raises: DescriptionMismatch if there are none
    """
    requests = {
        member.member_set: member.resolved_request for member in members
    }
    differing = {
        member_set: descriptions.differences(context, server, request)
        for member_set, request in requests.items()
    }
    matching = [
        member for member in members if not differing[member.member_set]
    ]
    if not matching:
        raise descriptions.mismatch(
            context, path, differing[members[0].member_set]
        )
    return matching


def check_redeemable(member):
    """Refuse to create the server of a member that is not redeemable.

    :raises: MemberStateConflict
    """
    obstacle = member.redeem_obstacle()
    if obstacle is not None:
        raise exception.MemberStateConflict(
            member=member.path, status=member.status, reason=obstacle
        )
