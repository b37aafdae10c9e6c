# SPDX-License-Identifier: Apache-2.0
"""Conversion of a server's ``networks``."""

from nova_groupext_client.template import errors

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
# Keys for which Heat creates or changes a port.
_WITH_PORTS = ('floating_ip', 'port_extra_properties', 'subnet')


def read(node):
    """Return ``none``, ``auto``, or a list of networks.

    A network is ``{"network": name or id}`` or ``{"port": id}``, perhaps with
    ``fixed_ip`` and ``tag``.

    :raises: TemplateError
    """
    networks = node.sequence()
    for each in networks:
        each.restricted_to(_KEYS, 'part of a network')
        if 'allocate_network' in each.value:
            return _allocated(networks, each.value['allocate_network'])
    return [_network(each) for each in networks]


def _allocated(networks, allocation):
    if len(networks) > 1:
        raise allocation.error('cannot be combined with other networks')
    if allocation.value not in ('none', 'auto'):
        raise allocation.error('must be none or auto')
    return allocation.value


def _network(node):
    for key in _WITH_PORTS:
        if key in node.value:
            raise node.value[key].error(
                f'needs Heat, which creates a port; {errors.HEAT_CREATES}'
            )
    network = {
        'network' if key == 'uuid' else key: each.text()
        for key, each in node.value.items()
        if each.value is not None
    }
    if ('network' in network) == ('port' in network):
        raise node.error('needs a network or a port')
    return network
