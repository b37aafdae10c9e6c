# SPDX-License-Identifier: Apache-2.0
"""Paste filter that validates the hints of a new server.

The client gets an error and its reason at once, instead of the fault of a
server in state ERROR. The scheduler checks again, and its check decides.

The filter goes after ``keystonecontext`` in the pipeline::

    [filter:vrt_hints]
    paste.filter_factory = nova_groupext.api.hints:HintsFilter.factory
"""

import contextlib

from nova import exception as nova_exc
from nova.api import wsgi as base_wsgi
from nova.api.openstack import common
from nova.api.openstack import wsgi
from oslo_serialization import jsonutils
from oslo_utils import uuidutils
import webob.dec
import webob.exc

from nova_groupext import exception
from nova_groupext import pointer
from nova_groupext.api import groups
from nova_groupext.api import resolve
from nova_groupext.api import resource
from nova_groupext.db import engine
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.solver.language import validation
from nova_groupext_client import hints as client_hints

CREATES = ('servers', 'os-volumes_boot')
HINTS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
OURS = (pointer.GROUP_HINT, pointer.MEMBER_HINT)
# JSON escapes of the letters in a hint's name. They are rare in bodies: only
# non-ASCII characters need escapes.
ESCAPED = tuple(f'\\u00{digit}' for digit in range(4, 8))
FORCED = ('host', 'hypervisor_hostname')
AN_IMAGE = 'an image'


class HintsFilter(base_wsgi.Middleware):
    """Middleware that rejects servers with invalid hints.

    A request that cannot contain our hints passes without being parsed.
    """

    def __init__(self, application):
        super().__init__(application)
        engine.configure()

    @webob.dec.wsgify(RequestClass=wsgi.Request)
    def __call__(self, req):
        if not _mentions_us(req):
            return self.application
        with contextlib.suppress(
            nova_exc.InvalidAPIVersionString, nova_exc.InvalidGlobalAPIVersion
        ):
            req.set_api_version_request()
        try:
            _check_request(req)
        except webob.exc.HTTPException as exc:
            return wsgi.Fault(exc)
        return self.application


def _mentions_us(req):
    """Check whether a request creates a server and may have our hints."""
    if req.method != 'POST':
        return False
    # The raw path: it need not be UTF-8.
    *project, last = req.environ['PATH_INFO'].strip('/').split('/')
    return (
        last in CREATES
        and len(project) <= 1
        and any(name.encode() in req.body for name in (*OURS, *ESCAPED))
    )


@resource.translated
def _check_request(req):
    body = _read(req.body)
    if not isinstance(body, dict) or not isinstance(body.get('server'), dict):
        return  # Nova's schema has the better error.
    # Nova reads the first if both keys are present.
    key = next((each for each in HINTS if each in body), None)
    hints = body.get(key)
    if isinstance(hints, dict) and any(name in hints for name in OURS):
        _check_hints(hints, validation.json_path('$', key))
        _check_server(body['server'])
        _check_members(
            req.environ['nova.context'],
            hints[pointer.GROUP_HINT],
            hints[pointer.MEMBER_HINT],
            body['server'],
        )


def _read(body):
    try:
        return jsonutils.loads(body)
    except ValueError:
        return None
    except RecursionError as exc:
        raise validation.InvalidInput('$', 'is nested too deeply') from exc


def _check_hints(hints, where):
    for name in OURS:
        if name not in hints:
            raise validation.InvalidInput(
                where, f'needs {OURS[0]} and {OURS[1]} together'
            )
        value = hints[name]
        if not (isinstance(value, str) and value and value.isprintable()):
            raise validation.InvalidInput(
                validation.json_path(where, name), 'must be a text'
            )
    if not uuidutils.is_uuid_like(hints[pointer.GROUP_HINT]):
        raise validation.InvalidInput(
            validation.json_path(where, pointer.GROUP_HINT),
            'must be the id of a VRT group, a UUID; its name will not do',
        )
    for name in client_hints.PLACING:
        if name in hints:
            raise validation.InvalidInput(
                validation.json_path(where, name),
                'cannot be given for a member of a VRT group, whose host is '
                'planned',
            )


def _check_server(server):
    zone = server.get('availability_zone')
    forced = ['availability_zone'] if ':' in str(zone) else []
    for name in forced or [each for each in FORCED if each in server]:
        raise validation.InvalidInput(
            f'$.server.{name}',
            'cannot force a host for a member of a VRT group, whose host is '
            'planned',
        )


