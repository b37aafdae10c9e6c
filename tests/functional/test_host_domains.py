# SPDX-License-Identifier: Apache-2.0
"""Domains of hosts, as Nova's aggregates tell them."""

import fixtures

from nova_groupext.cloud import hosts
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.scheduler.nova import hosts as nova_hosts
from tests.functional import base


class TestHostDomains(base.GroupTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1'),
        hosts.Host('cmp-2', 'r1', 'az1'),
        hosts.Host('cmp-3', 'r2', 'az2'),
    )
    PARTS = base.WITHOUT_REAPER
    LEVELS = 'host', 'rack', 'zone'

    def put_into_rack(self, host, rack):
        """Put a host into one more rack."""
        aggregates = self.cloud.nova('admin').aggregates
        aggregate = aggregates.create(f'also {rack}', None)
        self.addCleanup(aggregates.delete, aggregate)
        aggregates.set_metadata(aggregate, {'rack': rack})
        aggregates.add_host(aggregate, host)
        self.addCleanup(aggregates.remove_host, aggregate, host)

    def domains(self):
        return host_domains.Domains(self.context, self.LEVELS)

    def test_named_hosts_have_the_domains_of_their_states(self):
        states = nova_hosts.HostManager().all_hosts(self.context)

        found = self.domains().of_hosts({*states})

        self.assertEqual(
            {name: host_domains.of_state(states[name]) for name in states},
            found,
        )
        self.assertEqual(
            {name: host_domains.find(self.context, name) for name in states},
            found,
        )

    def test_host_in_two_racks_is_in_none(self):
        self.put_into_rack('cmp-1', 'r2')

        self.assertEqual(
            {'cmp-1': {'zone': 'az1'}, 'cmp-2': {'rack': 'r1', 'zone': 'az1'}},
            self.domains().of_hosts(['cmp-1', 'cmp-2']),
        )

    def test_unknown_level_and_host_have_no_domain(self):
        self.assertEqual({'row': {}}, host_domains.read(self.context, ['row']))
        self.assertEqual({'gone': {}}, self.domains().of_hosts(['gone']))

    def test_all_hosts_of_a_domain_are_found(self):
        self.assertEqual(
            {'cmp-1', 'cmp-2'},
            host_domains.hosts_in_same_domains(
                self.context, 'rack', ['cmp-1']
            ),
        )

    def test_host_is_read_once(self):
        domains = self.domains()
        first = domains.of_hosts(['cmp-1'])
        self.put_into_rack('cmp-1', 'r2')

        self.assertEqual(first, domains.of_hosts(['cmp-1']))

    def test_many_hosts_are_read_with_all_others(self):
        self.useFixture(fixtures.MockPatchObject(host_domains, 'MAX_NAMED', 1))

        self.assertEqual(
            {'rack': 'r2', 'zone': 'az2'},
            self.domains().of_hosts(['cmp-2', 'cmp-3'])['cmp-3'],
        )
