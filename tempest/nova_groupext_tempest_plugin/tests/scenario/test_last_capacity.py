# SPDX-License-Identifier: Apache-2.0
"""Scenarios of two tenants that compete for the last free capacity."""

from tempest.common import waiters as compute_waiters
from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc
from tempest.lib.common.utils import data_utils

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import servers


class LastCapacityTest(servers.BaseServerTest):
    """Tests with a flavor that fits once, on the only host with a trait."""

    credentials = ['primary', 'alt', 'admin']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        cls.skip_unless_allocations_are_checked()

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        provider = cls.find_provider()
        trait = f'CUSTOM_VRT_TEMPEST_{data_utils.rand_int_id(start=1)}'
        cls.placement.create_trait(trait)
        cls.addClassResourceCleanup(cls.placement.delete_trait, trait)
        cls.change_traits(provider, lambda traits: {*traits, trait})
        cls.addClassResourceCleanup(
            cls.change_traits, provider, lambda traits: {*traits} - {trait}
        )
        cls.flavor = cls.create_flavor(
            vcpus=cls.free_vcpus(provider) // 2 + 1,
            **{f'trait:{trait}': 'required'},
        )

    @classmethod
    def find_provider(cls):
        """Return the resource provider uuid of a host with free capacity."""
        group = cls.create_group(topologies.equal_members(1), hold=False)
        shown = cls.admin_groups.show_group(group['id'])['vrt_group']
        host = shown['members'][0]['host']
        hypervisors = cls.os_admin.hypervisor_client.list_hypervisors(
            detail=True
        )['hypervisors']
        [name] = [
            each['hypervisor_hostname']
            for each in hypervisors
            if each['service']['host'] == host
        ]
        return cls.placement.show_provider(name)['uuid']

    @classmethod
    def free_vcpus(cls, provider):
        inventory = cls.placement.show_inventory(provider)
        usable = inventory['total'] - inventory['reserved']
        used = cls.placement.show_usages(provider)['VCPU']
        return int(usable * inventory['allocation_ratio']) - used

    @classmethod
    def change_traits(cls, provider, change):
        """Change the traits of a provider; retry on concurrent changes."""

        def is_done():
            now = cls.placement.show_traits(provider)
            new_traits = sorted(change(now['traits']))
            try:
                cls.placement.set_traits(
                    provider, **{**now, 'traits': new_traits}
                )
            except lib_exc.Conflict:
                return False
            return True

        waiters.wait_until(is_done, bool, f'{provider} has other traits')

    @classmethod
    def create_flavor(cls, vcpus, **extra_specs):
        client = cls.os_admin.flavors_client
        flavor_id = topologies.member()['flavor']
        base_flavor = client.show_flavor(flavor_id)['flavor']
        flavor = client.create_flavor(
            name=data_utils.rand_name(cls.__name__),
            vcpus=vcpus,
            ram=base_flavor['ram'],
            disk=base_flavor['disk'],
        )['flavor']['id']
        cls.addClassResourceCleanup(client.delete_flavor, flavor)
        client.set_flavor_extra_spec(flavor, **extra_specs)
        return flavor

    @decorators.idempotent_id('7c1bd3f6-9fca-4ed0-b458-a2f5d7e3f201')
    def test_one_of_two_tenants_gets_the_last_capacity(self):
        last = topologies.equal_members(1, flavor=self.flavor)
        clients = (self.groups, self.other_groups)
        created = [(each, self._create(each, last)) for each in clients]
        for client, group in created:
            self.addCleanup(self.remove_group, group['id'], client)
        decided = [
            (client, waiters.wait_for_decision(client, group['id']))
            for client, group in created
        ]

        winner, loser = sorted(
            decided, key=lambda pair: pair[1]['status'] != 'HELD'
        )
        self.assertEqual('HELD', winner[1]['status'])
        self.assertEqual('REFUSED', loser[1]['status'], loser[1])
        self.assertIn(
            loser[1]['refusal']['reason']['code'],
            ('vrt.capacity', 'vrt.hosts'),
        )
        self.remove_group(winner[1]['id'], winner[0])
        self.wait_until_held(loser[0], loser[1]['id'])

    def wait_until_held(self, client, group_id):
        """Retry until the release of the other hold lets a group be held."""

        def retry_hold():
            group = client.show_group(group_id)['vrt_group']
            if group['status'] in ('REFUSED', 'UNDECIDED'):
                client.act(group_id, 'hold')
            return group['status']

        waiters.wait_until(
            retry_hold,
            lambda status: status == 'HELD',
            'the last free capacity is held',
        )

    @decorators.idempotent_id('7c1bd3f6-9fca-4ed0-b458-a2f5d7e3f202')
    def test_held_capacity_is_refused_to_a_server_without_hints(self):
        self.hold(topologies.equal_members(1, flavor=self.flavor))
        client = self.os_alt.servers_client

        server = self.create_server(client, flavorRef=self.flavor)

        failed = compute_waiters.wait_for_server_status(
            client, server, 'ERROR', raise_on_error=False
        )
        self.assertIn('No valid host', failed['fault']['message'])
