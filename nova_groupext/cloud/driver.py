# SPDX-License-Identifier: Apache-2.0
"""Virt driver of the computes: Nova's fake driver with a given capacity."""

from nova import exception
from nova.virt import fake
from nova.virt import node

from nova_groupext.cloud import image

#: Host by name; a driver learns the name of its host only in init_host().
HOSTS = {}


class TryOutDriver(fake.FakeDriver):
    """Nova's fake driver with the capacity that ``HOSTS`` defines."""

    def init_host(self, host):
        super().init_host(host)
        size = HOSTS[host]
        self.vcpus = size.vcpus
        self.memory_mb = size.ram_mb
        self.local_gb = size.disk_gb
        self.resources = fake.Resources(
            self.vcpus, self.memory_mb, self.local_gb
        )
        # Nova caches one node uuid per process, but here are many computes.
        self.node_uuid = node.get_local_node_uuid()

    def get_available_resource(self, nodename):
        resources = super().get_available_resource(nodename)
        return {**resources, 'uuid': self.node_uuid}

    def get_nodenames_by_uuid(self, refresh=False):
        return {self.node_uuid: self._host}

    def spawn(self, context, instance, *args, **kwargs):
        """Build a server, unless its image is the broken one."""
        if instance.image_ref == image.image_id('cirros-broken'):
            raise exception.InstanceDeployFailure(reason='a broken image')
        super().spawn(context, instance, *args, **kwargs)

    def post_live_migration_at_source(self, context, instance, network_info):
        """Remove a migrated guest, which Nova's fake driver keeps.

        Nova refuses to evacuate a server to a host that has its guest.
        """
        self.destroy(context, instance, network_info)


# Nova loads drivers only from nova.virt.
fake.TryOutDriver = TryOutDriver
