# SPDX-License-Identifier: Apache-2.0
"""Conversion of a server's ``block_device_mapping_v2`` to Nova's form."""

import typing

from nova_groupext_client.template import nodes


class Device(typing.TypedDict, total=False):
    """A device in the form of ``POST /servers``.

    ``uuid`` is a name or an id, as the template has it.
    """

    uuid: str
    source_type: typing.Required[str]
    destination_type: typing.Required[str]
    boot_index: typing.Required[int]
    delete_on_termination: typing.Required[bool]
    guest_format: str
    volume_size: int
    device_name: str
    device_type: str
    disk_bus: str
    volume_type: str


# Nova's source_type by the key that names the source of a device.
_SOURCES = {
    'volume_id': 'volume',
    'snapshot_id': 'snapshot',
    'image': 'image',
    'image_id': 'image',
}
_BLANK = ('swap_size', 'ephemeral_size', 'ephemeral_format')
_TextKey: typing.TypeAlias = typing.Literal[
    'device_name', 'device_type', 'disk_bus', 'volume_type'
]
_TEXTS: tuple[_TextKey, ...] = typing.get_args(_TextKey)
_KEYS = (
    *_SOURCES,
    *_BLANK,
    *_TEXTS,
    'boot_index',
    'delete_on_termination',
    'volume_size',
)


def read(node: nodes.Node) -> list[Device]:
    """Return the devices of a server.

    :raises: TemplateError
    """
    return [_device(each) for each in node.sequence()]


def _device(node: nodes.Node) -> Device:
    properties = {
        key: each
        for key, each in node.restricted_to(_KEYS, 'part of a device').items()
        if each.value is not None
    }
    device = _source(node, properties)
    for key in _TEXTS:
        if key in properties:
            device[key] = properties[key].text()
    if 'boot_index' in properties:
        device['boot_index'] = properties['boot_index'].integer(-1)
    if 'volume_size' in properties:
        device['volume_size'] = properties['volume_size'].integer(1)
    if 'delete_on_termination' in properties:
        device['delete_on_termination'] = properties[
            'delete_on_termination'
        ].boolean()
    return device


def _source(node: nodes.Node, properties: dict[str, nodes.Node]) -> Device:
    """Return the source of a device and the defaults that depend on it."""
    source_keys = [key for key in _SOURCES if key in properties]
    if len(source_keys) > 1:
        raise node.error(f'has both {source_keys[0]} and {source_keys[1]}')
    if source_keys:
        return {
            'uuid': properties[source_keys[0]].text(),
            'source_type': _SOURCES[source_keys[0]],
            'destination_type': 'volume',
            'boot_index': 0,
            'delete_on_termination': False,
        }
    if not any(key in properties for key in _BLANK):
        raise node.error(f'needs one of {", ".join([*_SOURCES, *_BLANK])}')
    return _blank(properties)


def _blank(properties: dict[str, nodes.Node]) -> Device:
    """Return an empty disk."""
    device: Device = {
        'source_type': 'blank',
        'destination_type': 'local',
        'boot_index': -1,
        'delete_on_termination': True,
    }
    if 'swap_size' in properties:
        device['volume_size'] = properties['swap_size'].integer(1)
        device['guest_format'] = 'swap'
        return device
    if 'ephemeral_size' in properties:
        device['volume_size'] = properties['ephemeral_size'].integer(1)
    if 'ephemeral_format' in properties:
        device['guest_format'] = properties['ephemeral_format'].text()
    return device
