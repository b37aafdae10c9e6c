# SPDX-License-Identifier: Apache-2.0
"""Groups that have a rack to themselves."""

import dataclasses

from keystoneauth1 import exceptions as ks_exc
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.scheduler.protocol import maintain
from tests.functional import base

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
    ALONE = ('cmp-1', 'cmp-2')

    def exclusive(self, topology=ONE_RACK, **group):
        """Only admins may ask for it, unless the operator says otherwise."""
        return self.held(topology, user='admin', **group)

    def assert_alone(self, *names):
        """Nobody gets the smallest part of anything on these hosts."""
        for name in names or self.ALONE:
            for resource, rest in self.cloud.free(name).items():
                self.assertEqual(0, rest, (name, resource))
                self.assertRaises(
                    ks_exc.Conflict, self.cloud.fill, name, **{resource: 1}
                )

    def stranger(self, host, **kwargs):
        return self.boot(
            user='admin', availability_zone=f'az1:{host}', **kwargs
        )

    def empty(self):
        return {host.name: 2 * host.vcpus for host in HOSTS}

    def consumers(self, host):
        """Return {consumer: its type} of a host."""
        provider = self.cloud.provider(host)
        path = f'/resource_providers/{provider}/allocations'
        written = self.cloud.placement.get(path).json()['allocations']
        found = {
            uuid: self.cloud.placement.get(f'/allocations/{uuid}').json()
            for uuid in written
        }
        # One may have gone since it was listed.
        return {
            uuid: each['consumer_type']
            for uuid, each in found.items()
            if each['allocations']
        }


class KeepingCase(ExclusiveTestCase, base.StepTestCase):
    """The step itself; nobody else takes it meanwhile."""

    TOPOLOGY = ONE_RACK
    PARTS = dataclasses.replace(
        base.WITHOUT_REAPER,
        config=f'{base.WITHOUT_REAPER.config}\n{OVERCOMMITTED}',
    )

    def setUp(self):
        super().setUp()
        self.uuid = self.exclusive(self.TOPOLOGY)['id']
        self.strangers = set()

    def keep(self):
        [group] = objects.VRTGroup.list_exclusive(self.context)
        owning = self.leases.owning(self.context, self.ledger, group.id)
        with owning as lease:
            self.assertIsNotNone(lease)
            maintain.keep(
                self.context, self.ledger, lease, group, self.strangers
            )

    def filler_of(self, resource, host=None):
        """Return a filler that has some of a resource, on some host."""
        return next(
            hold
            for hold in self.holds_of(self.uuid)
            if hold.is_placeholder
            and host in (None, hold.host)
            and resource in hold.allocations[hold.provider_uuid]['resources']
        )

    def members_held(self):
        return sum(
            not hold.is_placeholder for hold in self.holds_of(self.uuid)
        )


def no_answer(*args):
    raise db_exc.DBConnectionError
