# SPDX-License-Identifier: Apache-2.0
"""Resources that must exist before a group can be described.

These are what the descriptions of its servers, their paths and their numbers
are made of. They must not depend on the group: Heat creates the servers after
it.
"""

from collections.abc import Mapping

from heat.common import exception
from heat.engine import function
from heat.engine.cfn import functions as cfn_functions
from heat.engine.hot import functions as hot_functions
from heat.engine.resources import stack_resource
from heat.engine.resources.openstack.nova import server as nova_server

from nova_groupext_client import hints
from nova_groupext_client.heat import nested_values

# Properties of groups of resources: the numbers of their units.
NUMBERS = ('count', 'min_size', 'max_size', 'desired_capacity')
_SERVER = 'OS::Nova::Server'
# Functions that refer to a parameter.
_PARAMETERS = (hot_functions.GetParam, cfn_functions.ParamRef)


def find(stack, group):
    """Return the names of the resources of a stack that a group requires.

    :param group: name of the group's resource
    :raises: StackValidationFailed
    """
    required = _required(stack)
    present = [*resources(stack)]
    kinds = {name: kind for name, kind, _rdef in present}
    groups = {
        name for name, kind in kinds.items() if issubclass(kind, kinds[group])
    }
    later = _dependents(group, required)
    values = nested_values.NestedValues(stack)
    found = set()
    for name, kind, rdef in present:
        if name not in later:
            continue
        data = rdef.properties({}, stack.context).data
        if group not in names(data):
            continue
        if issubclass(kind, nova_server.Server):
            found |= _of_server(name, data, later)
        elif issubclass(kind, stack_resource.StackResource):
            _check_units(name, data, later)
            inside = names(values.of(kind, stack[name].template_url, data))
            # Groups need not wait for each other: the stack gets their ids.
            found |= inside - later - groups
    return found


def resources(stack):
    """Yield (name, class, definition) of each resource of a stack, by name."""
    definition, registry = stack.defn, stack.env.registry
    for name in sorted(definition.enabled_rsrc_names()):
        rdef = definition.resource_definition(name)
        kind = registry.get_class_to_instantiate(
            rdef.resource_type, resource_name=name
        )
        yield name, kind, rdef


def dependents(stack, group):
    """Return the names of a group of a stack and of all that depends on it."""
    return _dependents(group, _required(stack))


def _required(stack):
    """Return {name of a resource: names of those that it depends on}."""
    definition = stack.defn
    return {
        name: definition.resource_definition(name).required_resource_names()
        for name in definition.enabled_rsrc_names()
    }


def _dependents(group, required):
    later, size = {group}, 0
    while size < len(later):
        size = len(later)
        later |= {name for name, needs in required.items() if needs & later}
    return later


def _check_units(name, data, later):
    """Check that a group of resources does not depend on what comes later.

    :raises: StackValidationFailed
    """
    for property_ in NUMBERS:
        check((name,), property_, names(data.get(property_)) & later)
    for property_ in nested_values.UNITS:
        unit = data.get(property_)
        if not isinstance(unit, Mapping) or unit.get('type') != _SERVER:
            continue
        if isinstance(unit.get('properties'), Mapping):
            _of_server(name, unit['properties'], later)


def _of_server(name, data, later):
    """Return the names of the resources that a server's member is made of.

    :param data: properties of a server, which are not resolved
    """
    needs = {each: names(data.get(each)) for each in nested_values.DESCRIPTION}
    needs[nested_values.HINTS] = names(member(data))
    for property_, found in needs.items():
        check((name,), property_, found & later)
    return set().union(*needs.values())


def check(where, property_, culprits):
    """Refuse a value that is made of resources created after the group.

    :param culprits: names of these
    :raises: StackValidationFailed
    """
    if culprits:
        raise error(
            where,
            property_,
            f'must not depend on {min(culprits)}, which is created after the '
            'group of the server',
        )


def member(data):
    """Return the value of the hint of a server's path, None without one.

    :param data: properties of the server, which are not resolved
    """
    given = data.get(nested_values.HINTS)
    return given.get(hints.MEMBER) if isinstance(given, Mapping) else None


def names(snippet):
    """Return the names of the resources that a value refers to."""
    return {each.name for each in function.dependencies(snippet)}


def parameters(snippet):
    """Return the names of the parameters that a value refers to."""
    if isinstance(snippet, _PARAMETERS):
        args = snippet.args
        name = args[0] if isinstance(args, list) else args
        return {name} if isinstance(name, str) else parameters(name)
    if isinstance(snippet, function.Function):
        inside = getattr(snippet, 'parsed', snippet.args)
        return parameters(inside)
    if isinstance(snippet, Mapping):
        return parameters([*snippet.values()])
    if isinstance(snippet, list):
        return set().union(*map(parameters, snippet))
    return set()


def error(where, property_, text):
    """Return the error of a property of a server.

    :param where: names of the resources that lead to the server
    """
    return exception.StackValidationFailed(
        path=['resources', *where, 'properties', property_],
        message=f'{property_} {text}',
    )
