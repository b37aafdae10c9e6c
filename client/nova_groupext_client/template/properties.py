# SPDX-License-Identifier: Apache-2.0
"""Conversion of the properties of ``OS::Nova::Server``.

They become a member's description in the API, and the arguments for creating
its server.
"""

import json

from nova_groupext_client import hints
from nova_groupext_client.template import devices
from nova_groupext_client.template import errors
from nova_groupext_client.template import functions
from nova_groupext_client.template import networks

_DESCRIPTION_PROPERTIES = ('flavor', 'image', 'availability_zone')
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


def describe(server, scope):
    """Return the description of a member for the API, without its count.

    :param server: resources.Server
    :returns: {"flavor", "image" or "boot_from_volume", "availability_zone"}
    :raises: TemplateError
    """
    properties = server.properties.restricted_to(
        PROPERTIES, 'property of a server'
    )
    _check_hints(properties.get('scheduler_hints'))
    description = {}
    for name, node in _non_empty(properties, _DESCRIPTION_PROPERTIES, scope):
        description[name] = node.text()
        if server.count and server.index_var in description[name]:
            raise node.error(
                f'must be the same for all servers, without {server.index_var}'
            )
    if 'flavor' not in description:
        raise server.properties.error('needs flavor')
    if 'image' not in description:
        if 'block_device_mapping_v2' not in properties:
            raise server.properties.error(
                'needs an image or a block_device_mapping_v2'
            )
        description['boot_from_volume'] = True
    return description


def arguments(server, scope):
    """Return the arguments for creating a server, ``index_var`` unreplaced.

    Keys are those of ``POST /servers``, except that ``flavor``, ``image`` and
    networks remain names or ids as the template has them.

    :raises: TemplateError
    """
    _check_without_heat(server, scope)
    properties = server.properties.value
    arguments_ = {}
    for name, node in _non_empty(properties, _ARGUMENTS, scope):
        key, read = _ARGUMENTS[name]
        arguments_[key] = read(node)
    devices = arguments_.get('block_device_mapping_v2', ())
    if 'image' in arguments_ and any(
        each['boot_index'] == 0 for each in devices
    ):
        raise properties['block_device_mapping_v2'].error(
            'has a device with boot_index 0 in addition to an image; use '
            'boot_index -1'
        )
    return {key: value for key, value in arguments_.items() if value != {}}


def _non_empty(properties, names, scope):
    """Yield (name, resolved Node) of the properties that are not empty."""
    for name, node in properties.items():
        if name in names:
            resolved = functions.resolve(node, scope)
            if resolved.value not in (None, '', []):
                yield name, resolved


def _check_without_heat(server, scope):
    """Raise TemplateError for a server that only Heat can create."""
    if 'depends_on' in server.node.value:
        raise server.node.value['depends_on'].error(
            'needs Heat, as all servers are created at once; '
            f'{errors.HEAT_CREATES}'
        )
    properties = server.properties.value
    for name, reason in _REMOVED.items():
        if name in properties:
            raise properties[name].error(reason)
    if 'user_data_format' in properties:
        node = functions.resolve(properties['user_data_format'], scope)
        if node.value not in _FORMATS:
            raise node.error(
                f'needs Heat unless it is {_FORMATS[0]}; {errors.HEAT_CREATES}'
            )


def _check_hints(node):
    if node is None or node.value is None:
        return
    if functions.is_call(node):
        raise node.error('must be a mapping, to which hints can be added')
    for name, each in node.mapping().items():
        if name in hints.CONFLICTING:
            raise each.error('cannot be used here: write a policy instead')


def _hints(node):
    """Return the hints except vrt_group and vrt_member, added later."""
    return {
        name: each.plain()
        for name, each in node.mapping().items()
        if name not in (hints.GROUP, hints.MEMBER)
    }


def _metadata(node):
    return {
        name: _metadata_value(each.plain())
        for name, each in node.mapping().items()
    }


def _metadata_value(value):
    """Return a value as Heat sends it: JSON, unlike in joined texts."""
    return value if isinstance(value, str) else json.dumps(value)


def _texts(node):
    return [each.text() for each in node.sequence()]


def _text(node):
    return node.text()


# Property: (its key in the arguments, function that reads it).
_ARGUMENTS = {
    'name': ('name', _text),
    'flavor': ('flavor', _text),
    'image': ('image', _text),
    'availability_zone': ('availability_zone', _text),
    'key_name': ('key_name', _text),
    'admin_pass': ('adminPass', _text),
    'diskConfig': ('OS-DCF:diskConfig', _text),
    'config_drive': ('config_drive', lambda node: node.boolean()),
    'user_data': ('user_data', functions.text_of),
    'metadata': ('metadata', _metadata),
    'tags': ('tags', _texts),
    'security_groups': ('security_groups', _texts),
    'networks': ('networks', networks.read),
    'block_device_mapping_v2': (
        'block_device_mapping_v2',
        devices.read,
    ),
    'scheduler_hints': ('scheduler_hints', _hints),
}
PROPERTIES = (
    *_ARGUMENTS,
    'user_data_format',
    *_FOR_HEAT,
    *_REMOVED,
)
