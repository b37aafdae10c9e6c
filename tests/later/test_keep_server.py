# SPDX-License-Identifier: Apache-2.0
"""Does a server that leaves its group run on, and move as it likes?"""

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from tests.functional import base
from tests.later import adopting


class TestKeepServer(adopting.AdoptingTestCase):
    def setUp(self):
        super().setUp()
        self.uuid = self.grouped()
        self.servers = {
            path: self.redeem(self.uuid, path, 'm1.tiny')
            for path in ('a-0', 'a-2')
        }

    def redeem(self, uuid, path, flavor, **kwargs):
        hints = {name: value for name, [value] in adopting.OTHERS.items()}
        hints |= base.pointer(uuid, path)
        return self.boot(flavor, scheduler_hints=hints, **kwargs)

    def remove_member(self, path, keep_server):
        return self.api().delete(
            f'{base.GROUPS}/{self.uuid}/members/{path}',
            params={'keep_server': keep_server},
        )

    def leave(self, path='a-2'):
        """Let a member be removed, and its server stay."""
        response = self.remove_member(path, 'true')
        self.assertEqual(202, response.status_code, response.text)
        self.plan(self.draft_of(self.uuid))

    def test_it_runs_on_without_its_member(self):
        server = self.servers['a-2']
        before = self.used(server), sum(self.free().values())
        home = self.host_of(server)
        self.leave()

        group = self.group(self.uuid)
        self.assertEqual({'a-0': 'ACTIVE', 'a-1': 'HELD'}, self.states(group))
        self.assertEqual(home, self.host_of(server))
        self.assertEqual(
            before, (self.used(server), sum(self.free().values()))
        )
        self.assertEqual(adopting.OTHERS, self.hints(server))
        self.assertEqual(
            ['HELD', 'REDEEMED'],
            sorted(hold.status for hold in self.holds_of(self.uuid)),
        )
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))
        self.assertEqual([], self.audit())
        self.check_moves(server)

    def check_moves(self, server):
        """It goes to where the others are, and these still keep apart."""
        home = self.host_of(server)
        planned = self.planned(self.uuid)
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

    def test_a_revision_of_the_whole_may_leave_servers_out(self):
        topology = {**adopting.APART, 'members': {'a': base.member(count=2)}}

        for refused in (
            self.put(self.uuid, topology, keep_server=False),
            self.remove_member('a-2', 'false'),
        ):
            self.assertRefused(409, 'Member a-2 is ACTIVE: delete', refused)
            self.assertIn('keep_server (--keep-server)', refused.text)
        self.assertRefused(
            409,
            'Members a-0, a-2 are ACTIVE: delete',
            self.put(self.uuid, {'members': {'b': base.member()}}),
        )
        self.assertRefused(
            400, 'keep_server', self.remove_member('a-2', 'perhaps')
        )
        self.set_last('REDEEMING')
        self.assertRefused(
            409,
            'is being created; wait',
            self.put(self.uuid, topology, keep_server=True),
        )
        self.set_last('ACTIVE')
        self.assertEqual(
            202,
            self.put(self.uuid, topology, keep_server=True).status_code,
        )
        self.plan(self.draft_of(self.uuid))

        self.assertEqual({'a-0', 'a-1'}, set(self.planned(self.uuid)))
        self.assertEqual(adopting.OTHERS, self.hints(self.servers['a-2']))
        self.check_return(self.servers['a-2'])

    def check_return(self, server):
        """It is adopted by the group that it has left."""
        added = self.api().post(
            f'{base.GROUPS}/{self.uuid}/members',
            json={'member': {'path': 'a', 'count': 1}},
        )
        self.assertEqual(202, added.status_code, added.text)
        self.plan(self.draft_of(self.uuid))
        group = self.adopt(self.uuid, {'a-2': server})
        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'HELD', 'a-2': 'ACTIVE'},
            self.states(group),
        )
        self.assertEqual(self.pointing(self.uuid, 'a-2'), self.hints(server))

    def set_last(self, status):
        """Bring the last member to a status."""
        [*_others, last] = objects.VRTGroup.get(
            self.context, self.uuid
        ).members
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.id == last.id,
            status=status,
        )

    def test_it_leaves_while_it_moves(self):
        server = self.servers['a-2']
        self.cloud.nova('admin').servers.migrate(server)
        self.assertEqual('Success', self.ended(server))

        self.remove_member('a-2', 'true')
        self.die_at('after revise.commit', self.draft_of(self.uuid))

        # Where it goes is no concern of the others.
        other = self.servers['a-0']
        self.assertEqual('Success', self.move('live_migrate', other)[0])
        self.settled(server).confirm_resize()
        self.eventually(
            self.settled, lambda now: now.status == 'ACTIVE', server
        )
        self.assertEqual('Success', self.move('migrate', server)[0])
        self.reap()
        self.assertEqual({'a-0', 'a-1'}, set(self.planned(self.uuid)))

    def test_it_leaves_or_stays_wherever_the_planner_dies(self):
        server = self.servers['a-2']
        for point in ('before revise.commit', 'after revise.commit'):
            self.assertEqual(
                202, self.remove_member('a-2', '1').status_code, point
            )
            draft = self.draft_of(self.uuid)
            self.die_at(point, draft)
            has_left = point.startswith('after')
            self.assertEqual(
                has_left, 'a-2' not in self.planned(self.uuid), point
            )
            # Until its hints are gone as well they mean nothing.
            self.assertIn('vrt_group', self.hints(server), point)
            if has_left:
                self.assertEqual('Success', self.move('migrate', server)[0])
            self.planner.reap(self.context)
            if not has_left:
                self.change_row(draft, status='UNDECIDED')
        self.reap()

        self.assertEqual(adopting.OTHERS, self.hints(server))
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))
