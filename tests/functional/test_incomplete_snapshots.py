# SPDX-License-Identifier: Apache-2.0
"""Incomplete snapshots of the cloud, which make a group undecided."""

import dataclasses
import time

from nova import objects
from nova import quota as nova_quota
from nova.scheduler.host_manager import HostManager as NovaHosts
from oslo_utils import uuidutils

from nova_groupext import quota
from nova_groupext.cloud import hosts
from nova_groupext.scheduler.nova import hosts as look_hosts
from nova_groupext.solver.solve import decide
from tests.functional import base
from tests.functional import changing_cloud

LICENSE = 'CUSTOM_LICENSE'
TWO = {
    'members': {'a': base.member(count=2)},
    'policies': [{'type': 'anti-affinity', 'scope': 'host'}],
}


class IncompleteCase(changing_cloud.ChangingCloudTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r1', 'az1', vcpus=8),
    )

    def licensed(self):
        """Return the name of a flavor that also requests a license."""
        placement = self.cloud.placement
        placement.put(f'/resource_classes/{LICENSE}')
        nova = self.cloud.nova('admin')
        flavor = nova.flavors.create('licensed', 512, 1, 1)
        self.addCleanup(nova.flavors.delete, flavor)
        flavor.set_keys({f'resources:{LICENSE}': '1'})
        return 'licensed'

    def provider(self, name, parent=None, traits=(), total=8):
        """Make a provider of licenses; returns its uuid."""
        placement = self.cloud.placement
        uuid = uuidutils.generate_uuid()
        body = {'name': name, 'uuid': uuid}
        if parent:
            body['parent_provider_uuid'] = parent
        placement.post('/resource_providers', json=body)
        self.addCleanup(
            placement.delete, f'/resource_providers/{uuid}', raise_exc=False
        )
        placement.put(
            f'/resource_providers/{uuid}/inventories',
            json={
                'resource_provider_generation': 0,
                'inventories': {LICENSE: {'total': total}},
            },
        )
        if traits:
            placement.put(
                f'/resource_providers/{uuid}/traits',
                json={'resource_provider_generation': 1, 'traits': traits},
            )
        return uuid

    def aggregate(self, *providers):
        aggregate = uuidutils.generate_uuid()
        for uuid in providers:
            url = f'/resource_providers/{uuid}/aggregates'
            now = self.cloud.placement.get(url).json()
            generation = 'resource_provider_generation'
            self.cloud.placement.put(
                url,
                json={
                    'aggregates': [*now['aggregates'], aggregate],
                    generation: now[generation],
                },
            )

    def root(self, name):
        body = self.cloud.placement.get(
            f'/resource_providers?name={name}'
        ).json()
        [found] = body['resource_providers']
        return found['uuid']

    def assert_undecided(self, group, reason):
        self.assertEqual('UNDECIDED', group['status'], group)
        self.assertIsNone(group['refusal'])
        self.assertIn(reason, group['fault']['message'])


class TestSharing(IncompleteCase):
    def test_group_that_needs_a_sharing_provider_is_undecided(self):
        flavor = self.licensed()
        shared = self.provider(
            'licenses', traits=['MISC_SHARES_VIA_AGGREGATE']
        )
        self.aggregate(shared, self.root('cmp-1'), self.root('cmp-2'))
        # Nova itself places servers on sharing providers.
        self.assertEqual('ACTIVE', self.boot(flavor).status)

        group = self.describe({'members': {'a': base.member(flavor)}})

        self.assert_undecided(group, 'sharing resource provider')


