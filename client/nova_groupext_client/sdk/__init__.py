# SPDX-License-Identifier: Apache-2.0
"""VRT groups in openstacksdk: ``register(conn)`` adds ``conn.vrt``."""

import typing

from openstack import service_description

from nova_groupext_client.sdk import _proxy

if typing.TYPE_CHECKING:
    from openstack import connection

SERVICE = 'vrt'


class _Description(service_description.ServiceDescription):
    """A service without a catalogue entry, at the compute endpoint."""

    def __get__(self, instance, owner):
        if instance is None or instance.config.get_endpoint(SERVICE):
            return super().__get__(instance, owner)
        _set_endpoint(instance, instance.compute.get_endpoint())
        try:
            return super().__get__(instance, owner)
        finally:
            # The URL may contain the project id; a connection derived from
            # this one may have another project.
            _set_endpoint(instance, None)


def register(conn: 'connection.Connection') -> None:
    """Add the attribute ``vrt`` to a connection.

    The attribute is a :class:`~nova_groupext_client.sdk._proxy.Proxy`. Its
    first use sends the first request. With ``vendor_hook:
    nova_groupext_client.sdk:register`` in clouds.yaml, openstacksdk registers
    every connection to that cloud.
    """
    conn.add_service(_Description(SERVICE, {'1': _proxy.Proxy}))


def _set_endpoint(conn: 'connection.Connection', url: str | None) -> None:
    conn.config.set_service_value('endpoint_override', SERVICE, url)
