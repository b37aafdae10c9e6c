# SPDX-License-Identifier: Apache-2.0
"""Heat's client of the VRT group API: ``client('vrt')`` of a resource."""

from heat.engine.clients import client_plugin
from openstack import exceptions

from nova_groupext_client import sdk

NAME = 'vrt'


class VRTClientPlugin(client_plugin.ClientPlugin):
    """Client plugin: its client is the SDK's proxy of groups."""

    exceptions_module = exceptions
    service_types = ['compute']

    def _create(self, version=None):
        connection = self.clients.client('openstack')
        sdk.register(connection)
        return connection.vrt

    def is_not_found(self, ex):
        return isinstance(ex, exceptions.NotFoundException)

    def is_conflict(self, ex):
        return isinstance(ex, exceptions.ConflictException)

    def is_over_limit(self, ex):
        return False
