# SPDX-License-Identifier: Apache-2.0
"""Conversion of a server's ``block_device_mapping_v2`` to Nova's form."""

from collections.abc import Callable
from collections.abc import Mapping
import functools
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
# Functions that return the value of a device, by its key.
_CONVERTERS: Mapping[str, Callable[[nodes.Node], object]] = {
    'device_name': nodes.Node.text,
    'device_type': nodes.Node.text,
    'disk_bus': nodes.Node.text,
    'volume_type': nodes.Node.text,
    'boot_index': functools.partial(nodes.Node.integer, minimum=-1),
    'delete_on_termination': nodes.Node.boolean,
    'volume_size': functools.partial(nodes.Node.integer, minimum=1),
}
_KEYS = (*_SOURCES, *_BLANK, *_CONVERTERS)


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
    converted = {
        key: convert(properties[key])
        for key, convert in _CONVERTERS.items()
        if key in properties
    }
    return typing.cast(Device, {**_source(node, properties), **converted})


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
