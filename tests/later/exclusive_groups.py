# SPDX-License-Identifier: Apache-2.0
"""Groups with an exclusive rack."""

import dataclasses

from keystoneauth1 import exceptions as ks_exc
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.scheduler.protocol import maintain
from tests.functional import base
from tests.functional import foreign_consumers

HOSTS = (
    hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
    hosts.Host('cmp-2', 'r1', 'az1', vcpus=8),
    hosts.Host('cmp-3', 'r2', 'az1', vcpus=8),
)

# A host has twice as many VCPU as one consumer may have.
OVERCOMMITTED = '\n[DEFAULT]\ncpu_allocation_ratio = 2.0\n'

# A rack alone; the large members fit into the first rack only.
ONE_RACK = {
    'members': {'a': base.member('m1.xlarge', count=3)},
    'policies': [
        {'type': 'affinity', 'scope': 'rack'},
        {'type': 'exclusive', 'scope': 'rack'},
    ],
}


class ExclusiveTestCase(base.GroupTestCase):
    HOSTS = HOSTS
    EXCLUSIVE_HOSTS = ('cmp-1', 'cmp-2')

    def exclusive(self, topology=ONE_RACK, **group):
        """Hold an exclusive group as an admin, as the default rule demands."""
        return self.hold_group(topology, user='admin', **group)

    def assert_hosts_full(self, *names):
        """Expect that these hosts have no free capacity of any resource."""
        for name in names or self.EXCLUSIVE_HOSTS:
            for resource, rest in self.cloud.free(name).items():
                self.assertEqual(0, rest, (name, resource))
                self.assertRaises(
                    ks_exc.Conflict,
                    foreign_consumers.fill,
                    *(self.cloud, name),
                    **{resource: 1},
                )

    def boot_foreign_server(self, host, **kwargs):
        return self.boot(
            user='admin', availability_zone=f'az1:{host}', **kwargs
        )

    def total_vcpus(self):
        return {host.name: 2 * host.vcpus for host in HOSTS}

    def consumers_on(self, host):
        """Return {consumer: its type} of a host."""
        provider = self.cloud.provider(host)
        path = f'/resource_providers/{provider}/allocations'
        written = self.cloud.placement.get(path).json()['allocations']
        allocations = {
            uuid: self.cloud.placement.get(f'/allocations/{uuid}').json()
            for uuid in written
        }
        # A consumer may have been deleted since the list was read.
        return {
            uuid: each['consumer_type']
            for uuid, each in allocations.items()
            if each['allocations']
        }


class MaintenanceTestCase(ExclusiveTestCase, base.StepTestCase):
    """The maintenance step of placeholders, run by the test alone."""

    TOPOLOGY = ONE_RACK
    PARTS = dataclasses.replace(
        base.WITHOUT_REAPER,
        config=f'{base.WITHOUT_REAPER.config}\n{OVERCOMMITTED}',
    )

    def setUp(self):
        super().setUp()
        self.uuid = self.exclusive(self.TOPOLOGY)['id']
        self.foreign_hosts = set()

    def maintain(self):
        [group] = objects.VRTGroup.list_exclusive(self.context)
        owning = self.leases.owning(
            self.context, self.placement_client, group.id
        )
        with owning as lease:
            self.assertIsNotNone(lease)
            maintain.maintain(
                self.context,
                self.placement_client,
                lease,
                group,
                self.foreign_hosts,
            )

    def placeholder_with(self, resource, host=None):
        """Return a placeholder with a resource, on a host if one is given."""
        return next(
            hold
            for hold in self.holds_of(self.uuid)
            if hold.is_placeholder
            and host in (None, hold.host)
            and resource in hold.allocations[hold.provider_uuid]['resources']
        )

    def count_member_holds(self):
        return sum(
            not hold.is_placeholder for hold in self.holds_of(self.uuid)
        )


def raise_connection_error(*args):
    raise db_exc.DBConnectionError
