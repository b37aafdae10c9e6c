# SPDX-License-Identifier: Apache-2.0
"""Heat templates with groups (HOT+), checked when they are loaded."""

import copy
import functools

from nova_groupext_client.template import definition
from nova_groupext_client.template import error_locations
from nova_groupext_client.template import functions
from nova_groupext_client.template import heat_export
from nova_groupext_client.template import parameters as declared
from nova_groupext_client.template import properties
from nova_groupext_client.template import reading
from nova_groupext_client.template import resources

_VERSION = 'heat_template_version'
# Heat's own sections.
_HEAT = (
    _VERSION,
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


class Template:
    """A Heat template with groups.

    :ivar name: name of the group, the ``name`` given to :func:`load`
    :ivar description: that of the template within the API's limit, or ''
    :ivar definition: topology in the form of the API
    :ivar hidden: names of the parameters whose values are secret
    :ivar others: names of the resources that are not servers
    """

    def __init__(self, root, scope, name):
        self.name = name
        self._root = root
        self._scope = scope
        self.description = _description(root)
        self.hidden = declared.hidden(root)
        self._servers, omitted, self.others = resources.servers(root, scope)
        if not self._servers:
            raise root.value['resources'].error('describes no server')
        self._built_definition = definition.build(
            root, self._servers, omitted, scope
        )
        scope.end_description()

    @property
    def definition(self):
        return copy.deepcopy(self._built_definition.topology)

    @functools.cached_property
    def servers(self):
        """Mapping of member path to arguments for creating its server.

        The keys are those of ``POST /servers``, except that ``flavor``,
        ``image``, ``network`` and ``uuid`` of devices are names or ids as the
        template has them, and ``user_data`` is plain text. ``networks`` is
        ``none``, ``auto`` or a list.

        :raises: TemplateError, also for servers that only Heat can create
        """
        made = {}
        for name, server in self._servers.items():
            common = properties.arguments(server, self._scope)
            group = self._built_definition.member_sets[name].rpartition('/')[0]
            for each, number in server.numbered().items():
                path = f'{group}/{each}' if group else each
                individual = {'name': path.replace('/', '-'), **common}
                if number is not None:
                    individual = self._with_number(
                        individual, server, str(number)
                    )
                made[path] = individual
        return made

    def with_hints(self, group_id):
        """Return the template as plain HOT, each server with its hints.

        :param group_id: id of a group with this template's topology
        """
        return heat_export.emit(
            self._root,
            self._servers.values(),
            self._built_definition.member_sets,
            group_id,
        )

    def locate_error(self, message):
        """Return the TemplateError for an error message of the API.

        :param message: text of a 400, ``$.vrt_group.topology.members...: ...``
        :returns: TemplateError, None if the message is not about the template
        """
        return error_locations.locate_error(
            message, self._built_definition.nodes_by_path, definition.TOPOLOGY
        )

    def _with_number(self, value, server, number):
        """Return arguments with the number in place of ``index_var``."""
        self._scope.spend(1, server.node)
        if isinstance(value, str):
            made = value.replace(server.index_var, number)
            self._scope.spend(functions.size(made), server.node)
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


def load(text, parameters=None, name=None, folder=None):
    """Read a template.

    :param text: Heat template, perhaps with groups: YAML, str or bytes
    :param parameters: {name: value, as a text or of its type}
    :param name: name of the group, the value of ``OS::stack_name``
    :param folder: folder of the files that get_file may read, None for none
    :returns: Template
    :raises: TemplateError, and nothing else
    """
    root = reading.read(text)
    root.restricted_to(_SECTIONS, 'section of a template')
    version = root.required(_VERSION)
    if not isinstance(version.value, str) or not version.value:
        raise version.error(
            'must be a date such as 2021-04-16, or a release name'
        )
    values = declared.values(root, parameters or {})
    conditions = root.section('conditions')
    scope = functions.Scope(values, name, folder, conditions)
    return Template(root, scope, name)


def _description(root):
    node = root.value.get('description')
    if node is None or node.value is None:
        return ''
    text = node.text(minimum=0)
    if len(text) > _MAX_DESCRIPTION:
        return f'{text[: _MAX_DESCRIPTION - 1]}…'
    return text
