# SPDX-License-Identifier: Apache-2.0
"""Comparison of servers with the descriptions of members."""

import functools

from nova.api.openstack import common

from nova_groupext import exception
from nova_groupext.api import resolve
from nova_groupext.objects.member_set import image_needs
from nova_groupext.solver.language import validation

AN_IMAGE = 'an image'


class ServerDescription:
    """Properties of a server, to compare with members' descriptions.

    Its image is read once at most, however many members there are.

    :param properties: {property: value}; the image is ignored when booting
        from a volume
    """

    def __init__(self, context, properties):
        self._context = context
        self._properties = properties

    @classmethod
    def of_body(cls, context, server):
        """Return the description of the ``server`` in a request's body."""
        properties = _properties(server)
        if properties['boot source'] == AN_IMAGE:
            properties['image'] = _id(
                server.get('imageRef'), '$.server.imageRef'
            )
        return cls(context, properties)

    def differences(self, request):
        """Return the differences from a member.

        Another image is no difference if it requires the same of hosts.

        :param request: resolved request of the member
        :returns: [(property, value, value of the member)]
        """
        properties = self._properties
        expected = {
            'flavor': request['flavor_id'],
            'availability zone': request['availability_zone'],
            'boot source': boot_source(request['is_bfv']),
        }
        if properties['boot source'] == expected['boot source'] == AN_IMAGE:
            expected['image'] = request['image_id']
        return [
            (name, properties[name], expected[name])
            for name in expected
            if properties[name] != expected[name]
            and not (
                name == 'image'
                and self._needs == image_needs(request['image'])
            )
        ]

    @functools.cached_property
    def _needs(self):
        """Needs of the image; None if Nova does not know it."""
        try:
            _image, image_meta = resolve.read_image(
                self._context, self._properties['image']
            )
        except (*resolve.UNKNOWN_IMAGE, ValueError):
            return None  # Nova has the better error.
        return image_needs(image_meta.obj_to_primitive())


def mismatch(context, path, differing):
    """Return the DescriptionMismatch of a member.

    :param differing: differences of the server, see compare()
    """
    phrases = [
        f'its {name} is {_text(context, name, value) or "not given"} instead '
        f'of {_text(context, name, expected) or "none"}'
        for name, value, expected in differing
    ]
    return exception.DescriptionMismatch(
        member=path, reason='; '.join(phrases)
    )


def _text(context, name, value):
    if name == 'flavor':
        return resolve.flavor_text(context, value)
    return value


def _properties(server):
    return {
        'flavor': _id(server.get('flavorRef'), '$.server.flavorRef'),
        'availability zone': resolve.requested_zone(server),
        'boot source': boot_source(_boots_from_volume(server)),
    }


def boot_source(from_volume):
    """Return the phrase for a server's boot source."""
    return 'a volume' if from_volume else AN_IMAGE


def _id(reference, where):
    """Return the id in a reference, which is an id or a URL."""
    try:
        return common.get_id_from_href(reference)
    except ValueError as exc:
        raise validation.InvalidInput(where, 'is not an id or a URL') from exc


def _boots_from_volume(server):
    """Check whether the root disk is a volume, by the rules of Nova."""
    devices = server.get('block_device_mapping_v2')
    for device in devices if isinstance(devices, list) else []:
        if isinstance(device, dict) and str(device.get('boot_index')) == '0':
            return (device.get('source_type'), 'local') != (
                'image',
                device.get('destination_type', 'local'),
            )
    return not server.get('imageRef')
