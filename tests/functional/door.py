# SPDX-License-Identifier: Apache-2.0
"""The redeem door, as nova-conductor speaks to it."""

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


class DoorCase(base.StepTestCase):
    """A group of two members, held, and requests for its servers."""

    TOPOLOGY = {'members': {'a': base.member(), 'b': base.member()}}

    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=8),
    )

    def setUp(self):
        super().setUp()
        self.uuid = self.held(self.TOPOLOGY)['id']
        self.project = self.cloud.sdk('demo').current_project_id

    def request(self, pointed='a', like='a', **changes):
        """Return the arguments of a first boot.

        :param pointed: what the hint names
        :param like: the path of a member that the server is described like
        """
        server_uuid = uuidutils.generate_uuid()
        nova_objects.InstanceMapping(
            self.context,
            instance_uuid=server_uuid,
            cell_mapping=None,
            project_id=self.project,
        ).create()
        member = self.member(like)
        spec = request_specs.spec_for(
            self.context, member, self.project, 'somebody'
        )
        spec.instance_uuid = server_uuid
        spec.scheduler_hints = {
            name: [value]
            for name, value in base.pointer(self.uuid, pointed).items()
        }
        for name, value in changes.items():
            setattr(spec, name, value)
        self.empty_later(server_uuid)
        return spec, server_uuid

    def select(self, spec, *server_uuids):
        return rpcapi.SchedulerAPI().select_destinations(
            self.context,
            spec,
            [*server_uuids],
            return_objects=True,
            return_alternates=True,
        )

    def refusal(self, spec, *server_uuids):
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

    def in_the_middle_of(self, consumer, work):
        """Do some work while Placement is at the next POST for a consumer.

        Of a consumer that is emptied it compares the generation first, and
        reads the allocations later.
        """
        create = allocation.create_allocation_list
        works = [work]

        def interrupted(context, data, consumers):
            if consumer in data and works:
                works.pop()()
            return create(context, data, consumers)

        self.patch(allocation, 'create_allocation_list', interrupted)

    def override(self, name, value):
        """Set an option of ours until the end of the test."""
        CONF.set_override(name, value, 'vrt')
        self.addCleanup(CONF.clear_override, name, 'vrt')

    def disable(self, host):
        """Take a host out of service; returns how to bring it back."""
        services = self.cloud.nova('admin').services
        [found] = services.list(host=host, binary='nova-compute')
        services.disable(found.id)
        self.addCleanup(services.enable, found.id)
        return lambda: services.enable(found.id)
