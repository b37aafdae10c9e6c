# SPDX-License-Identifier: Apache-2.0
"""Values that the members in a nested stack are made of.

They are found in its template, before any value is known: a group waits for
them, and for nothing else that the nested stack gets.
"""

from collections.abc import Mapping

from heat.common import exception
from heat.common import template_format
from heat.engine import template
from heat.engine.resources import stack_resource
from heat.engine.resources import template_resource
from heat.engine.resources.openstack.heat import autoscaling_group
from heat.engine.resources.openstack.heat import resource_group
from heat.engine.resources.openstack.nova import server as nova_server

from nova_groupext_client import hints

# Properties of a server that describe its member.
DESCRIPTION = ('flavor', 'image', 'availability_zone')
HINTS = 'scheduler_hints'
# Groups of resources, and their properties that define a unit.
GROUPS = (
    autoscaling_group.AutoScalingResourceGroup,
    resource_group.ResourceGroup,
)
UNITS = ('resource_def', 'resource')
# Functions of templates that refer to a parameter.
_PARAMETERS = ('get_param', 'Ref')


class NestedValues:
    """Values of the resources of a stack, as its templates use them.

    :param stack: heat.engine.stack.Stack
    """

    def __init__(self, stack):
        self._registry = stack.env.registry
        self._files = stack.t.files
        # {file: parameters that its members are made of}
        self._used = {}

    def of(self, kind, file, properties):
        """Return the values of a resource that the members in it are made of.

        :param kind: class of the resource
        :param file: name of its template, if it has one
        :param properties: mapping; values are not resolved
        :returns: list of these values; all if the resource is a nested stack
            whose template is not known
        """
        if issubclass(kind, nova_server.Server):
            return _of_server(properties)
        if issubclass(kind, GROUPS):
            return self._of_units(properties)
        if issubclass(kind, template_resource.TemplateResource):
            used = self._parameters_of(file)
            if used is not None:
                return [properties.get(each) for each in used]
        if issubclass(kind, stack_resource.StackResource):
            return [*properties.values()]
        return []

    def _of_type(self, type_, name, properties):
        try:
            info = self._registry.get_resource_info(type_, name)
        except exception.EntityNotFound:
            return []
        file = getattr(info, 'template_name', None)
        return self.of(info.get_class_to_instantiate(), file, properties)

    def _of_units(self, properties):
        """Return the values of a group of resources and of its units."""
        found = []
        for property_, value in properties.items():
            if property_ in UNITS and _is_definition(value):
                inside = value.get('properties') or {}
                found += self._of_type(value['type'], None, inside)
            else:
                found.append(value)
        return found

    def _parameters_of(self, file):
        """Return the parameters of a template that its members are made of.

        :returns: None if the template is not known
        """
        if file not in self._files:
            return None
        if file not in self._used:
            # Heat refuses a template in itself; here it adds nothing.
            self._used[file] = frozenset()
            self._used[file] = self._read(self._files[file])
        return self._used[file]

    def _read(self, text):
        parsed = template.Template(template_format.parse(text))
        # Conditions may leave out any server.
        snippets = [parsed.t.get('conditions'), parsed.t.get('Conditions')]
        for name, each in parsed[parsed.RESOURCES].items():
            properties = each.get('Properties') or {}
            if isinstance(properties, Mapping):
                snippets += self._of_type(each['Type'], name, properties)
            else:
                snippets.append(properties)
        return frozenset(_parameters(snippets))


def _of_server(properties):
    found = [properties.get(each) for each in DESCRIPTION]
    given = properties.get(HINTS)
    if isinstance(given, Mapping) and hints.MEMBER in given:
        return [*found, given.get(hints.GROUP), given[hints.MEMBER]]
    return [*found, given]


def _is_definition(value):
    """Check whether a value is the definition of a unit, not made of others.

    :param value: value of a property of a group of resources
    """
    return (
        isinstance(value, Mapping)
        and isinstance(value.get('type'), str)
        and isinstance(value.get('properties') or {}, Mapping)
    )


def _parameters(snippet):
    """Return the names of the parameters in a part of a template's text."""
    if isinstance(snippet, list):
        return set().union(*map(_parameters, snippet))
    if not isinstance(snippet, Mapping):
        return set()
    found = _parameters([*snippet.values()])
    for function in _PARAMETERS:
        args = snippet.get(function)
        name = args[0] if isinstance(args, list) and args else args
        if isinstance(name, str):
            found.add(name)
    return found
