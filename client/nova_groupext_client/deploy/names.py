# SPDX-License-Identifier: Apache-2.0
"""Resolution of the names in a template to the ids that Nova takes."""

import contextlib
import functools
import json

from openstack import exceptions

from nova_groupext_client import ids
from nova_groupext_client.template import definition
from nova_groupext_client.template import nodes

# Property that contains a name of each kind. An unknown image is that of a
# device, as with_ids() has already resolved the property "image".
_PROPERTIES = {
    'flavor': 'flavor',
    'image': 'block_device_mapping_v2',
    'network': 'networks',
}


class UnknownName(Exception):
    """A name that is missing or ambiguous in this cloud.

    :ivar kind: flavor, image or network
    """

    def __init__(self, kind, reason):
        super().__init__(reason)
        self.kind = kind

    def at(self, place):
        """Return the error with a JSON path, like the API's, in its text."""
        return UnknownName(self.kind, f'{place}: {self}')


class Names:
    """Names and ids of one cloud; looks up each name once.

    :param conn: openstack.connection.Connection
    """

    def __init__(self, conn):
        self._conn = conn

    @functools.cache  # noqa: B019 (Names lives as long as a command)
    def flavor(self, name):
        return self._id('flavor', name, self._conn.compute.find_flavor)

    @functools.cache  # noqa: B019
    def image(self, name):
        if ids.is_id(name):
            return name
        return self._id('image', name, self._conn.image.find_image)

    @functools.cache  # noqa: B019
    def network(self, name):
        if ids.is_id(name):
            return name
        return self._id('network', name, self._conn.network.find_network)

    @staticmethod
    def _id(kind, name, find):
        try:
            found = find(name)
        except exceptions.DuplicateResource as exc:
            raise UnknownName(
                kind,
                f'{kind} {json.dumps(name)} is the name of several; use an id',
            ) from exc
        if found is None:
            raise UnknownName(
                kind, f'{kind} {json.dumps(name)} could not be found'
            )
        return found.id


def with_ids(topology, names, path=definition.TOPOLOGY):
    """Return a topology with image ids, as the API requires them.

    :raises: UnknownName, whose text begins with a JSON path like the API's
    """
    made = dict(topology)
    for key, change in (('members', _member), ('groups', with_ids)):
        if key in made:
            below = nodes.join(path, key)
            made[key] = {
                name: change(each, names, nodes.join(below, name))
                for name, each in made[key].items()
            }
    return made


def _member(described, names, path):
    if 'image' not in described:
        return described
    try:
        return {**described, 'image': names.image(described['image'])}
    except UnknownName as exc:
        raise exc.at(f'{path}.image') from exc


@contextlib.contextmanager
def placed(topology, path):
    """Add the JSON path of a member's property to any UnknownName raised.

    :param topology: as :func:`with_ids` returns it
    :param path: path of the member
    """
    try:
        yield
    except UnknownName as exc:
        where = _member_place(topology, path)
        raise exc.at(f'{where}.{_PROPERTIES[exc.kind]}') from exc


def _member_place(topology, path):
    """Return the JSON path of a member's description."""
    *groups, name = path.split('/')
    where = definition.TOPOLOGY
    for group in groups:
        topology = topology['groups'][group]
        where = nodes.join(f'{where}.groups', group)
    if name not in topology['members']:
        # Members with a count have numbered paths.
        name = name.rpartition('-')[0]
    return nodes.join(f'{where}.members', name)
