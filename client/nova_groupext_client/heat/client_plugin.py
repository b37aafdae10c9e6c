# SPDX-License-Identifier: Apache-2.0
"""Heat's client of the VRT group API: ``client('vrt')`` of a resource."""

import functools

from heat.engine.clients import client_plugin
from openstack import exceptions

from nova_groupext_client import sdk

NAME = 'vrt'

# Features of the API on which the resource relies.
_FEATURES = ('growing', 'leaving_servers', 'successors')


class UnknownName(ValueError):
    """The cloud has no such scope or type of policies."""


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

    def missing(self):
        """Return why the cloud has no groups for stacks, or None."""
        try:
            known = self._capabilities.features
        except exceptions.NotFoundException:
            return "the cloud's Nova has no VRT groups"
        if missing := {*_FEATURES}.difference(known):
            return f'the groups of the cloud lack {", ".join(sorted(missing))}'
        return None

    def limits(self):
        """Return the limits of the cloud."""
        return self._capabilities.limits

    def check_scope(self, name):
        """Check that the cloud has a scope.

        :raises: UnknownName
        """
        _check('scope', name, self._capabilities.scopes)

    def check_policy_type(self, name):
        """Check that the cloud has a type of policies.

        :raises: UnknownName
        """
        _check('policy type', name, self._capabilities.policies)

    @functools.cached_property
    def _capabilities(self):
        return self.client().get_capabilities()


def _check(kind, name, known):
    if name not in known:
        raise UnknownName(
            f'{name} is no {kind} of this cloud, which has '
            f'{", ".join(sorted(known))}'
        )
