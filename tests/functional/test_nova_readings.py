# SPDX-License-Identifier: Apache-2.0
"""Our few queries read from Nova the same as Nova itself does."""

import fixtures
from nova import context as nova_context
from nova import objects as nova_objects
from nova.scheduler import host_manager

from nova_groupext.cloud import hosts
from nova_groupext.scheduler.nova import aggregates
from nova_groupext.scheduler.nova import hosts as nova_hosts
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.nova import service_states
from tests.benchmarks.scheduler import groups
from tests.functional import base


class TestReadings(base.GroupTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r1', 'az1', vcpus=2),
        hosts.Host('cmp-3', 'r2', 'az2', vcpus=4),
    )
    PARTS = base.WITHOUT_REAPER

    def setUp(self):
        super().setUp()
        self.manager = nova_hosts.HostManager()
        self.states = self.manager.all_hosts(self.context)

    def make_aggregate(self, **metadata):
        """Make an aggregate of all hosts."""
        admin = self.cloud.nova('admin').aggregates
        aggregate = admin.create('another', None)
        self.addCleanup(admin.delete, aggregate)
        admin.set_metadata(aggregate, metadata)
        for host in self.HOSTS:
            admin.add_host(aggregate, host.name)
            self.addCleanup(admin.remove_host, aggregate, host.name)

    def test_aggregates_are_the_same_objects(self):
        self.make_aggregate(cpu_weight_multiplier='3', pets='no')

        self.assertEqual(
            *(
                {each.id: each.obj_to_primitive() for each in found}
                for found in (
                    nova_objects.AggregateList.get_all(self.context),
                    aggregates.read_all(self.context),
                )
            )
        )

    def test_hosts_have_their_aggregates(self):
        stock = host_manager.HostManager()

        self.assertEqual(
            stock.host_aggregates_map, self.manager.host_aggregates_map
        )

    def test_weighers_give_the_same_sums(self):
        self.make_aggregate(cpu_weight_multiplier='3')
        self.boot()
        manager = nova_hosts.HostManager()
        states = [*manager.all_hosts(self.context).values()]
        spec = groups.spec(self.context, groups.resolved_request('m1'))

        weighed = manager.get_weighed_hosts(states, spec)

        sums = {each.obj.uuid: each.weight for each in weighed}
        scores, ranges = manager.scores(states, spec)
        self.assertEqual(sums, scores)
        self.assertEqual(3, len({*sums.values()}))
        self.assertEqual(
            ({states[0].uuid: 0.0}, []), manager.scores(states[:1], spec)
        )
        self.assertEqual(
            {states[0].uuid: scores[states[0].uuid]},
            manager.scores_within(states[:1], spec, ranges),
        )

    def test_hosts_have_their_servers(self):
        server = self.cloud.nova('admin').servers.get(self.boot().id)
        host = getattr(server, 'OS-EXT-SRV-ATTR:host')
        states = nova_hosts.HostManager().all_hosts(self.context)

        self.assertEqual(
            {name: {server.id} if name == host else set() for name in states},
            {name: {*state.instances} for name, state in states.items()},
        )
        [found] = states[host].instances.values()
        self.assertEqual('active', found.vm_state)
        self.assertIs(found, states[host].instances[server.id])

    def hide(self, uuid):
        """Hide a server's row, as a resize to another cell does at its end."""
        mapping = self.mapping(uuid)
        with nova_context.target_cell(
            self.context, mapping.cell_mapping
        ) as in_cell:
            server = nova_objects.Instance.get_by_uuid(in_cell, uuid)
            server.hidden = not server.hidden
            server.save()

    def mapping(self, uuid):
        return nova_objects.InstanceMapping.get_by_instance_uuid(
            self.context, uuid
        )

    def test_server_without_a_row_in_its_cell_is_deleted(self):
        uuid = self.boot().id
        self.hide(uuid)
        self.addCleanup(self.hide, uuid)

        self.assertEqual(
            {uuid: servers.Server(servers.ServerOutcome.DELETED)},
            servers.read(self.context, [uuid]),
        )

    def test_server_that_changes_its_cell_meanwhile_is_left_out(self):
        uuid = self.boot().id
        ask = nova_context.scatter_gather_single_cell

        def move_first(*args, **kwargs):
            self.hide(uuid)
            self.map_to(uuid, nova_objects.CellMapping.CELL0_UUID)
            return ask(*args, **kwargs)

        old = self.mapping(uuid).cell_mapping.uuid
        self.addCleanup(self.hide, uuid)
        self.addCleanup(self.map_to, uuid, old)
        with fixtures.MonkeyPatch(
            'nova.context.scatter_gather_single_cell', move_first
        ):
            found = servers.read(self.context, [uuid])

        self.assertEqual({}, found)

    def map_to(self, uuid, cell_uuid):
        mapping = self.mapping(uuid)
        mapping.cell_mapping = nova_objects.CellMapping.get_by_uuid(
            self.context, cell_uuid
        )
        mapping.save()

    def test_disabled_and_unknown_hosts_are_out_of_service(self):
        services = self.cloud.nova('admin').services
        [compute] = services.list(host='cmp-2', binary='nova-compute')
        services.disable(compute.id)
        self.addCleanup(services.enable, compute.id)
        uuid_of = {name: state.uuid for name, state in self.states.items()}
        disabled = {('cmp-2', uuid_of['cmp-2'])}
        unknown = {('cmp-9', uuid_of['cmp-1']), ('cmp-1', 'another node')}

        gone = service_states.out_of_service(
            self.context, {*uuid_of.items()} | unknown
        )

        self.assertEqual(disabled | unknown, gone)

    def test_many_hosts_are_read_with_all_others(self):
        self.useFixture(
            fixtures.MockPatchObject(service_states, 'MAX_NAMED', 1)
        )

        self.test_disabled_and_unknown_hosts_are_out_of_service()
