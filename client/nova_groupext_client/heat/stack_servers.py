# SPDX-License-Identifier: Apache-2.0
"""Servers of a stack that name a group in their scheduler hints.

They are read from the definitions of the stack and of the stacks nested in it,
before anything of these exists.
"""

import functools
import numbers

from heat.common import grouputils
from heat.engine.clients import client_exception
from heat.engine.resources import stack_resource
from heat.engine.resources.openstack.heat import autoscaling_group
from heat.engine.resources.openstack.heat import resource_group
from heat.engine.resources.openstack.nova import server as nova_server
from heat.objects import resource as resource_objects
from heat.objects import stack as stack_objects

from nova_groupext_client import hints
from nova_groupext_client.heat import nested_values
from nova_groupext_client.heat import requirements
from nova_groupext_client.heat import topology

_DEVICES = ('block_device_mapping', 'block_device_mapping_v2')
# A ResourceGroup replaces it in the definitions of its units.
_INDEX = '%index%'


class Level:
    """A stack, or a stack nested in it, whose definitions are read.

    :param stack: heat.engine.stack.Stack
    :param stack_id: its id; None for a nested stack that does not exist
    :param is_final: whether all values are known that servers are made of
    :param later: names of its resources that are created after the group
    :param unknown: {parameter: name of such a resource that it is made of}
    :param where: names of the resources that lead to it
    :param units: innermost topology.Units that it belongs to, or None
    :param is_future: whether its servers are what an empty group of resources
        may create later
    """

    def __init__(
        self,
        stack,
        stack_id,
        is_final,
        later,
        unknown=None,
        where=(),
        units=None,
        *,
        is_future=False,
    ):
        self._stack = stack
        self._stack_id = stack_id
        self._is_final = is_final
        self._later = later
        self._unknown = unknown or {}
        self._where = where
        self._units = units
        self._is_future = is_future

    def servers(self, group_id):
        """Yield the servers that name a group, each a topology.Server.

        :param group_id: what the hints of the servers resolve to
        :raises: StackValidationFailed
        """
        for name, kind, rdef in requirements.resources(self._stack):
            where = (*self._where, name)
            if issubclass(kind, nova_server.Server):
                if found := self._server(kind, rdef, where, group_id):
                    yield found
            elif issubclass(kind, stack_resource.StackResource):
                resource = self._resource(name, kind, rdef)
                nested = self._nested(resource, where)
                found = [*nested.servers(group_id)]
                if found:
                    for number, culprits in self._unknown_numbers(resource):
                        requirements.check(where, number, culprits)
                yield from found

    def _server(self, kind, rdef, where, group_id):
        """Return a Server, or None if it does not name the group."""
        properties = rdef.properties(
            kind.properties_schema, self._stack.context
        )
        given = properties['scheduler_hints'] or {}
        if _hint(given, hints.GROUP) != group_id:
            return None
        path = self._path(properties, where)
        description = self._describe(properties, where)
        return topology.Server(
            where, path, description, self._units, self._is_future
        )

    def _path(self, properties, where):
        """Return the path of a member, '' if it is unknown until later.

        :raises: StackValidationFailed
        """
        given = properties['scheduler_hints']
        path = _hint(given, hints.MEMBER)
        snippet = requirements.member(properties.data)
        requirements.check(where, 'scheduler_hints', self._culprits(snippet))
        is_unknown = path is None or requirements.names(snippet)
        if is_unknown and hints.MEMBER in given and not self._is_final:
            return ''
        if isinstance(path, numbers.Number):
            path = str(path)
        fault = None
        if hints.MEMBER not in given:
            fault = f'needs {hints.MEMBER}'
        elif not isinstance(path, str) or not path:
            fault = f'{hints.MEMBER} must be a text'
        elif _INDEX in path:
            fault = f'{hints.MEMBER} {path}: only a ResourceGroup has {_INDEX}'
        if fault:
            raise requirements.error(where, 'scheduler_hints', fault)
        return path

    def _describe(self, properties, where):
        """Return what describes a member, as the API has it."""
        description = {}
        for name in nested_values.DESCRIPTION:
            if name not in properties.data:
                continue
            value = properties[name]
            culprits = self._culprits(properties.data[name])
            requirements.check(where, name, culprits)
            needs = requirements.names(properties.data[name])
            if needs and not value and self._is_final:
                raise requirements.error(where, name, 'has no value')
            # Others without a value are left to Nova, as Heat does.
            if needs or value:
                description[name] = value
        if description.get('image'):
            description['image'] = self._image(description['image'], where)
        elif any(properties.get(each) for each in _DEVICES):
            description['boot_from_volume'] = True
        return description

    def _unknown_numbers(self, nested):
        """Return what of a group's size is made of later resources.

        :returns: [(property, names of these resources)]
        """
        if not isinstance(nested, nested_values.GROUPS):
            return []
        culprits = {
            name: self._culprits(nested.properties.data.get(name))
            for name in requirements.NUMBERS
        }
        return [item for item in culprits.items() if item[1]]

    def _culprits(self, snippet):
        """Return the names of the later resources that a value is made of."""
        used = requirements.parameters(snippet) & self._unknown.keys()
        return {
            *(requirements.names(snippet) & self._later),
            *(self._unknown[name] for name in used),
        }

    def _image(self, name, where):
        """Return the id of an image."""
        images = self._stack.context.clients.client_plugin('glance')
        try:
            return images.find_image_by_name_or_id(name)
        except client_exception.EntityMatchNotFound as exc:
            raise requirements.error(where, 'image', f'{name}: {exc}') from exc

    def _nested(self, nested, where):
        """Return the Level of a nested stack as it will be."""
        template, units, is_future = self._units_of(nested, where)
        # Heat finds stacks inside of it by its name, which has a random part.
        real_name = nested.physical_resource_name()
        stack = nested._parse_nested_stack(
            real_name or f'{self._stack.name}-{nested.name}',
            template,
            nested.child_params(),
        )
        unknown = {
            parameter: min(culprits)
            for parameter, value in nested.properties.data.items()
            if (culprits := self._culprits(value))
        }
        return Level(
            *(stack, nested.resource_id, self._is_final),
            *({*stack.defn.enabled_rsrc_names()}, unknown, where, units),
            is_future=is_future,
        )

    def _units_of(self, nested, where):
        """Return the template of a nested stack, and what its units are.

        :returns: (template, topology.Units or None, whether there are none
            yet)
        """
        if isinstance(nested, autoscaling_group.AutoScalingResourceGroup):
            size = _desired_size(nested)
            policy = nested.properties[nested.ROLLING_UPDATES]
            units = topology.Units(
                where,
                nested.properties[nested.MAX_SIZE],
                policy[nested.MAX_BATCH_SIZE],
            )
            # One unit describes those that an empty group may create.
            template = nested._create_template(size or 1, size or 1)
            return template, units, self._is_future or not size
        units = self._units
        if isinstance(nested, resource_group.ResourceGroup):
            _skip_removed(nested)
            if self._unknown_numbers(nested):
                # One unit tells whether there are members of the group.
                nested.get_size = lambda: 1
            units = topology.Units(where, None, _batch(nested))
        return nested.child_template(), units, self._is_future

    def _resource(self, name, kind, rdef):
        """Return the resource of a nested stack, as it is stored."""
        if not self._where and not self._stack.in_convergence_check:
            # Heat has made the resources of the whole stack.
            return self._stack[name]
        nested = kind(name, rdef, self._stack)
        rows = [each for each in self._rows if each.name == name]
        if rows:
            row = max(rows, key=self._suitability)
            if self._is_nested(row.physical_resource_id):
                nested._load_data(row)
        return nested

    @functools.cached_property
    def _rows(self):
        if self._stack_id is None:
            return []
        rows = resource_objects.Resource.get_all_active_by_stack(
            self._stack.context, self._stack_id
        )
        return [*rows.values()]

    def _suitability(self, row):
        """Return the rank of a stored resource among those of its name.

        Heat updates the one of the highest rank, and deletes the others.
        """
        return (
            row.action != 'DELETE',
            row.status != 'FAILED',
            row.current_template_id == self._stack.t.id,
            row.replaced_by is None,
            row.id,
        )

    def _is_nested(self, uuid):
        """Check whether a physical id is that of a stack nested in this one.

        A resource of this name may have had another type.
        """
        found = uuid and stack_objects.Stack.get_by_id(
            self._stack.context, uuid, eager_load=False
        )
        return bool(found) and found.owner_id == self._stack_id


