# SPDX-License-Identifier: Apache-2.0
"""Heat's resource of a VRT group.

1. The members are read from the definitions of the stack's servers that name
   the group in their hints: see stack_servers and topology.
2. One POST describes the group; the client token is the resource's uuid, so
   that an engine that dies before it has stored the id loses nothing.
3. Each stack update describes the group anew and sends at most one PUT.
4. The servers refer to the group, so Heat creates them afterwards, and deletes
   them before it.
"""

import contextlib
import json

from heat.common import exception
from heat.engine import attributes
from heat.engine import node_data
from heat.engine import properties
from heat.engine import resource
from heat.engine import stk_defn

from nova_groupext_client.heat import client_plugin
from nova_groupext_client.heat import failures
from nova_groupext_client.heat import requirements
from nova_groupext_client.heat import stack_servers
from nova_groupext_client.heat import topology

FAILURES = ('REFUSED', 'UNDECIDED', 'ERROR')
# Key of the stored definition that was sent last.
_SENT = 'sent'


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
        RELATIONSHIPS,
        EXPIRES_IN,
    ) = (
        'name',
        'description',
        'policies',
        'groups',
        'relationships',
        'expires_in',
    )

    ATTRIBUTES = (STATUS, MEMBERS) = ('status', 'members')

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
            'of its own, and members: what servers do not tell of them.',
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
            update_allowed=True,
        ),
    }

    attributes_schema = {
        STATUS: attributes.Schema('Status of the group.'),
        MEMBERS: attributes.Schema(
            'Members with their status, server and domains.',
            type=attributes.Schema.LIST,
        ),
    }

    default_client_name = client_plugin.NAME

    def validate(self):
        super().validate()
        self._describe(self.properties, is_final=False)

    def add_dependencies(self, deps):
        for name in sorted(requirements.find(self.stack, self.name)):
            deps += (self, self.stack[name])

    def handle_create(self):
        definition = self._describe(self.properties)
        group = self.client().create_group(
            client_token=self.uuid, **definition
        )
        self.resource_id_set(group.id)
        self._store(definition)

    def check_create_complete(self, _group):
        group = self.client().get_group(self.resource_id)
        self._check(group.status, group)
        return group.status != 'PLANNING'

    def _needs_update(self, after, before, after_props, before_props, *rest):
        if super()._needs_update(
            after, before, after_props, before_props, *rest
        ):
            return True
        # Of a preview nobody asks the servers.
        return self.stack.in_convergence_check and self._differs(after_props)

    def needs_replace_failed(self):
        """Replace the group only if there is none."""
        self._find()
        return self.resource_id is None

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self.properties = json_snippet.properties(
            self.properties_schema, self.context
        )
        definition = self._describe(self.properties)
        return {'definition': definition, 'is_sent': False}

    def check_update_complete(self, update):
        client = self.client()
        if not update['is_sent']:
            group = client.get_group(self.resource_id)
            try:
                client.update_group(group, **update['definition'])
            except Exception as exc:
                # Another revision, or a create, is under way: read it anew.
                if self.client_plugin().is_conflict(exc):
                    return False
                raise
            update['is_sent'] = True
        group = client.get_group(self.resource_id)
        if group.is_planning:
            return False
        revision = group.revision
        self._check((revision or {}).get('status', group.status), group)
        self._store(update['definition'])
        return True

    def _find(self):
        """Find the group of an engine that died before it stored the id."""
        if self.resource_id is None and self.uuid is not None:
            for group in self.client().groups(client_token=self.uuid):
                self.resource_id_set(group.id)

    def handle_delete(self):
        self._find()
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.client().delete_group(self.resource_id)

    def _resolve_attribute(self, name):
        if self.resource_id is None:
            return None
        return getattr(self.client().get_group(self.resource_id), name)

    def _check(self, status, group):
        """Raise the reason why a group or its revision was not planned."""
        if status in FAILURES:
            raise exception.Error(failures.explain(group))

    def _differs(self, props):
        """Check whether the group has to be described again."""
        return self.data().get(_SENT) != _text(self._describe(props))

    def _store(self, definition):
        self.data_set(_SENT, _text(definition))

    def _describe(self, props, *, is_final=True):
        """Return the group's attributes in the form of the API.

        :param props: properties of the resource
        :param is_final: whether all values are known that it is made of
        :raises: StackValidationFailed
        """
        group_id = self.resource_id or f'{self.stack.id}/{self.name}'
        with self._known_as(group_id):
            level = stack_servers.Level(self.stack, self.stack.id, is_final)
            servers = list(level.servers(group_id))
        if not servers:
            raise exception.StackValidationFailed(
                message='No server names the group in its scheduler_hints.',
                resource=self,
            )
        try:
            described = topology.build(
                servers,
                props[self.GROUPS],
                props[self.POLICIES],
                props[self.RELATIONSHIPS],
            )
        except topology.Mismatch as exc:
            raise exception.StackValidationFailed(
                message=str(exc), resource=self
            ) from exc
        return {
            'name': props[self.NAME] or self.physical_resource_name(),
            'description': props[self.DESCRIPTION] or '',
            'expires_in': props[self.EXPIRES_IN] or self.stack.timeout_secs(),
            'topology': described,
        }

    @contextlib.contextmanager
    def _known_as(self, group_id):
        """Make references to this resource resolve to a text."""
        data = self.stack.defn._resource_data
        before = data.get(self.name)
        self._set_data(
            node_data.NodeData(
                *(self.id, self.name, self.uuid, group_id, {}),
                *(self.action, self.status),
            )
        )
        try:
            yield
        finally:
            self._set_data(before)

    def _set_data(self, data):
        stk_defn.update_resource_data(self.stack.defn, self.name, data)


def _text(definition):
    """Return what tells one definition from another.

    The time for which it is held depends on the timeout of each update.
    """
    return json.dumps({**definition, 'expires_in': None}, sort_keys=True)
