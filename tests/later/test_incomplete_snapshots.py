# SPDX-License-Identifier: Apache-2.0
"""Incomplete snapshots of the cloud, which make a group undecided."""

import dataclasses
import time

from nova import objects
from nova import quota as nova_quota
from nova.scheduler.host_manager import HostManager as NovaHosts
from oslo_utils import uuidutils

from nova_groupext import quota
from nova_groupext.scheduler.nova import hosts as look_hosts
from nova_groupext.solver.solve import decide
from tests.functional import base
from tests.functional import foreign_consumers
from tests.later import incomplete_snapshots

TWO = {
    'members': {'a': base.member(count=2)},
    'policies': [{'type': 'anti-affinity', 'scope': 'host'}],
}


class TestSharing(incomplete_snapshots.IncompleteCase):
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


class TestTruncated(incomplete_snapshots.IncompleteCase):
    PARTS = dataclasses.replace(
        incomplete_snapshots.IncompleteCase.PARTS,
        placement_config='[placement]\nmax_allocation_candidates = 1\n',
    )

    def test_truncated_allocation_candidates_are_undecided(self):
        group = self.describe(TWO)

        self.assert_undecided(group, 'ask the operator to raise')

    def test_group_without_allocation_candidates_is_refused(self):
        self.fill('cmp-1', VCPU=8)
        self.fill('cmp-2', VCPU=8)

        group = self.describe({'members': {'a': base.member()}})

        self.assertEqual('REFUSED', group['status'], group)


class TestDown(incomplete_snapshots.IncompleteCase):
    def test_cloud_in_which_no_host_is_up_refuses_nothing(self):
        for host in ('cmp-1', 'cmp-2'):
            self.force_down(host)

        group = self.describe(TWO)

        self.assertEqual('UNDECIDED', group['status'], group)
        self.assertIsNone(group['refusal'])


class TestTraits(incomplete_snapshots.IncompleteCase):
    """A flavor with a required trait that only cmp-1 has."""

    def setUp(self):
        super().setUp()
        self.add_trait('cmp-1', 'CUSTOM_FAST')
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


class TestReleasedCapacity(incomplete_snapshots.IncompleteCase):
    """A foreign consumer that releases capacity while the planner decides."""

    def test_capacity_released_while_deciding_is_found(self):
        self.fill('cmp-1', VCPU=8)
        consumer = foreign_consumers.fill(self.cloud, 'cmp-2', VCPU=8)
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


class TestSilentCell(incomplete_snapshots.IncompleteCase):
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
