# SPDX-License-Identifier: Apache-2.0
"""Conversion of a server's ``networks``."""

from collections.abc import Mapping
import typing

from nova_groupext_client.template import errors
from nova_groupext_client.template import nodes


class Network(typing.TypedDict, total=False):
    """A network by name or id, or a port by id, with perhaps other keys."""

    network: str
    port: str
    fixed_ip: str
    tag: str


#: Networks of a server, or ``none`` or ``auto``.
Networks: typing.TypeAlias = str | list[Network]

_KEYS = (
    'allocate_network',
    'fixed_ip',
    'floating_ip',
    'network',
    'port',
    'port_extra_properties',
    'subnet',
    'tag',
    'uuid',
)
_Key: typing.TypeAlias = typing.Literal['network', 'port', 'fixed_ip', 'tag']
_KEY_OF_PROPERTY: Mapping[str, _Key] = {
    **{key: key for key in typing.get_args(_Key)},
    'uuid': 'network',
}
# Keys for which Heat creates or changes a port.
_WITH_PORTS = ('floating_ip', 'port_extra_properties', 'subnet')


def read(node: nodes.Node) -> Networks:
    """Return the networks of a server.

    :raises: TemplateError
    """
    networks = node.sequence()
    for each in networks:
        properties = each.restricted_to(_KEYS, 'part of a network')
        if 'allocate_network' in properties:
            return _allocated(networks, properties['allocate_network'])
    return [_network(each) for each in networks]


def _allocated(networks: list[nodes.Node], allocation: nodes.Node) -> str:
    if len(networks) > 1:
        raise allocation.error('cannot be combined with other networks')
    if allocation.value not in ('none', 'auto'):
        raise allocation.error('must be none or auto')
    return allocation.text()


def _network(node: nodes.Node) -> Network:
    properties = node.mapping()
    for key in _WITH_PORTS:
        if key in properties:
            raise properties[key].error(
                f'needs Heat, which creates a port; {errors.HEAT_CREATES}'
            )
    network: Network = {}
    for key, each in properties.items():
        if each.value is not None:
            network[_KEY_OF_PROPERTY[key]] = each.text()
    if ('network' in network) == ('port' in network):
        raise node.error('needs a network or a port')
    return network
