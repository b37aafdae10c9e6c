# SPDX-License-Identifier: Apache-2.0
"""Heat's resource of a VRT group.

1. The members are read from the definitions of the stack's servers that name
   the group in their hints: see stack_servers and topology.
2. One POST describes the group; the client token is the resource's uuid, so
   that an engine that dies before it has stored the id loses nothing.
3. Each stack update describes the group anew and sends at most one PUT, none
   if that asks for nothing new, see revising.
4. The servers refer to the group, so Heat creates them afterwards, and deletes
   them before it.

Step 3 is part of the check of Heat's convergence engine, so a stack of the
legacy engine is refused.
"""

import base64
import dataclasses
import functools
import json
import zlib

from heat.common import exception
from heat.engine import attributes
from heat.engine import constraints
from heat.engine import properties
from heat.engine import resource
from oslo_config import cfg

from nova_groupext_client import passing_errors
from nova_groupext_client.heat import client_plugin
from nova_groupext_client.heat import definition
from nova_groupext_client.heat import failures
from nova_groupext_client.heat import requirements
from nova_groupext_client.heat import revising

# Key of the stored definition that was sent last. Heat stores 64 KiB, so it is
# compressed.
_SENT = 'sent'


@dataclasses.dataclass
class _Request:
    """A definition to be sent, and how often that was tried."""

    definition: dict[str, object]
    attempts: int = 0
    is_sent: bool = False


def _once_answered(check):
    """Decorate a check: Heat repeats it while the cloud does not answer."""

    @functools.wraps(check)
    def checked(self, request):
        try:
            return check(self, request)
        except Exception as exc:
            if passing_errors.is_passing(exc):
                return False
            raise

    return checked


