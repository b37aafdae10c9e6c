# SPDX-License-Identifier: Apache-2.0
"""Conversion of a server's ``block_device_mapping_v2`` to Nova's form."""

# Nova's source_type by the key that names the source of a device.
_SOURCES = {
    'volume_id': 'volume',
    'snapshot_id': 'snapshot',
    'image': 'image',
    'image_id': 'image',
}
_BLANK = ('swap_size', 'ephemeral_size', 'ephemeral_format')
_TEXTS = ('device_name', 'device_type', 'disk_bus', 'volume_type')
_KEYS = (
    *_SOURCES,
    *_BLANK,
    *_TEXTS,
    'boot_index',
    'delete_on_termination',
    'volume_size',
)


def read(node):
    """Return the devices in the form of ``POST /servers``.

    ``uuid`` remains a name or an id, as the template has it.

    :raises: TemplateError
    """
    return [_device(each) for each in node.sequence()]


def _device(node):
    given = {
        key: each
        for key, each in node.known(_KEYS, 'part of a device').items()
        if each.value is not None
    }
    device = _source(node, given)
    for key in _TEXTS:
        if key in given:
            device[key] = given[key].text()
    if 'boot_index' in given:
        device['boot_index'] = given['boot_index'].whole(-1)
    if 'volume_size' in given:
        device['volume_size'] = given['volume_size'].whole(1)
    if 'delete_on_termination' in given:
        device['delete_on_termination'] = given['delete_on_termination'].flag()
    return device


def _source(node, given):
    """Return the source of a device and the defaults that depend on it."""
    named = [key for key in _SOURCES if key in given]
    if len(named) > 1:
        raise node.error(f'has {named[0]} and {named[1]}')
    if named:
        return {
            'uuid': given[named[0]].text(),
            'source_type': _SOURCES[named[0]],
            'destination_type': 'volume',
            'boot_index': 0,
            'delete_on_termination': False,
        }
    if not any(key in given for key in _BLANK):
        raise node.error(f'needs one of {", ".join([*_SOURCES, *_BLANK])}')
    return {
        'source_type': 'blank',
        'destination_type': 'local',
        'boot_index': -1,
        'delete_on_termination': True,
        **_blank(given),
    }


def _blank(given):
    if 'swap_size' in given:
        size = given['swap_size'].whole(1)
        return {'guest_format': 'swap', 'volume_size': size}
    blank = {}
    if 'ephemeral_size' in given:
        blank['volume_size'] = given['ephemeral_size'].whole(1)
    if 'ephemeral_format' in given:
        blank['guest_format'] = given['ephemeral_format'].text()
    return blank
