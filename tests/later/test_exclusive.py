# SPDX-License-Identifier: Apache-2.0
"""Exclusive groups: their hosts are closed to other servers and groups."""

import dataclasses

from nova import context as nova_context

from nova_groupext import objects
from nova_groupext.cloud import with_groups
from nova_groupext.db import api as db
from nova_groupext.db import models
from tests.functional import base
from tests.later import exclusive_groups


class TestExclusive(exclusive_groups.ExclusiveTestCase):
    PARTS = dataclasses.replace(
        with_groups.HOLISTIC,
        config=f'{with_groups.HOLISTIC.config}\nexclusive_reap_interval = 1\n'
        f'{exclusive_groups.OVERCOMMITTED}',
    )

    def test_exclusive_rack_refuses_other_servers_until_the_group_ends(self):
        uuid = self.exclusive()['id']

        self.assert_hosts_full()
        outside = self.boot_foreign_server('cmp-3')
        self.assertEqual('ACTIVE', outside.status)
        inside = self.boot_foreign_server('cmp-1')
        self.assertIn('No valid host', inside.fault['message'])

        for path in ('a-0', 'a-1', 'a-2'):
            server = self.redeem(uuid, path, 'm1.xlarge', user='admin')
            self.assertEqual('ACTIVE', server.status)
            self.assert_hosts_full()
        self.assertEqual('ACTIVE', self.group(uuid, 'admin')['status'])

        self.delete_servers(server)
        self.eventually(self.free, lambda free: free['cmp-1'] == 0)
        self.eventually(self.free, lambda free: free['cmp-2'] == 0)
        self.assert_hosts_full()

    def test_placeholders_are_as_many_as_max_unit_demands(self):
        self.exclusive(
            {
                'members': {'a': base.member()},
                'policies': [{'type': 'exclusive', 'scope': 'host'}],
            }
        )

        [alone] = [name for name, free in self.free().items() if free == 0]
        self.assert_hosts_full(alone)
        self.assertEqual(
            ['VRT_EXCLUSIVE', 'VRT_EXCLUSIVE', 'VRT_MEMBER'],
            sorted(self.consumers_on(alone).values()),
        )

    def test_capacity_of_a_released_member_becomes_a_placeholder(self):
        uuid = self.exclusive()['id']

        self.act(uuid, 'release', {'members': ['a-2']}, user='admin')

        self.eventually(
            lambda: [
                *self.consumers_on('cmp-1').values(),
                *self.consumers_on('cmp-2').values(),
            ].count('VRT_MEMBER'),
            lambda members: members == 2,
        )
        self.assert_hosts_full()

    def test_release_of_the_last_member_frees_the_rack(self):
        uuid = self.exclusive()['id']

        self.act(uuid, 'release', user='admin')

        self.eventually(self.free, lambda free: free == self.total_vcpus())

    def test_deletion_of_the_group_frees_the_rack_but_its_servers(self):
        uuid = self.exclusive()['id']
        server = self.redeem(uuid, 'a-0', 'm1.xlarge', user='admin')

        self.delete_group(uuid, user='admin')

        self.assertEqual(
            sum(self.total_vcpus().values()) - 8, sum(self.free().values())
        )
        self.assertEqual('ACTIVE', server.manager.get(server).status)

    def test_foreign_consumers_in_every_rack_refuse_the_group(self):
        for name in ('cmp-1', 'cmp-3'):
            self.fill(name, VCPU=1)

        group = self.describe(exclusive_groups.ONE_RACK, user='admin')

        self.assertEqual('REFUSED', group['status'])
        self.assertEqual(
            sum(self.total_vcpus().values()) - 2, sum(self.free().values())
        )

    def test_other_groups_get_no_capacity_of_the_rack(self):
        self.exclusive()

        other = self.describe({'members': {'b': base.member(count=17)}})
        another = self.hold_group({'members': {'b': base.member(count=16)}})

        self.assertEqual('REFUSED', other['status'])
        self.assertEqual(
            {'cmp-3'}, set(self.planned_hosts(another['id']).values())
        )

    def test_host_added_to_the_rack_is_exclusive_until_it_leaves(self):
        self.exclusive()
        self.assertEqual(16, self.free()['cmp-3'])

        self.move_host('cmp-3', 'rack-r2', 'rack-r1')
        self.addCleanup(self.move_host, 'cmp-3', 'rack-r1', 'rack-r2')
        self.eventually(self.free, lambda free: free['cmp-3'] == 0)
        self.assert_hosts_full('cmp-1', 'cmp-2', 'cmp-3')

        self.move_host('cmp-3', 'rack-r1', 'rack-r2')
        self.eventually(self.free, lambda free: free['cmp-3'] == 16)
        self.assert_hosts_full()

    def move_host(self, name, source, target):
        aggregates = self.cloud.nova('admin').aggregates
        by_name = {each.name: each for each in aggregates.list()}
        if name in by_name[source].hosts:
            aggregates.remove_host(by_name[source], name)
            aggregates.add_host(by_name[target], name)

    def test_member_is_not_migrated_and_another_server_is(self):
        uuid = self.exclusive(
            {
                'members': {'a': base.member(count=1)},
                'policies': [{'type': 'exclusive', 'scope': 'host'}],
            }
        )['id']
        # Its hint is the name of the member set, not its own path.
        member = self.redeem(uuid, 'a', 'm1.tiny', user='admin')
        [own] = [name for name, free in self.free().items() if free == 0]
        source = next(h.name for h in exclusive_groups.HOSTS if h.name != own)
        stranger = self.boot_foreign_server(source)

        member.manager.migrate(member)
        stranger.manager.migrate(stranger)

        self.eventually(
            stranger.manager.get,
            lambda now: now.status == 'VERIFY_RESIZE',
            stranger,
        )
        self.eventually(
            self.outcome, lambda outcome: outcome == 'Error', member, 'migrate'
        )
        self.assertEqual('ACTIVE', member.manager.get(member).status)
        self.assertEqual(own, self.host_of(member))
        self.assert_hosts_full(own)

    def outcome(self, server, action):
        """Return the result of a server's action, None before its end."""
        actions = self.cloud.nova('admin').instance_action
        for each in actions.list(server):
            if each.action == action:
                events = actions.get(server, each.request_id).events
                return events[0]['result'] if events else None
        return None

    def test_what_if_is_exclusive_once_it_is_held(self):
        uuid = self.describe(
            exclusive_groups.ONE_RACK, user='admin', hold=False
        )['id']
        self.assertEqual(self.total_vcpus(), self.free())

        self.act(uuid, 'hold', user='admin')

        self.eventually(
            self.group, lambda now: now['status'] == 'HELD', uuid, 'admin'
        )
        self.assert_hosts_full()

    def test_hold_of_an_exclusive_what_if_needs_the_policy_rule(self):
        uuid = self.describe({'members': {'a': base.member()}}, hold=False)[
            'id'
        ]
        context = nova_context.get_admin_context()
        group = objects.VRTGroup.get(context, uuid)
        # Described while the tenant still had the right.
        db.create(
            context,
            models.Policy(
                group_id=group.id,
                at='',
                type='exclusive',
                definition={'type': 'exclusive', 'scope': 'host'},
            ),
        )

        refused = self.act(uuid, 'hold')
        held = self.act(uuid, 'hold', user='admin')

        self.assertEqual(403, refused.status_code, refused.text)
        self.assertIn('create:exclusive', refused.text)
        self.assertEqual(202, held.status_code, held.text)
        self.eventually(self.group, lambda now: now['status'] == 'HELD', uuid)
        self.assertEqual([0, 16, 16], sorted(self.free().values()))
