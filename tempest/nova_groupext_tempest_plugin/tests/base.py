# SPDX-License-Identifier: Apache-2.0
"""Base class of all tests: creates groups, and removes them."""

from tempest import config
from tempest.common import credentials_factory
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils

from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import leftovers

CONF = config.CONF


class BaseGroupTest(leftovers.LeftoverTest):
    """Base of tests that create groups as the tenant ``os_primary``."""

    credentials = ['primary']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        for name in ('nova', 'vrt'):
            if not CONF.service_available[name]:
                raise cls.skipException(
                    f'[service_available] {name} is false.'
                )
        for role in ('reader', 'manager'):
            if f'project_{role}' in cls.credentials:
                cls._skip_without_role(role)

    @classmethod
    def _skip_without_role(cls, role):
        provider = credentials_factory.get_credentials_provider(
            cls.__name__, identity_version=cls.get_identity_version()
        )
        if not provider.is_role_available(role):
            raise cls.skipException(f'No account has the role {role}.')

    @classmethod
    def setup_credentials(cls):
        cls.set_network_resources()
        super().setup_credentials()

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.groups = cls.os_primary.vrt.GroupsClient()
        cls.servers = cls.os_primary.servers_client
        cls.tenants = [cls.groups]
        if 'alt' in cls.credentials:
            if _project(cls.os_alt) == _project(cls.os_primary):
                raise cls.skipException(
                    'The alternative account belongs to the same project.'
                )
            cls.other_groups = cls.os_alt.vrt.GroupsClient()
            cls.tenants.append(cls.other_groups)
        if 'admin' in cls.credentials:
            cls.admin_groups = cls.os_admin.vrt.AdminGroupsClient()

    @classmethod
    def create_group(cls, topology, client=None, **group):
        """Create a group for the whole class, and wait for the decision."""
        client = client or cls.groups
        created = cls._create(client, topology, **group)
        cls.addClassResourceCleanup(cls.remove_group, created['id'], client)
        return waiters.wait_for_decision(client, created['id'])

    def describe(self, topology, client=None, **group):
        """Create a group for one test, and wait for the decision."""
        client = client or self.groups
        created = self._create(client, topology, **group)
        self.addCleanup(self.remove_group, created['id'], client)
        return waiters.wait_for_decision(client, created['id'])

    def hold(self, topology, client=None, **group):
        """Create a group, and check that it becomes HELD."""
        described = self.describe(topology, client, **group)
        self.assertEqual('HELD', described['status'], described)
        return described

    @classmethod
    def _create(cls, client, topology, **group):
        group.setdefault('name', data_utils.rand_name(cls.__name__))
        return client.create_group(topology=topology, **group)['vrt_group']

    @classmethod
    def remove_group(cls, group_id, client=None):
        """Delete a group; ignore a group that does not exist."""
        client = client or cls.groups
        test_utils.call_and_ignore_notfound_exc(client.delete_group, group_id)

    def group(self, group_id):
        return self.groups.show_group(group_id)['vrt_group']


def _project(manager):
    return manager.auth_provider.credentials.project_id
