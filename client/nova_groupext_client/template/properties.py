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

_DESCRIBING = ('flavor', 'image', 'availability_zone')
# Properties that matter only to Heat; creation without Heat ignores them.
_FOR_HEAT = (
    'deployment_swift_data',
    'flavor_update_policy',
    'image_update_policy',
    'software_config_transport',
    'user_data_update_policy',
)
_GONE = {
    'admin_user': 'is nothing that Nova still takes',
    'block_device_mapping': 'is too old: use block_device_mapping_v2',
    'personality': 'is nothing that Nova still takes: use user_data',
    'reservation_id': 'is nothing that Nova still takes',
}
# The user data is sent unchanged for both: only Heat could add its tools.
_FORMATS = ('RAW', 'HEAT_CFNTOOLS')


def describe(server, scope):
    """Return the description of a member for the API, without its count.

    :param server: resources.Server
    :returns: {"flavor", "image" or "boot_from_volume", "availability_zone"}
    :raises: TemplateError
    """
    properties = server.properties.known(PROPERTIES, 'property of a server')
    _check_hints(properties.get('scheduler_hints'))
    described = {}
    for name, node in _given(properties, _DESCRIBING, scope):
        described[name] = node.text()
        if server.count and server.index_var in described[name]:
            raise node.error(
                f'must be the same for all, without {server.index_var}'
            )
    if 'flavor' not in described:
        raise server.properties.error('needs flavor')
    if 'image' not in described:
        if 'block_device_mapping_v2' not in properties:
            raise server.properties.error(
                'needs an image or a block_device_mapping_v2'
            )
        described['boot_from_volume'] = True
    return described


def arguments(server, scope):
    """Return the arguments for creating a server, ``index_var`` unreplaced.

    Keys are those of ``POST /servers``, except that ``flavor``, ``image`` and
    networks remain names or ids as the template has them.

    :raises: TemplateError
    """
    _check_alone(server, scope)
    properties = server.properties.value
    found = {}
    for name, node in _given(properties, _ARGUMENTS, scope):
        key, read = _ARGUMENTS[name]
        found[key] = read(node)
    devices = found.get('block_device_mapping_v2', ())
    if 'image' in found and any(each['boot_index'] == 0 for each in devices):
        raise properties['block_device_mapping_v2'].error(
            'has a device with boot_index 0, and there is an image; other '
            'devices have boot_index -1'
        )
    return {key: value for key, value in found.items() if value != {}}


def _given(properties, names, scope):
    """Yield (name, resolved Node) of the properties that are not empty."""
    for name, node in properties.items():
        if name in names:
            resolved = functions.resolve(node, scope)
            if resolved.value not in (None, '', []):
                yield name, resolved


def _check_alone(server, scope):
    """Raise TemplateError for a server that only Heat can create."""
    if 'depends_on' in server.node.value:
        raise server.node.value['depends_on'].error(
            'needs Heat, as all servers are created at once; '
            f'{errors.HEAT_CREATES}'
        )
    properties = server.properties.value
    for name, reason in _GONE.items():
        if name in properties:
            raise properties[name].error(reason)
    if 'user_data_format' in properties:
        node = functions.resolve(properties['user_data_format'], scope)
        if node.value not in _FORMATS:
            raise node.error(
                f'needs Heat, which {_FORMATS[0]} does not; '
                f'{errors.HEAT_CREATES}'
            )


def _check_hints(node):
    if node is None or node.value is None:
        return
    if functions.is_call(node):
        raise node.error('must be a mapping, to which hints can be added')
    for name, each in node.mapping().items():
        if name in hints.PLACING:
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
        name: _metadatum(each.plain()) for name, each in node.mapping().items()
    }


def _metadatum(value):
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
    'config_drive': ('config_drive', lambda node: node.flag()),
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
    *_GONE,
)
