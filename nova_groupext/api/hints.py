# SPDX-License-Identifier: Apache-2.0
"""Paste filter that validates the hints of a new server.

The client gets an error and its reason at once, instead of the fault of a
server in state ERROR. The scheduler checks again, and its check decides.

The filter goes after ``keystonecontext`` in the pipeline::

    [filter:vrt_hints]
    paste.filter_factory = nova_groupext.api.hints:HintsFilter.factory
"""

import contextlib
import http

from nova import exception as nova_exc
from nova.api import wsgi as base_wsgi
from nova.api.openstack import wsgi
from oslo_serialization import jsonutils
from oslo_utils import uuidutils
import webob.dec
import webob.exc

from nova_groupext import member_ref
from nova_groupext.api import hinted_members
from nova_groupext.api import resource
from nova_groupext.api import server_groups
from nova_groupext.db import engine
from nova_groupext.solver.language import validation
from nova_groupext_client import hints as client_hints

CREATES = ('servers', 'os-volumes_boot')
HINTS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
OUR_HINTS = (member_ref.GROUP_HINT, member_ref.MEMBER_HINT)
# A body with our hints, or with that of server groups, contains one of these.
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
            group = hints[server_groups.HINT]
            if isinstance(group, list) and len(group) == 1:
                # Nova's schema permits lists, but its query fails.
                [hints[server_groups.HINT]] = group
                req.body = jsonutils.dump_as_bytes(body)
            response = req.copy().get_response(self.application)
            # Nova names a server group that it does not know. Other errors are
            # no business of ours.
            is_unknown = (
                response.status_int == http.HTTPStatus.BAD_REQUEST
                and f'{hints[server_groups.HINT]}' in response.text
            )
            if not is_unknown:
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
    hinted_members.check(
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
