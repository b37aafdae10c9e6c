# SPDX-License-Identifier: Apache-2.0
"""boot: the servers of a group's members, created by Nova itself.

Each is created as if the tenant had sent ``POST /servers`` with our hints:
by Nova's own controller, with its schema, policies, quota and errors. What
goes wrong with one member is told of that member, and the others go on.
"""

import contextlib
import copy

from nova import exception as nova_exc
from nova import objects
from nova.api.openstack import api_version_request
from nova.api.openstack import wsgi
from nova.api.openstack.compute import servers
from nova.api.validation import validators
import webob.exc

from nova_groupext import exception
from nova_groupext import pointer
from nova_groupext.api import hints
from nova_groupext.objects import boots
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.planner import invalid

#: The template of those members that have none of their own.
DEFAULT = 'default'
#: What a template's name says in place of each member's own.
PLACEHOLDER = '{member}'
TEMPLATES = '$.boot.servers'

# The microversion of POST /servers that templates are written in, whatever
# that of the request is.
_VERSION = api_version_request.APIVersionRequest('2.94')


class Boot:
    """Creates the servers of members that are held.

    :param req: the request, whose context is the tenant's own
    :param templates: {stem or path of a member, or DEFAULT: template}
    """

    def __init__(self, req, templates):
        self._context = req.environ['nova.context']
        self._request = wsgi.Request.blank(
            '/servers', base_url=req.application_url
        )
        self._request.environ['nova.context'] = self._context
        self._request.api_version_request = _VERSION
        self._controller = servers.ServersController()
        self._templates = templates

    def check(self, group):
        """Refuse templates that no server could be created from.

        :raises: InvalidInput
        """
        names = {DEFAULT}.union(*((m.path, m.stem) for m in group.members))
        schema = self._controller.create.request_body_schemas(self._request)
        validator = validators._SchemaValidator(schema)
        for name, template in self._templates.items():
            where = invalid.child(TEMPLATES, name)
            if name not in names:
                raise invalid.InvalidInput(where, 'is no member of the group')
            server = {'name': name, 'flavorRef': 'any', **_given(template)}
            try:
                validator.validate({'server': server})
            except nova_exc.ValidationError as exc:
                raise invalid.InvalidInput(
                    where, exc.kwargs['detail']
                ) from exc

    def run(self, group):
        """Create the servers that are still missing, one after the other.

        :returns: [{"path", "server_id"}, or {"path", "fault"}]
        :raises: GroupBusy while another request does the same
        """
        boot = boots.Boot(self._context, group, self._context.request_id)
        with boot.alone():
            # What another has created meanwhile is not missing any more.
            fresh = VRTGroup.get(self._context, group.uuid)
            return [
                {'path': member.path, **outcome}
                for member in fresh.members
                if self._is_missing(member)
                and (outcome := self._outcome(group, member, boot))
            ]

    def _is_missing(self, member):
        """Tell whether a member is held, and no server is on its way."""
        if member.status != states.Member.HELD:
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

    def _outcome(self, group, member, boot):
        """Return what becomes of a member; None if it is not missing now."""
        try:
            boot.go_on()
            now = VRTMember.get_by_path(
                self._context,
                group.uuid,
                member.path,
                project_id=group.project_id,
            )
            if not self._is_missing(now):
                return None
            return {'server_id': self._create(group, now)}
        except invalid.InvalidInput as exc:
            return {'fault': str(exc)}
        except webob.exc.HTTPException as exc:
            return {'fault': exc.explanation}
        except nova_exc.NovaException as exc:
            return {'fault': exc.format_message()}

    def _create(self, group, member):
        """Create the server of a member and return its id.

        :raises: whatever Nova answers to POST /servers, or the hints filter
        """
        hints.check_redeemable(member)
        server = self._server(member)
        differences = hints.differences(server, member.request)
        if differences:
            raise exception.DescriptionMismatch(
                member=member.path, reason='; '.join(differences)
            )
        made = self._controller.create(
            self._request,
            body={
                'server': server,
                'os:scheduler_hints': {
                    pointer.GROUP_HINT: group.uuid,
                    pointer.MEMBER_HINT: member.path,
                },
            },
        )
        uuid = made.obj['server']['id']
        # For the next one who boots; the scheduler may have been faster.
        with contextlib.suppress(exception.MemberStateConflict):
            member.change(self._context, member.status, server_uuid=uuid)
        return uuid

    def _server(self, member):
        """Return the server of a member, as POST /servers takes it."""
        template = self._template(member)
        request = member.request
        name = template.get('name', PLACEHOLDER)
        server = {
            **_given(template),
            'name': name.replace(PLACEHOLDER, member.path.replace('/', '-')),
            'flavorRef': request['flavor_id'],
            'imageRef': template.get('image', request['image_id'] or ''),
        }
        if request['availability_zone']:
            server['availability_zone'] = request['availability_zone']
        return server

    def _template(self, member):
        for name in (member.path, member.stem, DEFAULT):
            if name in self._templates:
                return self._templates[name]
        return {}


def _given(template):
    """Return what a template says in the words of POST /servers."""
    given = {k: v for k, v in template.items() if k != 'image'}
    # Nova changes what it is given.
    return copy.deepcopy({'networks': 'auto', **given})
