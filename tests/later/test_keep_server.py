# SPDX-License-Identifier: Apache-2.0
"""Removal of members whose servers are kept."""

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from tests.functional import base
from tests.later import adopting


class TestKeepServer(adopting.AdoptingTestCase):
    def setUp(self):
        super().setUp()
        self.uuid = self.plan_group()
        self.servers = {
            path: self.redeem(self.uuid, path, 'm1.tiny')
            for path in ('a-0', 'a-2')
        }

    def redeem(self, uuid, path, flavor, **kwargs):
        hints = {name: value for name, [value] in adopting.OTHERS.items()}
        hints |= base.member_hints(uuid, path)
        return self.boot(flavor, scheduler_hints=hints, **kwargs)

    def remove_member(self, path, keep_server):
        return self.api().delete(
            f'{base.GROUPS}/{self.uuid}/members/{path}',
            params={'keep_server': keep_server},
        )

    def leave(self, path='a-2'):
        """Remove a member and keep its server."""
        response = self.remove_member(path, 'true')
        self.assertEqual(202, response.status_code, response.text)
        self.plan(self.draft_of(self.uuid))

    def test_kept_server_runs_and_moves_without_its_member(self):
        server = self.servers['a-2']
        before = self.server_allocations(server), sum(self.free().values())
        home = self.host_of(server)
        self.leave()

        group = self.group(self.uuid)
        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'HELD'}, self.member_statuses(group)
        )
        self.assertEqual(home, self.host_of(server))
        self.assertEqual(
            before,
            (self.server_allocations(server), sum(self.free().values())),
        )
        self.assertEqual(adopting.OTHERS, self.stored_hints(server))
        self.assertEqual(
            ['HELD', 'REDEEMED'],
            sorted(hold.status for hold in self.holds_of(self.uuid)),
        )
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))
        self.assertEqual([], self.audit())
        self.check_moves(server)

    def check_moves(self, server):
        """Expect that the server moves freely, and members keep apart."""
        home = self.host_of(server)
        planned = self.planned_hosts(self.uuid)
        for host in ('cmp-1', 'cmp-2', 'cmp-3', 'cmp-4'):
            if host not in planned.values():
                self.fill(host, VCPU=self.free()[host])
        self.assertEqual('Success', self.move('live_migrate', server)[0])
        self.assertIn(self.host_of(server), planned.values())
        self.fill(home, VCPU=1)
        staying = self.servers['a-0']
        self.assertEqual('Error', self.move('live_migrate', staying)[0])
        self.follow()
        self.assertEqual([], self.group(self.uuid)['drift'])

    def test_revision_with_keep_server_removes_members_of_servers(self):
        topology = {**adopting.APART, 'members': {'a': base.member(count=1)}}

        refused = self.remove_member('a-2', 'false')
        self.assertRefused(
            409, 'a-2 is ACTIVE: members with servers cannot', refused
        )
        self.assertIn('keep_server (--keep-server)', refused.text)
        self.assertRefused(
            400, 'keep_server', self.remove_member('a-2', 'perhaps')
        )
        self.set_last('REDEEMING')
        self.assertRefused(
            409,
            'is being created; retry',
            self.put(self.uuid, topology, keep_server=True),
        )
        self.set_last('ACTIVE')
        self.assertEqual(
            202,
            self.put(self.uuid, topology, keep_server=True).status_code,
        )
        self.plan(self.draft_of(self.uuid))

        self.assertEqual({'a-0'}, set(self.planned_hosts(self.uuid)))
        self.assertEqual(
            adopting.OTHERS, self.stored_hints(self.servers['a-2'])
        )
        self.check_return(self.servers['a-2'])

    def check_return(self, server):
        """Expect that the group can adopt the server that has left it."""
        added = self.api().post(
            f'{base.GROUPS}/{self.uuid}/members',
            json={'member': {'path': 'a', 'count': 1}},
        )
        self.assertEqual(202, added.status_code, added.text)
        self.plan(self.draft_of(self.uuid))
        group = self.adopt(self.uuid, {'a-1': server})
        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'ACTIVE'}, self.member_statuses(group)
        )
        self.assertEqual(
            self.adopted_hints(self.uuid, 'a-1'), self.stored_hints(server)
        )

    def set_last(self, status):
        """Set the status of the last member."""
        [*_others, last] = objects.VRTGroup.get(
            self.context, self.uuid
        ).members
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.id == last.id,
            status=status,
        )

    def test_member_is_removed_while_its_kept_server_moves(self):
        server = self.servers['a-2']
        self.cloud.nova('admin').servers.migrate(server)
        self.assertEqual('Success', self.wait_for_action(server))

        self.remove_member('a-2', 'true')
        self.kill_at('after revise.commit', self.draft_of(self.uuid))

        # The target of its move does not bind the other members.
        other = self.servers['a-0']
        self.assertEqual('Success', self.move('live_migrate', other)[0])
        self.wait_until_idle(server).confirm_resize()
        self.eventually(
            self.wait_until_idle, lambda now: now.status == 'ACTIVE', server
        )
        self.assertEqual('Success', self.move('migrate', server)[0])
        self.reap()
        self.assertEqual({'a-0', 'a-1'}, set(self.planned_hosts(self.uuid)))

    def test_death_at_any_point_removes_the_member_or_keeps_it(self):
        server = self.servers['a-2']
        for point in ('before revise.commit', 'after revise.commit'):
            self.assertEqual(
                202, self.remove_member('a-2', '1').status_code, point
            )
            draft = self.draft_of(self.uuid)
            self.kill_at(point, draft)
            has_left = point.startswith('after')
            self.assertEqual(
                has_left, 'a-2' not in self.planned_hosts(self.uuid), point
            )
            # Until the reaper removes the hints they have no effect.
            self.assertIn('vrt_group', self.stored_hints(server), point)
            if has_left:
                self.assertEqual('Success', self.move('migrate', server)[0])
            self.planner.reap(self.context)
            if not has_left:
                self.change_row(draft, status='UNDECIDED')
        self.reap()

        self.assertEqual(adopting.OTHERS, self.stored_hints(server))
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))