class VRTGroup(resource.Resource):
    """A group of servers that are placed together.

    Its members are the servers of the stack, and of the stacks nested in it,
    that name the group in their scheduler hints. It is planned, and its
    capacity is held, before the first of them is created.
    """

    PROPERTIES = (
        NAME,
        DESCRIPTION,
        POLICIES,
        GROUPS,
        MEMBERS,
        RELATIONSHIPS,
        EXPIRES_IN,
    ) = (
        'name',
        'description',
        'policies',
        'groups',
        'members',
        'relationships',
        'expires_in',
    )

    ATTRIBUTES = (STATUS, ALL_MEMBERS, REFUSAL, DESCRIBED) = (
        'status',
        'members',
        'refusal',
        'description',
    )

    properties_schema = {
        NAME: properties.Schema(
            properties.Schema.STRING,
            'Name of the group; by default that of the resource in the cloud.',
            update_allowed=True,
        ),
        DESCRIPTION: properties.Schema(
            properties.Schema.STRING, 'Any text.', update_allowed=True
        ),
        POLICIES: properties.Schema(
            properties.Schema.LIST,
            'Policies of the whole group.',
            update_allowed=True,
        ),
        GROUPS: properties.Schema(
            properties.Schema.MAP,
            'Subgroups by name, each with policies, relationships and groups '
            'of its own.',
            update_allowed=True,
        ),
        MEMBERS: properties.Schema(
            properties.Schema.MAP,
            'Values of members that servers do not define, by path: '
            'min_count and max_surge.',
            update_allowed=True,
        ),
        RELATIONSHIPS: properties.Schema(
            properties.Schema.LIST,
            'Relationships between members or subgroups.',
            update_allowed=True,
        ),
        EXPIRES_IN: properties.Schema(
            properties.Schema.INTEGER,
            'Seconds for which capacity is held, from each description on; '
            "by default the stack's timeout.",
            constraints=[constraints.Range(min=1)],
            update_allowed=True,
        ),
    }

    attributes_schema = {
        STATUS: attributes.Schema('Status of the group.'),
        ALL_MEMBERS: attributes.Schema(
            'Members with their status, server and domains.',
            type=attributes.Schema.LIST,
        ),
        REFUSAL: attributes.Schema(
            'Why the group, or its last revision, cannot be placed, and what '
            'would help.',
            type=attributes.Schema.MAP,
        ),
        DESCRIBED: attributes.Schema(
            'Definition of the group, as it was read from the stack.',
            type=attributes.Schema.MAP,
        ),
    }

    default_client_name = client_plugin.NAME

    # Another group would replace all servers.
    always_replace_on_check_failed = False

    # The definition that _needs_update() has found to be due.
    _due = None

    @classmethod
    def is_service_available(cls, context):
        is_available, reason = super().is_service_available(context)
        if is_available:
            plugin = context.clients.client_plugin(client_plugin.NAME)
            reason = plugin.missing()
        return not reason, reason

    def validate(self):
        super().validate()
        if not self._is_convergent():
            raise exception.StackValidationFailed(
                message='The stack needs the convergence engine of Heat: '
                'convergence_engine = true in heat.conf.',
                resource=self,
            )
        described = self._describe(self.properties, is_final=False)
        definition.check_policies(self, described['topology'])

    def _is_convergent(self):
        # Heat validates nested stacks before it has stored their engine.
        return self.stack.convergence or (
            self.stack.nested_depth > 0 and cfg.CONF.convergence_engine
        )

    def add_dependencies(self, deps):
        for name in sorted(requirements.find(self.stack, self.name)):
            deps += (self, self.stack[name])

    def handle_create(self):
        return _Request(self._describe(self.properties))

    @_once_answered
    def check_create_complete(self, request):
        if not request.is_sent:
            group = self._send(
                *(request, None, self.client().create_group),
                client_token=self.uuid,
            )
            if group is None:
                return False
            self.resource_id_set(group.id)
            self._store(request.definition)
        group = self.client().get_group(self.resource_id)
        self._check(group)
        return group.status != 'PLANNING'

    def _send(self, request, group, send, *args, **kwargs):
        """Send a definition; return None if a conflict may end by itself.

        Another revision, or a create, may be under way, or the project may
        have too many groups in planning.

        :param group: VrtGroup of the SDK; None before there is one
        """
        request.attempts += 1
        try:
            sent = send(*args, **request.definition, **kwargs)
        except Exception as exc:
            is_conflict = self.client_plugin().is_conflict(exc)
            if is_conflict and revising.may_retry(group, request.attempts):
                return None
            raise
        request.is_sent = True
        return sent

    def _needs_update(self, after, before, after_props, before_props, *rest):
        if super()._needs_update(
            after, before, after_props, before_props, *rest
        ):
            return True
        if not self.stack.in_convergence_check:
            # A preview asks nobody.
            return False
        self._due = self._revision(after_props)
        return self._due is not None

    def needs_replace_failed(self):
        """Replace the group only if there is none."""
        return self._get() is None

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self.properties = json_snippet.properties(
            self.properties_schema, self.context
        )
        due = self._due or self._revision(self.properties)
        return due and _Request(due)

    @_once_answered
    def check_update_complete(self, request):
        if request is None:
            return True
        client = self.client()
        group = client.get_group(self.resource_id)
        if not request.is_sent:
            if not self._send(request, group, client.update_group, group):
                return False
            group = client.get_group(self.resource_id)
        if group.is_planning:
            return False
        self._check(group)
        self._store(request.definition)
        return True

    def handle_check(self):
        self.client().get_group(self.resource_id)

    def _find(self):
        """Find the group of an engine that died before it stored the id."""
        if self.resource_id is None and self.uuid is not None:
            for group in self.client().groups(client_token=self.uuid):
                self.resource_id_set(group.id)

    def _get(self):
        """Return the VrtGroup of the SDK, None if there is none."""
        self._find()
        if self.resource_id is None:
            return None
        with self.client_plugin().ignore_not_found:
            return self.client().get_group(self.resource_id)

    def handle_delete(self):
        self._find()
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.client().delete_group(self.resource_id)

    def _resolve_attribute(self, name):
        if self.resource_id is None:
            return None
        if name == self.DESCRIBED:
            return self._sent()
        group = self.client().get_group(self.resource_id)
        if name == self.REFUSAL:
            return (group.revision or {}).get('refusal') or group.refusal
        return getattr(group, name)

    def _check(self, group):
        """Raise the reason why a group or its revision was not planned."""
        if revising.has_failed(group):
            raise exception.Error(failures.explain(group))

    def _revision(self, props):
        """Return the definition that an update has to send, or None.

        :raises: UpdateReplace if there is no group
        """
        group = self._get()
        if group is None:
            raise resource.UpdateReplace(self)
        described = self._describe(props, group=group)
        is_due = revising.is_due(
            group,
            self._sent(),
            described,
            has_expiry=props[self.EXPIRES_IN] is not None,
        )
        return described if is_due else None

    def _store(self, described):
        packed = zlib.compress(json.dumps(described).encode())
        self.data_set(_SENT, base64.b64encode(packed).decode())

    def _sent(self):
        """Return the definition that was accepted last, or None."""
        sent = self.data().get(_SENT)
        return sent and json.loads(zlib.decompress(base64.b64decode(sent)))

    def _describe(self, props, **known):
        """Return the group's attributes in the form of the API."""
        return definition.describe(self, props, **known)
