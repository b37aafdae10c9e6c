# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/look/foreign_hosts.py``."""

import types

from oslo_utils import uuidutils

from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.scheduler.look import foreign_hosts
from nova_groupext.scheduler.look import kept_reading
from tests.unit.scheduler import base

EXCLUSIVE = {'type': 'exclusive', 'scope': 'host'}
FOREIGN = 'a consumer that is in no table'


class TestFind(base.ProtocolTestCase):
    """Four hosts that nobody uses, two in each rack.

    :ivar asked: providers whose consumers were asked for
    """

    def setUp(self):
        super().setUp()
        CONF.set_override('topology_levels', ['rack:rack'], 'vrt')
        self.addCleanup(CONF.clear_override, 'topology_levels', 'vrt')
        self.asked = set()
        self.hosts = {
            f'cmp-{number}': types.SimpleNamespace(
                uuid=uuidutils.generate_uuid(),
                host=f'cmp-{number}',
                nodename=f'cmp-{number}',
                instances={},
                aggregates=[rack(number // 2)],
            )
            for number in range(4)
        }
        self.reading = kept_reading.Reading(self.hosts, None, {}, 0.0)
        for host in self.hosts.values():
            self.use(host, 0)

    def use(self, host, amount):
        self.reading.summaries[host.uuid] = {
            'resources': {'VCPU': {'capacity': 8, 'used': amount}}
        }

    def usages(self, _context, provider):
        self.asked.add(provider)
        return {FOREIGN: {'VCPU': 1}}

    def find(self, *used, policy=EXCLUSIVE, uuid=None):
        uuid = uuid or self.deployment.describe(['cmp-0'], [policy])
        return foreign_hosts.find(
            *(self.context, self.deployment.group(uuid)),
            types.SimpleNamespace(usages=self.usages),
            *(lambda: None, self.reading, {*used}),
        )

    def asked_hosts(self):
        return {self.reading.host_ids[each] for each in self.asked}

    def test_hosts_do_not_matter_without_an_exclusive_policy(self):
        self.use(self.hosts['cmp-0'], 1)

        self.assertEqual(set(), self.find('cmp-0', policy=base.APART))

    def test_empty_hosts_are_not_asked_for(self):
        self.assertEqual(set(), self.find(*self.hosts))
        self.assertEqual(set(), self.asked)

    def test_host_with_a_server_is_foreign(self):
        self.hosts['cmp-1'].instances['server'] = None

        self.assertEqual({'cmp-1'}, self.find(*self.hosts))
        self.assertEqual(set(), self.asked)

    def test_host_with_a_hold_of_another_group_is_foreign(self):
        provider = self.deployment.make_provider(2)
        self.deployment.plan(self.deployment.describe([provider]))
        self.hosts[provider] = self.hosts.pop('cmp-1')

        self.assertEqual({provider}, self.find(*self.hosts))
        self.assertEqual(set(), self.asked)

    def test_row_of_a_server_that_may_be_gone_says_nothing(self):
        provider = self.deployment.make_provider(2)
        uuid = self.deployment.describe([provider])
        self.deployment.plan(uuid)
        [hold] = self.holds(uuid)
        hold.update_row(self.context, status=states.Hold.REDEEMED)
        self.hosts[provider] = self.hosts.pop('cmp-1')

        self.assertEqual(set(), self.find(*self.hosts))

    def test_servers_of_a_service_with_several_nodes_say_nothing(self):
        self.hosts['cmp-1'].instances['server'] = None
        self.hosts['cmp-2'].host = 'cmp-1'

        self.assertEqual(set(), self.find(*self.hosts))

    def test_host_of_an_own_server_is_asked_for(self):
        provider = self.deployment.make_provider(2)
        uuid = self.deployment.describe([provider], [EXCLUSIVE])
        self.deployment.plan(uuid)
        self.hosts[provider] = self.hosts.pop('cmp-1')
        self.use(self.hosts[provider], 1)

        self.assertEqual({provider}, self.find(uuid=uuid))

    def test_hold_of_the_group_itself_is_not_foreign(self):
        provider = self.deployment.make_provider(2)
        uuid = self.deployment.describe([provider], [EXCLUSIVE])
        self.deployment.plan(uuid)
        self.hosts[provider] = self.hosts.pop('cmp-1')

        self.assertEqual(set(), self.find(*self.hosts, uuid=uuid))

    def test_used_host_without_known_consumers_is_asked_for(self):
        self.use(self.hosts['cmp-1'], 1)

        self.assertEqual({'cmp-1'}, self.find(*self.hosts))
        self.assertEqual({'cmp-1'}, self.asked_hosts())

    def test_host_that_is_no_candidate_is_not_asked_for(self):
        self.reading.summaries.clear()

        self.find('cmp-0')

        self.assertEqual({'cmp-0'}, self.asked_hosts())

    def test_hosts_in_the_rack_of_a_candidate_are_asked_for(self):
        self.reading.summaries.clear()

        self.find('cmp-0', policy={**EXCLUSIVE, 'scope': 'rack'})

        self.assertEqual({'cmp-0', 'cmp-1'}, self.asked_hosts())


def rack(number):
    """Return an aggregate that is a rack."""
    return types.SimpleNamespace(
        id=number, name=f'rack-{number}', metadata={'rack': f'r{number}'}
    )
