# SPDX-License-Identifier: Apache-2.0
"""Heat templates with groups (HOT+), checked when they are loaded."""

from collections.abc import Mapping
import copy
import functools
import pathlib
import typing

from nova_groupext_client import api_types
from nova_groupext_client.template import conditions
from nova_groupext_client.template import definition
from nova_groupext_client.template import error_locations
from nova_groupext_client.template import heat_export
from nova_groupext_client.template import nodes
from nova_groupext_client.template import parameters as declared
from nova_groupext_client.template import properties
from nova_groupext_client.template import reading
from nova_groupext_client.template import resources
from nova_groupext_client.template import scopes

# Heat's own sections.
_HEAT = (
    reading.VERSION,
    'description',
    'parameter_groups',
    'parameters',
    'resources',
    'outputs',
    'conditions',
)
# The API's limit for a group; a template may have a longer description.
_MAX_DESCRIPTION = 1024
_SECTIONS = (*_HEAT, *definition.SECTIONS)


class Template(error_locations.LocatedFile):
    """A Heat template with groups.

    :ivar name: name of the group, the ``name`` given to :func:`load`
    :ivar description: that of the template within the API's limit, or ''
    :ivar definition: topology in the form of the API
    :ivar hidden: names of the parameters whose values are secret
    :ivar others: names of the resources that are not servers
    """

    def __init__(
        self, root: nodes.Node, scope: scopes.Scope, name: str | None
    ) -> None:
        self.name = name
        self._root = root
        self._scope = scope
        self.description = _description(root)
        self.hidden = declared.hidden(root)
        selected = resources.read(root, scope)
        if not selected.servers:
            raise root.required('resources').error('describes no server')
        self.others = selected.others
        self._servers = selected.servers
        self._built_definition = definition.build(root, selected, scope)
        super().__init__(
            self._built_definition.nodes_by_path, definition.TOPOLOGY
        )
        scope.end_description()

    @property
    def definition(self) -> api_types.Topology:
        return copy.deepcopy(self._built_definition.topology)

    @functools.cached_property
    def servers(self) -> dict[str, properties.Arguments]:
        """Mapping of member path to arguments for creating its server.

        :raises: TemplateError, also for servers that only Heat can create
        """
        return {
            path: self.arguments(path)
            for member_set, (server, _common) in self._member_sets.items()
            for path in server.paths(member_set)
        }

    def arguments(self, path: str) -> properties.Arguments:
        """Return the arguments for creating the server of a member.

        :param path: may have a number beyond the count: members keep theirs
            when the count decreases, and a server may ask for any
        :raises: TemplateError
        """
        member_set, number = path, ''
        if path not in self._member_sets:
            member_set, _dash, number = path.rpartition('-')
        server, common = self._member_sets[member_set]
        made: properties.Arguments = {'name': path.replace('/', '-'), **common}
        if not number:
            return made
        # Only texts inside the arguments change.
        return typing.cast(
            properties.Arguments, self._with_number(made, server, number)
        )

    @functools.cached_property
    def _member_sets(
        self,
    ) -> dict[str, tuple[resources.Server, properties.Arguments]]:
        """Mapping of member set to its resource and common arguments."""
        return {
            self._built_definition.member_sets[name]: (
                server,
                properties.arguments(server, self._scope),
            )
            for name, server in self._servers.items()
        }

    def with_hints(self, group_id: str) -> str:
        """Return the template as plain HOT, each server with its hints.

        :param group_id: id of a group with this template's topology
        """
        return heat_export.emit(
            self._root,
            self._servers.values(),
            self._built_definition.member_sets,
            group_id,
        )

    def _with_number(
        self, value: object, server: resources.Server, number: str
    ) -> object:
        """Return arguments with the number in place of ``index_var``."""
        self._scope.spend(1, server.node)
        if isinstance(value, str):
            made = value.replace(server.index_var, number)
            self._scope.spend(scopes.size(made), server.node)
            return made
        if isinstance(value, dict):
            return {
                self._with_number(k, server, number): self._with_number(
                    v, server, number
                )
                for k, v in value.items()
            }
        if isinstance(value, list):
            return [self._with_number(each, server, number) for each in value]
        return value


def load(
    text: str | bytes,
    parameters: Mapping[str, api_types.Json] | None = None,
    name: str | None = None,
    folder: str | pathlib.Path | None = None,
) -> Template:
    """Read a template.

    :param text: Heat template, perhaps with groups: YAML, in UTF-8
    :param parameters: {name: value, as a text or of its type}
    :param name: name of the group, the value of ``OS::stack_name``
    :param folder: folder of the files that get_file may read, None for none
    :raises: TemplateError, and nothing else
    """
    root = reading.read(text)
    if root.mapping().keys() & {'topology', 'vrt_group'}:
        raise root.error(
            'is a group in the form of a request, not a Heat template '
            '(on the command line: --definition, not --template)'
        )
    root.restricted_to(_SECTIONS, 'section of a template')
    version = root.required(reading.VERSION)
    if not isinstance(version.value, str) or not version.value:
        raise version.error(
            'must be a date such as 2021-04-16, or a release name'
        )
    values = declared.values(root, parameters or {})
    condition_set = conditions.Conditions(root.section('conditions'))
    scope = scopes.Scope(values, name, folder, condition_set)
    return Template(root, scope, name)


def _description(root: nodes.Node) -> str:
    node = root.get('description')
    if node is None or node.value is None:
        return ''
    text = node.text(minimum=0)
    if len(text) > _MAX_DESCRIPTION:
        return f'{text[: _MAX_DESCRIPTION - 1]}…'
    return text