class TestNested(IncompleteCase):
    """Hosts with child providers, and a group that fills them."""

    def setUp(self):
        super().setUp()
        self.flavor = self.licensed()
        self.fill('cmp-2', VCPU=8)

    def add_root_inventory(self, total):
        """Give cmp-1 licenses of its own."""
        url = f'/resource_providers/{self.root("cmp-1")}/inventories'
        now = self.cloud.placement.get(url).json()
        now['inventories'][LICENSE] = {'total': total}
        self.cloud.placement.put(url, json=now)
        self.addCleanup(self.cloud.placement.delete, f'{url}/{LICENSE}')

    def revise(self, members):
        """Revise the group and wait for the decision; returns the group."""
        body = {
            'generation': self.group(self.uuid)['generation'],
            'topology': {'members': members},
        }
        self.api().put(f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body})
        return self.eventually(
            self.group,
            lambda now: (
                now['revision'] is None
                or now['revision']['status'] != 'PLANNING'
            ),
            self.uuid,
        )

    def assert_revised(self, group, count):
        self.assertIsNone(group['revision'], group)
        self.assertEqual(count, len(group['members']))
        self.assertEqual({'HELD'}, {m['status'] for m in group['members']})

    def test_child_provider_of_a_host_that_the_group_fills_is_undecided(self):
        self.provider('child', parent=self.root('cmp-1'))
        self.hold(8)
        self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())

        group = self.revise({'b': base.member(self.flavor)})

        self.assert_undecided(group['revision'], 'hosts that the group fills')

    def test_child_provider_beside_a_full_root_provider_is_undecided(self):
        self.add_root_inventory(1)
        self.fill('cmp-1', **{LICENSE: 1})
        self.provider('child', parent=self.root('cmp-1'))
        self.hold(8)

        group = self.revise({'b': base.member(self.flavor)})

        self.assert_undecided(group['revision'], 'hosts that the group fills')

    def test_irrelevant_child_provider_does_not_prevent_a_refusal(self):
        self.provider('child', parent=self.root('cmp-1'))
        self.hold(8)

        group = self.revise({'b': base.member(count=9)})

        self.assertEqual('REFUSED', group['revision']['status'], group)

    def test_holds_on_root_and_child_provider_are_both_reused(self):
        self.add_root_inventory(1)
        self.provider('child', parent=self.root('cmp-1'), total=1)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor, count=2)}}
        )['id']

        group = self.revise({'b': base.member(self.flavor, count=2)})

        self.assert_revised(group, 2)

    def test_hold_on_a_child_without_a_required_trait_does_not_count(self):
        self.provider('child', parent=self.root('cmp-1'), total=1)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor)}}
        )['id']
        self.cloud.placement.put('/traits/CUSTOM_FAST')
        nova = self.cloud.nova('admin')
        [flavor] = [
            each for each in nova.flavors.list() if each.name == self.flavor
        ]
        flavor.set_keys({'trait:CUSTOM_FAST': 'required'})

        group = self.revise({'b': base.member(self.flavor)})

        self.assertEqual('REFUSED', group['revision']['status'], group)

    def test_own_hold_is_an_alternative_to_free_capacity(self):
        self.add_root_inventory(1)
        self.provider('child', parent=self.root('cmp-1'), total=1)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor, count=1)}}
        )['id']

        group = self.revise({'b': base.member(self.flavor, count=2)})

        self.assert_revised(group, 2)

    def test_free_capacity_of_a_child_provider_beside_own_holds_counts(self):
        self.provider('child', parent=self.root('cmp-1'))
        self.uuid = self.hold_group(
            {
                'members': {
                    'a': base.member(self.flavor, count=2),
                    'b': base.member(count=6),
                }
            }
        )['id']
        self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())

        group = self.revise(
            {
                'a': base.member(self.flavor, count=4),
                'b': base.member(count=4),
            }
        )

        self.assert_revised(group, 8)


class TestTruncated(IncompleteCase):
    PARTS = dataclasses.replace(
        IncompleteCase.PARTS,
        placement_config='[placement]\nmax_allocation_candidates = 1\n',
    )

    def test_truncated_allocation_candidates_are_undecided(self):
        group = self.describe(TWO)

        self.assert_undecided(group, 'max_allocation_candidates')

    def test_group_without_allocation_candidates_is_refused(self):
        self.fill('cmp-1', VCPU=8)
        self.fill('cmp-2', VCPU=8)

        group = self.describe({'members': {'a': base.member()}})

        self.assertEqual('REFUSED', group['status'], group)


