# SPDX-License-Identifier: Apache-2.0
"""Action boot: creation of the servers of a group's held members.

Nova's controller creates each server as if the tenant had sent ``POST
/servers`` with our hints: its schema, policies, quota and errors apply. The
boot records a failure under its member's path and goes on with the others.

The servers are created after the answer, with the context of the request.
Neither its token nor the templates are stored.
"""

import contextlib
import copy

from nova import exception as nova_exc
from nova import objects
from nova.api.openstack import api_version_request
from nova.api.openstack import wsgi
from nova.api.openstack.compute import servers
from nova.api.validation import validators
from oslo_log import log as logging
from oslo_utils import timeutils
import webob.exc

from nova_groupext import exception
from nova_groupext import member_ref
from nova_groupext.api import background
from nova_groupext.api import describe
from nova_groupext.api import descriptions
from nova_groupext.api import hinted_members
from nova_groupext.api.views import faults
from nova_groupext.db import database_errors
from nova_groupext.objects import boot
from nova_groupext.objects import states
from nova_groupext.objects.boot import VRTBoot
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.policies import rules
from nova_groupext.solver.language import validation

LOG = logging.getLogger(__name__)

#: Name of the template for members without one of their own.
DEFAULT = 'default'
#: Part of a template's server name that the member's path replaces.
PLACEHOLDER = '{member}'

# Seconds between two polls of a group in PLANNING or an unreachable database.
POLL_INTERVAL = 1

# Microversion of POST /servers that applies to templates, regardless of the
# microversion of the request.
_VERSION = api_version_request.APIVersionRequest('2.94')

_NO_PROCESS = (
    'nova-api was stopped before all servers were created. Boot the group '
    'again to create the remaining servers.'
)
_NO_ACCESS = (
    'The token of the request is no longer valid. Boot the group again to '
    'create the remaining servers.'
)


def read_for_new_group(req, attributes, group):
    """Return the Boot of a group that is not stored yet.

    :param attributes: the request's ``vrt_group``
    :returns: None if the request has no ``boot``, or null
    :raises: InvalidInput, PolicyNotAuthorized
    """
    if attributes.get('boot') is None:
        return None
    where = f'{describe.GROUP}.boot'
    if not group.hold_when_planned:
        raise validation.InvalidInput(
            where, 'requires held members, but "hold" is false'
        )
    target = {'project_id': group.project_id}
    req.environ['nova.context'].can(rules.BOOT, target)
    return read(req, attributes['boot'], group, where)


def read(req, parameters, group, where):
    """Return the Boot that a request describes.

    :param parameters: ``{"servers": {...}}``, or None
    :param where: JSON path of ``parameters``
    :raises: InvalidInput
    """
    boot = Boot(req, (parameters or {}).get('servers', {}))
    boot.check(group, f'{where}.servers')
    return boot


