# SPDX-License-Identifier: Apache-2.0
"""Resolution of the names in a template to the ids that Nova takes."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import json
import typing

from openstack import exceptions

from nova_groupext_client import api_types
from nova_groupext_client import ids
from nova_groupext_client.template import definition
from nova_groupext_client.template import nodes

if typing.TYPE_CHECKING:
    from openstack import connection
    from openstack import resource

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

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind

    def with_path(self, json_path: str) -> 'UnknownName':
        """Return the error with a JSON path, like the API's, in its text."""
        return UnknownName(self.kind, f'{json_path}: {self}')


class Names:
    """Names and ids of one cloud; looks up each name once."""

    def __init__(self, conn: 'connection.Connection') -> None:
        self._conn = conn

    @functools.cache  # noqa: B019 (Names lives as long as a command)
    def flavor(self, name: str) -> str:
        return self._id('flavor', name, self._conn.compute.find_flavor)

    @functools.cache  # noqa: B019
    def image(self, name: str) -> str:
        if ids.is_id(name):
            return name
        return self._id('image', name, self._conn.image.find_image)

    @functools.cache  # noqa: B019
    def network(self, name: str) -> str:
        if ids.is_id(name):
            return name
        return self._id('network', name, self._conn.network.find_network)

    @staticmethod
    def _id(
        kind: str,
        name: str,
        find: 'Callable[[str], resource.Resource | None]',
    ) -> str:
        try:
            named = find(name)
        except exceptions.DuplicateResource as exc:
            raise UnknownName(
                kind,
                f'{kind} {json.dumps(name)} is not unique; use an id',
            ) from exc
        if named is None:
            raise UnknownName(
                kind, f'{kind} {json.dumps(name)} could not be found'
            )
        named_id: str = named.id
        return named_id


def with_ids(
    topology: api_types.Topology,
    names: Names,
    path: str = definition.TOPOLOGY,
) -> api_types.Topology:
    """Return a topology with image ids, as the API requires them.

    :raises: UnknownName, whose text begins with a JSON path like the API's
    """
    changed = topology.copy()
    if 'members' in topology:
        changed['members'] = {
            name: _member(each, names, nodes.join(f'{path}.members', name))
            for name, each in topology['members'].items()
        }
    if 'groups' in topology:
        changed['groups'] = {
            name: with_ids(each, names, nodes.join(f'{path}.groups', name))
            for name, each in topology['groups'].items()
        }
    return changed


def _member(
    member: api_types.MemberDefinition, names: Names, path: str
) -> api_types.MemberDefinition:
    if 'image' not in member:
        return member
    try:
        return {**member, 'image': names.image(member['image'])}
    except UnknownName as exc:
        raise exc.with_path(f'{path}.image') from exc


@contextlib.contextmanager
def json_path_added(topology: api_types.Topology, path: str) -> Iterator[None]:
    """Add the JSON path of a member's property to any UnknownName raised.

    :param topology: as :func:`with_ids` returns it
    :param path: path of the member
    """
    try:
        yield
    except UnknownName as exc:
        member_path = _json_path_of_member(topology, path)
        raise exc.with_path(f'{member_path}.{_PROPERTIES[exc.kind]}') from exc


def _json_path_of_member(topology: api_types.Topology, path: str) -> str:
    """Return the JSON path of a member's description."""
    *groups, name = path.split('/')
    member_path = definition.TOPOLOGY
    for group in groups:
        topology = topology['groups'][group]
        member_path = nodes.join(f'{member_path}.groups', group)
    if name not in topology['members']:
        # Members with a count have numbered paths.
        name = name.rpartition('-')[0]
    return nodes.join(f'{member_path}.members', name)
