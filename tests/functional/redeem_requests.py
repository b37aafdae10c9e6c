# SPDX-License-Identifier: Apache-2.0
"""Requests for servers of members, as nova-conductor sends them."""

from nova import exception as nova_exc
from nova import objects as nova_objects
from nova.scheduler import rpcapi
from oslo_utils import uuidutils
from placement.handlers import allocation

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.conf import CONF
from nova_groupext.scheduler.nova import request_specs
from tests.functional import base


class RedeemTestCase(base.StepTestCase):
    """A held group of two members, and requests for its servers."""

    TOPOLOGY = {'members': {'a': base.member(), 'b': base.member()}}

    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=8),
    )

    def setUp(self):
        super().setUp()
        self.uuid = self.hold_group(self.TOPOLOGY)['id']
        self.project = self.cloud.sdk('demo').current_project_id

    def request(self, hinted_path='a', described_path='a', **changes):
        """Return the arguments of a first boot.

        :param hinted_path: path of the member that the hint names
        :param described_path: path of the member that describes the server
        """
        server_uuid = uuidutils.generate_uuid()
        nova_objects.InstanceMapping(
            self.context,
            instance_uuid=server_uuid,
            cell_mapping=None,
            project_id=self.project,
        ).create()
        member = self.member(described_path)
        spec = request_specs.make_spec(
            self.context, member.resolved_request, self.project, 'somebody'
        )
        spec.instance_uuid = server_uuid
        spec.scheduler_hints = {
            name: [value]
            for name, value in base.member_hints(
                self.uuid, hinted_path
            ).items()
        }
        for name, value in changes.items():
            setattr(spec, name, value)
        self.delete_allocations_later(server_uuid)
        return spec, server_uuid

    def select(self, spec, *server_uuids):
        return rpcapi.SchedulerAPI().select_destinations(
            self.context,
            spec,
            [*server_uuids],
            return_objects=True,
            return_alternates=True,
        )

    def select_refusal(self, spec, *server_uuids):
        error = self.assertRaises(
            nova_exc.NoValidHost, self.select, spec, *server_uuids
        )
        return str(error)

    def member(self, path):
        return objects.VRTMember.get_by_path(
            self.context,
            self.uuid,
            path,
            project_id=self.cloud.sdk('demo').current_project_id,
        )

    def call_during_request(self, consumer, call):
        """Run ``work`` while Placement handles the next POST for a consumer.

        Of a consumer that is emptied it compares the generation first, and
        reads the allocations later.
        """
        create = allocation.create_allocation_list
        calls = [call]

        def create_interrupted(context, data, consumers):
            if consumer in data and calls:
                calls.pop()()
            return create(context, data, consumers)

        self.patch(allocation, 'create_allocation_list', create_interrupted)

    def set_option(self, name, value):
        """Set an option of ours until the end of the test."""
        CONF.set_override(name, value, 'vrt')
        self.addCleanup(CONF.clear_override, name, 'vrt')

    def disable(self, host):
        """Take a host out of service; returns how to bring it back."""
        services = self.cloud.nova('admin').services
        [service] = services.list(host=host, binary='nova-compute')
        services.disable(service.id)
        self.addCleanup(services.enable, service.id)
        return lambda: services.enable(service.id)