def _check_members(context, group, path, server):
    """Check that enough members under a path can become this server.

    A member's own path takes one query.

    :raises: GroupNotFound, MemberNotFound, MemberStateConflict,
        DescriptionMismatch, TooFewFree, InvalidInput
    """
    members = _named(context, group, path)
    if members[0].path == path:
        _check_counts(server)
    if len(members) == 1:
        check_redeemable(members[0])
    fitting = _described(members, path, server)
    free = [m for m in fitting if m.why_not_redeemable() is None]
    if len(free) < _wanted(server):
        raise exception.TooFewFree(
            wanted=_wanted(server),
            member=path,
            free=len(free),
            total=len(members),
        )


def _named(context, group, path):
    project_id = context.project_id
    try:
        return VRTMember.list_by_path(
            context, group, path, project_id=project_id
        )
    except exception.MemberNotFound as exc:
        found = VRTGroup.find(context, group)
        if (
            found is None
            or found.project_id != project_id
            or not groups.is_there(found)
        ):
            raise exception.GroupNotFound(group=group) from exc
        raise


def _check_counts(server):
    for name in ('min_count', 'max_count'):
        if str(server.get(name, 1)) != '1':
            raise validation.InvalidInput(
                f'$.server.{name}', 'must be 1: one member is one server'
            )


def _wanted(server):
    """Return the number of servers requested.

    Nova creates fewer than ``max_count`` only if the quota requires it; its
    scheduler finds hosts for all of them or for none.
    """
    most = server.get('max_count', server.get('min_count', 1))
    try:
        return int(most)
    except (TypeError, ValueError, OverflowError):
        return 1  # Nova's schema has the better error.


def _described(members, path, server):
    """Return the members whose description the server matches.

    :raises: DescriptionMismatch if there are none
    """
    requests = {member.stem: member.request for member in members}
    found = {
        stem: differences(server, request)
        for stem, request in requests.items()
    }
    fitting = [member for member in members if not found[member.stem]]
    if not fitting:
        raise exception.DescriptionMismatch(
            member=path, reason='; '.join(found[members[0].stem])
        )
    return fitting


def check_redeemable(member):
    """Refuse to create the server of a member that is not redeemable.

    :raises: MemberStateConflict
    """
    obstacle = member.why_not_redeemable()
    if obstacle is not None:
        raise exception.MemberStateConflict(
            member=member.path, status=member.status, reason=obstacle
        )


def differences(server, request):
    """Return the differences of a ``server`` from a member, as phrases."""
    asked = _asked(server)
    if asked['boot source'] == AN_IMAGE:
        asked['image'] = _id(server.get('imageRef'), '$.server.imageRef')
    return compare(asked, request)


def compare(asked, request):
    """Return the differences of properties from a member, as phrases.

    :param asked: {property: value}; image is ignored when booting from volume
    """
    described = {
        'flavor': request['flavor_id'],
        'availability zone': request['availability_zone'],
        'boot source': boot_source(request['is_bfv']),
    }
    if asked['boot source'] == described['boot source'] == AN_IMAGE:
        described['image'] = request['image_id']
    return [
        f'its {name} is {asked[name] or "not given"} instead of '
        f'{described[name] or "none"}'
        for name in described
        if asked[name] != described[name]
    ]


def _asked(server):
    return {
        'flavor': _id(server.get('flavorRef'), '$.server.flavorRef'),
        'availability zone': resolve.asked_zone(server),
        'boot source': boot_source(_boots_from_volume(server)),
    }


def boot_source(from_volume):
    """Return the phrase for a server's boot source."""
    return 'a volume' if from_volume else AN_IMAGE


def _id(reference, where):
    """Return the id in a reference, which is an id or a URL."""
    try:
        return common.get_id_from_href(reference)
    except ValueError as exc:
        raise validation.InvalidInput(where, 'is no reference') from exc


def _boots_from_volume(server):
    """Check whether the root disk is a volume, by the rules of Nova."""
    devices = server.get('block_device_mapping_v2')
    for device in devices if isinstance(devices, list) else []:
        if isinstance(device, dict) and str(device.get('boot_index')) == '0':
            return (device.get('source_type'), 'local') != (
                'image',
                device.get('destination_type', 'local'),
            )
    return not server.get('imageRef')
