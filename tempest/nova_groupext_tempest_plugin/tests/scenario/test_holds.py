# SPDX-License-Identifier: Apache-2.0
"""Scenarios of plans that are held later (what-ifs), and of expiry."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import servers

SECONDS = 2


class WhatIfTest(servers.BaseServerTest):
    @decorators.attr(type='smoke')
    @decorators.idempotent_id('3e7d9fb2-5b86-4a9c-b014-6eb1f3a9b801')
    def test_what_if_is_held_later(self):
        group = self.describe(
            topologies.equal_members(2, [topologies.HOST_ANTI_AFFINITY]),
            hold=False,
        )
        self.assertEqual('PLANNED', group['status'])
        self.assertIsNone(group['expires_at'])
        self.assertRaises(lib_exc.Conflict, self.create_member, group, 'a-0')

        self.groups.act(group['id'], 'hold')
        held = waiters.wait_for_decision(self.groups, group['id'])

        self.assertEqual('HELD', held['status'], held)
        self.assertEqual(held['generation'], group['generation'])
        self.assertIsNotNone(held['expires_at'])
        one, two = (member['domains'] for member in held['members'])
        self.assertNotEqual(one['host'], two['host'])
        self.create_member(held, 'a-0')


class ExpiryTest(servers.BaseServerTest):
    @decorators.idempotent_id('3e7d9fb2-5b86-4a9c-b014-6eb1f3a9b802')
    def test_expired_group_holds_nothing_and_a_create_asks_for_a_place(self):
        group = self.hold(topologies.equal_members(2), expires_in=SECONDS)

        released = waiters.wait_for_status(
            self.groups, group['id'], 'RELEASED'
        )

        for member in released['members']:
            self.assertEqual('TENTATIVE', member['status'])
            self.assertEqual({}, member['domains'])
            self.assertIn('expired', member['fault']['message'])
        self.assertRaises(
            lib_exc.Conflict, self.groups.act, group['id'], 'extend'
        )
        self.create_member(group, 'a-0')
        waiters.wait_for_members(self.groups, group['id'], {'a-0': 'ACTIVE'})

    @decorators.idempotent_id('3e7d9fb2-5b86-4a9c-b014-6eb1f3a9b803')
    def test_server_stays_and_the_rest_of_its_group_expires(self):
        group = self.hold(topologies.equal_members(2))
        server = self.create_member(group, 'a-0')
        waiters.wait_for_members(self.groups, group['id'], {'a-0': 'ACTIVE'})

        self.groups.act(group['id'], 'extend', expires_in=1)

        left = waiters.wait_for_members(
            self.groups, group['id'], {'a-1': 'TENTATIVE'}
        )
        self.assertEqual('ACTIVE', left['status'])
        self.assertEqual('ACTIVE', left['members'][0]['status'])
        shown = self.servers.show_server(server)['server']
        self.assertEqual('ACTIVE', shown['status'])