class Boot:
    """Background work that creates servers of held members, one per step.

    :param req: request with the tenant's context
    :param templates: {member set or path of a member, or DEFAULT: template}
    """

    def __init__(self, req, templates):
        # Copied: nova-api still uses the request's own context.
        self._context = copy.copy(req.environ['nova.context'])
        self._request = wsgi.Request.blank(
            '/servers', base_url=req.application_url
        )
        self._request.environ['nova.context'] = self._context
        self._request.api_version_request = _VERSION
        self._controller = servers.ServersController()
        self._templates = templates
        self._token_ends_at = _token_ends_at(req.environ)
        self._group = None
        self._row = None
        # Paths of members without a server; None until the group is planned.
        self._paths = None

    def check(self, group, where):
        """Refuse templates that Nova cannot create a server from.

        :param where: JSON path of the templates
        :raises: InvalidInput
        """
        names = {DEFAULT}.union(
            *(
                (m.path, m.member_set)
                for m in group.members
                if not m.is_successor
            )
        )
        schema = self._controller.create.request_body_schemas(self._request)
        validator = validators._SchemaValidator(schema)
        for name, template in self._templates.items():
            template_at = validation.json_path(where, name)
            if name not in names:
                raise validation.InvalidInput(
                    template_at, 'is not a member of the group'
                )
            try:
                server = {
                    'name': name,
                    'flavorRef': 'any',
                    **_server_properties(template),
                }
                validator.validate({'server': server})
            except RecursionError as exc:
                raise validation.InvalidInput(
                    template_at, 'is nested too deeply'
                ) from exc
            except nova_exc.ValidationError as exc:
                raise validation.InvalidInput(
                    template_at, exc.kwargs['detail']
                ) from exc

    def start(self, group, generation=None):
        """Start creating the servers in the background.

        A group in PLANNING gets its servers as soon as it is held.

        :param generation: expected one of the group, None for any
        :raises: GroupBooting while another boot of the group runs,
            GroupNotFound, GenerationConflict
        """
        self._group = group
        self._row = VRTBoot.start(
            self._context, group, self._context.request_id, generation
        )
        background.get_background().add(self)

    def step(self):
        """Create the next server.

        :returns: seconds until the next step; None when the boot is over
        """
        self._context.update_store()
        try:
            # Renew ownership first: a boot that lost it must stop.
            self._row.store_progress(self._context)
            if self._paths is None:
                return self._wait_for_plan()
            if not self._paths:
                self._row.finish(self._context, boot.DONE)
                return None
            return self._create_next()
        except exception.BootTakenOver as exc:
            LOG.info('%s', exc.format_message())
            return None
        except database_errors.ANY:
            # Another request takes over if the outage lasts too long.
            LOG.exception(
                'The tables of VRT groups are not available; the boot will '
                'be continued.'
            )
            return POLL_INTERVAL

    def abort(self):
        """Stop the boot because the process exits."""
        self._stop(_NO_PROCESS)

    def _stop(self, fault):
        with contextlib.suppress(exception.BootTakenOver):
            self._row.finish(self._context, boot.STOPPED, fault)

    def _wait_for_plan(self):
        group = VRTGroup.get_row(self._context, self._group.id)
        if group.status == states.Group.PLANNING:
            return POLL_INTERVAL
        if group.status not in states.GROUP_WITH_HOLDS:
            self._stop(f'The group is {group.status}: it has no held members.')
            return None
        # Another request may have created some of the servers meanwhile.
        planned = VRTGroup.get(self._context, group.uuid)
        self._paths = [
            member.path
            for member in planned.members
            if self._is_missing(member)
        ]
        self._row.missing = len(self._paths)
        return 0

    def _create_next(self):
        path = self._paths[0]
        try:
            fault = self._try_to_create(path)
        except nova_exc.Unauthorized:
            self._stop(_NO_ACCESS)
            return None
        self._paths.pop(0)
        if fault is not None:
            self._row.faults = {**self._row.faults, path: fault}
        return 0

    def _is_missing(self, member):
        """Check whether a member is held and no server is being created.

        A member may be reserved for a server of another create.
        """
        if member.status != states.Member.HELD or member.reserved_for:
            return False
        if member.server_uuid is None:
            return True
        try:
            objects.BuildRequest.get_by_instance_uuid(
                self._context, member.server_uuid
            )
        except nova_exc.BuildRequestNotFound:
            return True
        return False

    def _try_to_create(self, path):
        """Create the server of a member, unless it exists already.

        :returns: the fault, see faults.view(), or None
        :raises: nova.exception.Unauthorized if the token has expired
        """
        try:
            member = VRTMember.get_by_path(
                self._context,
                self._group.uuid,
                path,
                project_id=self._group.project_id,
            )
            if self._is_missing(member):
                self._create(member)
                self._row.created += 1
        except nova_exc.Unauthorized:
            raise
        except validation.InvalidInput as exc:
            code, message = 400, str(exc)
        except webob.exc.HTTPException as exc:
            code, message = exc.code, exc.explanation
        except nova_exc.NovaException as exc:
            code, message = exc.code, exc.format_message()
        else:
            return None
        if self._token_ends_at and self._token_ends_at < timeutils.utcnow():
            raise nova_exc.Unauthorized
        return faults.view(code, message, timeutils.utcnow())

    def _create(self, member):
        """Create the server of a member.

        :raises: any error of Nova's POST /servers or of the hints filter
        """
        hinted_members.check_redeemable(member)
        server = self._server(member)
        described = descriptions.ServerDescription.of_body(
            self._context, server
        )
        differences = described.differences(member.resolved_request)
        if differences:
            raise descriptions.mismatch(
                self._context, member.path, differences
            )
        response = self._controller.create(
            self._request,
            body={
                'server': server,
                'os:scheduler_hints': {
                    member_ref.GROUP_HINT: self._group.uuid,
                    member_ref.MEMBER_HINT: member.path,
                },
            },
        )
        uuid = response.obj['server']['id']
        # For later boots. The scheduler may have changed the status first.
        with contextlib.suppress(exception.MemberStateConflict):
            member.change(self._context, member.status, server_uuid=uuid)

    def _server(self, member):
        """Return the ``server`` of a POST /servers body for a member."""
        template = self._template(member)
        request = member.resolved_request
        name = template.get('name', PLACEHOLDER)
        server = {
            **_server_properties(template),
            'name': name.replace(PLACEHOLDER, member.path.replace('/', '-')),
            'flavorRef': request['flavor_id'],
            'imageRef': template.get('image', request['image_id'] or ''),
        }
        if request['availability_zone']:
            server['availability_zone'] = request['availability_zone']
        return server

    def _template(self, member):
        for name in (member.path, member.member_set, DEFAULT):
            if name in self._templates:
                return self._templates[name]
        return {}


def _server_properties(template):
    """Return the properties of POST /servers that a template sets."""
    properties = {k: v for k, v in template.items() if k != 'image'}
    # Copied: Nova modifies the body.
    return copy.deepcopy({'networks': 'auto', **properties})


def _token_ends_at(environ):
    """Return the expiry of the request's token; None if unknown."""
    info = environ.get('keystone.token_info') or {}
    ends_at = info.get('token', {}).get('expires_at')
    if ends_at is None:
        return None
    return timeutils.normalize_time(timeutils.parse_isotime(ends_at))
