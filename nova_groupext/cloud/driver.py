# SPDX-License-Identifier: Apache-2.0
"""The computes' driver: Nova's fake one with a size of its own."""

from nova.virt import fake
from nova.virt import node

#: The machines by name; the driver learns its host's name only when it runs.
HOSTS = {}


class TryOutDriver(fake.FakeDriver):
    """Nova's fake driver, as large as its host is described to be."""

    def init_host(self, host):
        super().init_host(host)
        size = HOSTS[host]
        self.vcpus = size.vcpus
        self.memory_mb = size.ram_mb
        self.local_gb = size.disk_gb
        self.resources = fake.Resources(
            self.vcpus, self.memory_mb, self.local_gb
        )
        # Nova keeps this once per process, but here are many computes.
        self.node_uuid = node.get_local_node_uuid()

    def get_available_resource(self, nodename):
        resources = super().get_available_resource(nodename)
        return {**resources, 'uuid': self.node_uuid}

    def get_nodenames_by_uuid(self, refresh=False):
        return {self.node_uuid: self._host}

    def post_live_migration_at_source(self, context, instance, network_info):
        """Forget a guest that has left; Nova's fake driver would keep it.

        A server that was still there could not be evacuated to this host.
        """
        self.destroy(context, instance, network_info)


# Nova looks for drivers below nova.virt only.
fake.TryOutDriver = TryOutDriver