def _hint(given, name):
    """Return the value of a hint; of a list of one, as Nova does, the item.

    :returns: None if there is no such hint
    """
    value = given.get(name)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _skip_removed(group):
    """Make a ResourceGroup leave out the units that its update removes.

    Heat stores their names in the update itself, after the servers are read.
    """
    properties = group.properties
    if group.resource_id is None or group.REMOVAL_POLICIES not in properties:
        return
    stored = set(group._current_skiplist())
    removed = set(group._get_new_skiplist_entries(properties, stored))
    mode = properties[group.REMOVAL_POLICIES_MODE]
    if mode != group.REMOVAL_POLICY_UPDATE:
        removed |= stored
    group._name_skiplist = lambda: removed


def _desired_size(group):
    """Return the number of units that a stack update leaves."""
    # Heat takes 0 as if it were not given.
    desired = group.properties[group.DESIRED_CAPACITY] or None
    smallest = group.properties[group.MIN_SIZE]
    if desired is None and group.resource_id is not None:
        desired = grouputils.get_size(group)
    if desired is None:
        return smallest
    largest = group.properties[group.MAX_SIZE]
    return min(max(desired, smallest), largest)


def _batch(group):
    """Return how many units a ResourceGroup replaces at a time."""
    policy = group.update_policy.get(group.ROLLING_UPDATE)
    return policy[group.MAX_BATCH_SIZE] if policy else group.get_size()
