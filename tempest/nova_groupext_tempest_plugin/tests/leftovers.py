# SPDX-License-Identifier: Apache-2.0
"""Base class of tests that finds groups and holds they have left."""

from oslo_log import log as logging
from tempest import config
from tempest import test

from nova_groupext_tempest_plugin.common import waiters

CONF = config.CONF
LOG = logging.getLogger(__name__)


class LeftoverTest(test.BaseTestCase):
    """Base of tests whose classes fail if they leave groups or holds.

    Each client in ``tenants`` compares its groups with those before the
    class. If ``[vrt] check_allocations`` is set, each class has an admin
    account and compares the number of holds, too.
    """

    tenants = ()

    @classmethod
    def skip_checks(cls):
        if CONF.vrt.check_allocations:
            cls.credentials = list(dict.fromkeys([*cls.credentials, 'admin']))
        super().skip_checks()

    @classmethod
    def skip_unless_allocations_are_checked(cls):
        if not CONF.vrt.check_allocations:
            raise cls.skipException('[vrt] check_allocations is false.')

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        if 'admin' in cls.credentials:
            cls.placement = cls.os_admin.vrt_placement.PlacementClient()

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        # Cleanups run in reverse order, so these run last.
        for client in cls.tenants:
            before = cls._list_ids(client)
            cls.addClassResourceCleanup(cls._check_groups, client, before)
        if CONF.vrt.check_allocations:
            cls.addClassResourceCleanup(cls._check_holds, cls.count_holds())
        else:
            LOG.info('Holds are not counted: [vrt] check_allocations is false')

    @classmethod
    def _list_ids(cls, client):
        groups = client.list_groups()['vrt_groups']
        return {group['id'] for group in groups}

    @classmethod
    def _check_groups(cls, client, before):
        leftover = cls._list_ids(client) - before
        if leftover:
            raise AssertionError(
                f'{cls.__name__} left groups behind: {leftover}'
            )

    @classmethod
    def count_holds(cls):
        """Return the number of holds and placeholders in the whole cloud."""
        held = cls.placement.show_held(CONF.vrt.hold_project_id)
        return sum(held.values())

    @classmethod
    def _check_holds(cls, before):
        waiters.wait_until(
            cls.count_holds,
            lambda now: now <= before,
            f'no more than {before} members are held',
        )

    def check_server_allocation(self, server_id):
        """Wait until a deleted server has no allocation, if configured."""
        if CONF.vrt.check_allocations:
            waiters.wait_until(
                lambda: self.placement.list_allocations(server_id),
                lambda leftover: not leftover,
                f'server {server_id} has no allocation',
            )
