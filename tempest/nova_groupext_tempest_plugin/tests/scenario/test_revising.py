# SPDX-License-Identifier: Apache-2.0
"""Scenarios of revising groups, and of adding and removing members."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import servers


class RevisingTest(servers.BaseServerTest):
    def revise(self, group_id, topology, **more):
        """Revise a group, wait for the decision, and return the group."""
        generation = self.group(group_id)['generation']
        self.groups.update_group(
            group_id, generation=generation, topology=topology, **more
        )
        return waiters.wait_for_decision(self.groups, group_id)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c901')
    def test_revision_keeps_servers_and_holds_new_members(self):
        group = self.hold(
            topologies.equal_members(2, [topologies.HOST_ANTI_AFFINITY])
        )
        server = self.create_member(group, 'a-0')
        started = waiters.wait_for_members(
            self.groups, group['id'], {'a-0': 'ACTIVE'}
        )

        larger = topologies.equal_members(3, [topologies.HOST_ANTI_AFFINITY])
        revised = self.revise(group['id'], larger, name='revised')

        self.assertIsNone(revised['revision'])
        self.assertEqual(larger, revised['topology'])
        self.assertEqual('revised', revised['name'])
        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'HELD', 'a-2': 'HELD'},
            waiters.member_statuses(revised),
        )
        self.assertEqual(started['members'][0], revised['members'][0])
        self.assertEqual(server, revised['members'][0]['server_id'])
        hosts = {m['domains']['host'] for m in revised['members']}
        self.assertEqual(3, len(hosts))

    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c902')
    def test_refused_revision_changes_nothing(self):
        group = self.hold(topologies.equal_members(2))

        refused = self.revise(group['id'], topologies.impossible('sub'))

        revision = refused['revision']
        self.assertEqual('REFUSED', revision['status'])
        self.assertTrue(revision['refusal']['relaxations'])
        self.assertEqual(topologies.impossible('sub'), revision['topology'])
        for name in (
            *('status', 'generation', 'topology', 'members', 'expires_at'),
        ):
            self.assertEqual(group[name], refused[name])

    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c903')
    def test_server_counts_before_a_hold(self):
        group = self.hold(topologies.equal_members(2))
        self.create_member(group, 'a-1')
        waiters.wait_for_members(self.groups, group['id'], {'a-1': 'ACTIVE'})

        smaller = self.revise(group['id'], topologies.equal_members(1))

        self.assertEqual({'a-1': 'ACTIVE'}, waiters.member_statuses(smaller))

    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c908')
    def test_server_too_many_is_let_go_with_keep_server(self):
        group = self.hold(topologies.equal_members(2))
        servers = self.create_members(group)

        left = self.revise(
            group['id'], topologies.equal_members(1), keep_server=True
        )

        self.assertEqual({'a-0': 'ACTIVE'}, waiters.member_statuses(left))
        shown = self.servers.show_server(servers['a-1'])['server']
        self.assertEqual('ACTIVE', shown['status'])

    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c906')
    def test_servers_beyond_a_smaller_count_leave(self):
        group = self.hold(topologies.equal_members(2))
        servers = self.create_members(group)

        smaller = self.revise(group['id'], topologies.equal_members(1))
        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'LEAVING'},
            waiters.member_statuses(smaller),
        )
        self.remove_server(servers['a-0'])

        waiters.wait_for_members(self.groups, group['id'], {'a-1': 'ACTIVE'})


class GrowingTest(servers.BaseServerTest):
    @decorators.attr(type='smoke')
    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c907')
    def test_create_beyond_count_grows_the_group_up_to_max_count(self):
        group = self.hold(topologies.equal_members(1, max_count=2))

        for _server in range(2):
            self.create_member(group, 'a')

        grown = waiters.wait_for_members(
            self.groups, group['id'], {'a-0': 'ACTIVE', 'a-1': 'ACTIVE'}
        )
        self.assertEqual(
            [False, True], [member['grown'] for member in grown['members']]
        )
        self.assertRaises(lib_exc.Forbidden, self.create_member, group, 'a')


class MembersTest(servers.BaseServerTest):
    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c904')
    def test_members_are_added_and_removed_one_by_one(self):
        group_id = self.hold(topologies.nested())['id']
        first = {'a': 'HELD', 'sub/b-0': 'HELD'}

        self.groups.add_member(group_id, path='sub/c', **topologies.member())
        self.assertEqual(
            {**first, 'sub/c': 'HELD'}, self.wait_for_statuses(group_id)
        )
        self.groups.add_member(group_id, path='sub/b', count=2)
        self.assertEqual(
            {
                **first,
                'sub/b-1': 'HELD',
                'sub/b-2': 'HELD',
                'sub/c': 'HELD',
            },
            self.wait_for_statuses(group_id),
        )
        for path in ('sub/b-2', 'sub/b-1', 'sub/c'):
            self.groups.remove_member(group_id, path)
            left = self.wait_for_statuses(group_id)
            self.assertNotIn(path, left)
        self.assertEqual(first, left)

    def wait_for_statuses(self, group_id):
        """Wait for the decision, and return {member path: status}."""
        group = waiters.wait_for_decision(self.groups, group_id)
        return waiters.member_statuses(group)

    @decorators.idempotent_id('4f8ea0c3-6c97-4bad-8125-7fc2a4b0c905')
    def test_member_is_removed_and_its_server_kept(self):
        group = self.hold(topologies.nested())
        server = self.create_member(group, 'a')
        waiters.wait_for_members(self.groups, group['id'], {'a': 'ACTIVE'})

        self.assertRaises(
            lib_exc.Conflict,
            self.groups.remove_member,
            group['id'],
            'a',
        )
        self.groups.remove_member(group['id'], 'a', keep_server=True)

        self.assertEqual(
            {'sub/b-0': 'HELD'}, self.wait_for_statuses(group['id'])
        )
        shown = self.servers.show_server(server)['server']
        self.assertEqual('ACTIVE', shown['status'])
