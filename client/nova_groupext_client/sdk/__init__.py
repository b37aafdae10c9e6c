# SPDX-License-Identifier: Apache-2.0
"""VRT groups in openstacksdk: ``register(conn)`` makes ``conn.vrt``."""

from openstack import service_description

from nova_groupext_client.sdk import _proxy

SERVICE = 'vrt'


class _Description(service_description.ServiceDescription):
    """A service that no catalogue names: its calls are the compute's."""

    def __get__(self, instance, owner):
        if instance is None or instance.config.get_endpoint(SERVICE):
            return super().__get__(instance, owner)
        _set_endpoint(instance, instance.compute.get_endpoint())
        try:
            return super().__get__(instance, owner)
        finally:
            # The project may be part of it, and a connection that is made
            # from this one have another.
            _set_endpoint(instance, None)


def register(conn):
    """Give an openstack.connection.Connection its attribute ``vrt``.

    It is a :class:`~nova_groupext_client.sdk._proxy.Proxy`. Nothing is asked
    of the cloud before its first use. As ``vendor_hook:
    nova_groupext_client.sdk:register`` in clouds.yaml it is done for every
    connection to that cloud.
    """
    conn.add_service(_Description(SERVICE, {'1': _proxy.Proxy}))


def _set_endpoint(conn, url):
    conn.config.set_service_value('endpoint_override', SERVICE, url)
