# SPDX-License-Identifier: Apache-2.0
"""Conversion of the properties of ``OS::Nova::Server``.

They become a member's description in the API, and the arguments for creating
its server.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import json
import typing

from nova_groupext_client import api_types
from nova_groupext_client import hints
from nova_groupext_client.template import devices
from nova_groupext_client.template import errors
from nova_groupext_client.template import functions
from nova_groupext_client.template import networks
from nova_groupext_client.template import nodes
from nova_groupext_client.template import resources
from nova_groupext_client.template import scopes

#: Arguments for creating a server. Keys are those of ``POST /servers``, except
#: that ``flavor``, ``image``, networks and images of devices are names or ids
#: as the template has them, and ``user_data`` is plain text.
Arguments = typing.TypedDict(
    'Arguments',
    {
        'name': str,
        'flavor': str,
        'image': str,
        'availability_zone': str,
        'key_name': str,
        'adminPass': str,
        'OS-DCF:diskConfig': str,
        'config_drive': bool,
        'user_data': str,
        'metadata': dict[str, str],
        'tags': list[str],
        'security_groups': list[str],
        'networks': networks.Networks,
        'block_device_mapping_v2': list[devices.Device],
        'scheduler_hints': api_types.Object,
    },
    total=False,
)

_DESCRIPTION_PROPERTIES = ('flavor', 'image', 'availability_zone')
# Keys in the arguments of the properties that have another name there.
_KEYS = {'admin_pass': 'adminPass', 'diskConfig': 'OS-DCF:diskConfig'}
# Properties that matter only to Heat; creation without Heat ignores them.
_FOR_HEAT = (
    'deployment_swift_data',
    'flavor_update_policy',
    'image_update_policy',
    'software_config_transport',
    'user_data_update_policy',
)
_REMOVED = {
    'admin_user': 'is no longer supported by Nova',
    'block_device_mapping': 'is obsolete: use block_device_mapping_v2',
    'personality': 'is no longer supported by Nova: use user_data',
    'reservation_id': 'is no longer supported by Nova',
}
# The user data is sent unchanged for both: only Heat could add its tools.
_FORMATS = ('RAW', 'HEAT_CFNTOOLS')


def describe(
    server: resources.Server, scope: scopes.Scope
) -> api_types.MemberDefinition:
    """Return the description of a member for the API, without its count.

    :raises: TemplateError
    """
    properties = server.properties.restricted_to(
        PROPERTIES, 'property of a server'
    )
    _check_hints(properties.get('scheduler_hints'))
    texts = {}
    for name, node in _non_empty(properties, _DESCRIPTION_PROPERTIES, scope):
        texts[name] = node.text()
        if server.count and server.index_var in texts[name]:
            raise node.error(
                f'must be the same for all servers, without {server.index_var}'
            )
    if 'flavor' not in texts:
        raise server.properties.error('needs flavor')
    description: api_types.MemberDefinition = {'flavor': texts['flavor']}
    if 'availability_zone' in texts:
        description['availability_zone'] = texts['availability_zone']
    if 'image' in texts:
        description['image'] = texts['image']
    elif 'block_device_mapping_v2' in properties:
        description['boot_from_volume'] = True
    else:
        raise server.properties.error(
            'needs an image or a block_device_mapping_v2'
        )
    return description


def arguments(server: resources.Server, scope: scopes.Scope) -> Arguments:
    """Return the arguments for creating a server, ``index_var`` unreplaced.

    :raises: TemplateError
    """
    _check_without_heat(server, scope)
    properties = server.properties.mapping()
    converted = {
        _KEYS.get(name, name): _CONVERTERS[name](node)
        for name, node in _non_empty(properties, _CONVERTERS, scope)
    }
    made = typing.cast(
        Arguments, {k: value for k, value in converted.items() if value != {}}
    )
    if 'image' in made and any(
        each['boot_index'] == 0
        for each in made.get('block_device_mapping_v2', ())
    ):
        raise properties['block_device_mapping_v2'].error(
            'has a device with boot_index 0 in addition to an image; use '
            'boot_index -1'
        )
    return made


def _non_empty(
    properties: dict[str, nodes.Node],
    names: Collection[str],
    scope: scopes.Scope,
) -> Iterator[tuple[str, nodes.Node]]:
    """Yield (name, resolved Node) of the properties that are not empty."""
    for name, node in properties.items():
        if name in names:
            resolved = functions.resolve(node, scope)
            if resolved.value not in (None, '', []):
                yield name, resolved


def _check_without_heat(server: resources.Server, scope: scopes.Scope) -> None:
    """Raise TemplateError for a server that only Heat can create."""
    depends_on = server.node.get('depends_on')
    if depends_on is not None:
        raise depends_on.error(
            'needs Heat, as all servers are created at once; '
            f'{errors.HEAT_CREATES}'
        )
    properties = server.properties.mapping()
    for name, reason in _REMOVED.items():
        if name in properties:
            raise properties[name].error(reason)
    if 'user_data_format' in properties:
        node = functions.resolve(properties['user_data_format'], scope)
        if node.value not in _FORMATS:
            raise node.error(
                f'needs Heat unless it is {_FORMATS[0]}; {errors.HEAT_CREATES}'
            )


def _check_hints(node: nodes.Node | None) -> None:
    if node is None or node.value is None:
        return
    if functions.is_call(node):
        raise node.error('must be a mapping, to which hints can be added')
    for name, each in node.mapping().items():
        if name in hints.CONFLICTING:
            raise each.error('cannot be used here: write a policy instead')


def _hints(node: nodes.Node) -> api_types.Object:
    """Return the hints except vrt_group and vrt_member, added later."""
    return {
        name: each.plain()
        for name, each in node.mapping().items()
        if name not in (hints.GROUP, hints.MEMBER)
    }


def _metadata(node: nodes.Node) -> dict[str, str]:
    return {
        name: _metadata_value(each.plain())
        for name, each in node.mapping().items()
    }


def _metadata_value(value: api_types.Json) -> str:
    """Return a value as Heat sends it: JSON, unlike in joined texts."""
    return value if isinstance(value, str) else json.dumps(value)


def _texts(node: nodes.Node) -> list[str]:
    return [each.text() for each in node.sequence()]


# Functions that return an argument, by the name of its property.
_CONVERTERS: Mapping[str, Callable[[nodes.Node], object]] = {
    'name': nodes.Node.text,
    'flavor': nodes.Node.text,
    'image': nodes.Node.text,
    'availability_zone': nodes.Node.text,
    'key_name': nodes.Node.text,
    'admin_pass': nodes.Node.text,
    'diskConfig': nodes.Node.text,
    'config_drive': nodes.Node.boolean,
    'user_data': functions.text_of,
    'metadata': _metadata,
    'tags': _texts,
    'security_groups': _texts,
    'networks': networks.read,
    'block_device_mapping_v2': devices.read,
    'scheduler_hints': _hints,
}
PROPERTIES = (*_CONVERTERS, 'user_data_format', *_FOR_HEAT, *_REMOVED)
