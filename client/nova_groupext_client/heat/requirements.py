# SPDX-License-Identifier: Apache-2.0
"""Resources that must exist before a group can be described.

These are what the descriptions of its servers are made of. They must not
depend on the group: Heat creates the servers after it.
"""

from heat.common import exception
from heat.engine import function
from heat.engine.resources import stack_resource
from heat.engine.resources.openstack.nova import server as nova_server

# Properties of a server that describe its member.
DESCRIPTION = ('flavor', 'image', 'availability_zone')


def find(stack, group):
    """Return the names of the resources of a stack that a group requires.

    What nested stacks need is not told apart: it is all of their requirements
    that do not depend on the group.

    :param group: name of the group's resource
    :raises: StackValidationFailed
    """
    definition = stack.defn
    required = {
        name: definition.resource_definition(name).required_resource_names()
        for name in definition.enabled_rsrc_names()
    }
    later = _dependents(group, required)
    found = set()
    for name, kind, rdef in resources(stack):
        if name not in later or name == group:
            continue
        if issubclass(kind, nova_server.Server):
            properties = rdef.properties(kind.properties_schema, stack.context)
            found |= _of_server(name, properties, later)
        elif issubclass(kind, stack_resource.StackResource):
            found |= required[name] - later
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


def _dependents(group, required):
    """Return the names of a group and of all that depends on it."""
    later, size = {group}, 0
    while size < len(later):
        size = len(later)
        later |= {name for name, needs in required.items() if needs & later}
    return later


def _of_server(name, properties, later):
    found = set()
    for property_ in DESCRIPTION:
        needs = names(properties.data.get(property_))
        for each in sorted(needs & later):
            raise error(
                (name,),
                property_,
                f'must not depend on {each}, which is created after the group '
                'of the server',
            )
        found |= needs
    return found


def names(snippet):
    """Return the names of the resources that a value refers to."""
    return {each.name for each in function.dependencies(snippet)}


def error(where, property_, text):
    """Return the error of a property of a server.

    :param where: names of the resources that lead to the server
    """
    return exception.StackValidationFailed(
        path=['resources', *where, 'properties', property_],
        message=f'{property_} {text}',
    )