class TestTraits(IncompleteCase):
    """A flavor with a required trait that only cmp-1 has."""

    def setUp(self):
        super().setUp()
        placement = self.cloud.placement
        placement.put('/traits/CUSTOM_FAST')
        url = f'/resource_providers/{self.root("cmp-1")}/traits'
        now = placement.get(url).json()
        fast = {**now, 'traits': [*now['traits'], 'CUSTOM_FAST']}
        placement.put(url, json=fast)
        nova = self.cloud.nova('admin')
        flavor = nova.flavors.create('fast', 512, 2, 1)
        self.addCleanup(nova.flavors.delete, flavor)
        flavor.set_keys({'trait:CUSTOM_FAST': 'required'})
        self.fill('cmp-1', VCPU=7)
        self.fast = {'members': {'a': base.member('fast')}}

    def test_capacity_of_hosts_without_the_trait_does_not_count(self):
        group = self.describe(self.fast)

        self.assertEqual('REFUSED', group['status'], group)

    def test_equal_hold_on_a_host_without_the_trait_does_not_count(self):
        nova = self.cloud.nova('admin')
        flavor = nova.flavors.create('alike', 512, 2, 1)
        self.addCleanup(nova.flavors.delete, flavor)
        self.fast = {'members': {'a': base.member('fast', count=2)}}

        self.check_held_elsewhere(base.member('alike', count=2))

    def test_other_hold_on_a_host_without_the_trait_does_not_count(self):
        self.check_held_elsewhere(base.member(count=2))

    def check_held_elsewhere(self, member):
        uuid = self.hold_group({'members': {'a': member}})['id']
        hosts_of_it = [
            member['host'] for member in self.group(uuid, 'admin')['members']
        ]
        self.assertIn('cmp-2', hosts_of_it)
        generation = self.group(uuid)['generation']
        body = {'generation': generation, 'topology': self.fast}
        self.api().put(f'{base.GROUPS}/{uuid}', json={'vrt_group': body})

        group = self.eventually(
            self.group,
            lambda now: (now['revision'] or {}).get('status') == 'REFUSED',
            uuid,
        )

        self.assertEqual('HELD', group['status'])


class TestReleasedCapacity(IncompleteCase):
    """A foreign consumer that releases capacity while the planner decides."""

    def test_capacity_released_while_deciding_is_found(self):
        self.fill('cmp-1', VCPU=8)
        consumer = self.cloud.fill('cmp-2', VCPU=8)
        solve, asked = decide.decide, []

        def release_and_solve(problem, engine):
            if not asked:
                self.cloud.placement.delete(f'/allocations/{consumer}')
            asked.append(problem)
            return solve(problem, engine)

        self.patch(decide, 'decide', release_and_solve)

        group = self.describe({'members': {'a': base.member()}})

        self.assertEqual('HELD', group['status'], group)
        self.assertEqual(2, len(asked))


class TestSilentCell(IncompleteCase):
    def setUp(self):
        super().setUp()
        self.set_option('planning_time_limit', 12)

    def silence(self):
        """Add a cell whose database does not answer."""
        cell = objects.CellMapping(
            self.context,
            uuid=uuidutils.generate_uuid(),
            name='silent',
            transport_url='fake:///',
            database_connection='postgresql+psycopg2://127.0.0.1:1/cell',
        )
        cell.create()
        self.addCleanup(cell.destroy)

    def test_group_that_fits_without_the_silent_cell_is_held(self):
        self.silence()

        group = self.describe(TWO)

        self.assertEqual('HELD', group['status'], group)

    def test_silent_cell_is_not_asked_again_for_services(self):
        self.silence()
        self.patch(look_hosts, 'REFRESH_SHARE', 0)
        read, asked = NovaHosts._get_computes_for_cells, []

        def ask(manager, context, cells, uuids):
            asked.append([cell.name for cell in cells])
            return read(manager, context, cells, uuids)

        self.patch(NovaHosts, '_get_computes_for_cells', ask)

        group = self.describe(TWO)

        self.assertEqual('HELD', group['status'], group)
        self.assertGreater(len(asked), 2)
        self.assertNotIn('silent', {name for names in asked for name in names})

    def test_group_that_needs_the_silent_cell_is_undecided(self):
        self.silence()

        group = self.describe({'members': {'a': base.member(count=17)}})

        self.assert_undecided(group, 'did not answer')

    def test_slow_quota_check_does_not_count_as_planning_time(self):
        """Nova counts usage in all cells, and waits for unavailable ones."""
        check = nova_quota.QUOTAS.get_project_quotas

        def slowly(*args, **kwargs):
            time.sleep(3)
            return check(*args, **kwargs)

        self.set_option('planning_time_limit', 2)
        self.patch(quota.quota.QUOTAS, 'get_project_quotas', slowly)

        self.assertEqual('HELD', self.describe(TWO)['status'])
