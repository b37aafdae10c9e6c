# SPDX-License-Identifier: Apache-2.0
"""Do servers that run already become members, if they may and no other way?"""

import fixtures
from nova import context as nova_context
from nova import objects as nova_objects
from nova.compute import api as compute_api
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.scheduler.protocol import release_holds
from tests.functional import base
from tests.later import adopting

ONE = {'members': {'a': base.member()}}
TWO = {'members': {'a': base.member(), 'b': base.member()}}


class TestAdopt(adopting.AdoptingTestCase):
    def test_a_group_is_formed_around_what_runs(self):
        servers = {
            'a-0': self.server_on('cmp-1'),
            'a-1': self.server_on('cmp-2'),
        }
        before = [self.used(each) for each in servers.values()]
        uuid = self.grouped(hold=False)

        group = self.adopt(uuid, servers)

        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'ACTIVE', 'a-2': 'HELD'},
            self.states(group),
        )
        self.assertEqual('HELD', group['status'])
        self.assertIsNone(group['revision'])
        planned = self.planned(uuid)
        self.assertEqual(['cmp-1', 'cmp-2'], [planned['a-0'], planned['a-1']])
        self.assertIn(planned['a-2'], ('cmp-3', 'cmp-4'))
        self.assertEqual(before, [self.used(s) for s in servers.values()])
        for path, server in servers.items():
            self.assertEqual(self.pointing(uuid, path), self.hints(server))
        self.assertEqual([], self.audit())

        self.check_moves(uuid, servers['a-0'], planned['a-2'])
        self.assertEqual('ACTIVE', self.attempt(uuid, 'a-2'))
        self.assertEqual('ACTIVE', self.group(uuid)['status'])

    def check_moves(self, uuid, server, held_on):
        """There is one host to which it may go, and it finds that."""
        [free_one] = {'cmp-3', 'cmp-4'} - {held_on}
        placeholder = self.cloud.fill(free_one, VCPU=8)
        self.empty_later(placeholder)

        self.assertEqual('Error', self.move('live_migrate', server)[0])
        self.assertEqual('cmp-1', self.host_of(server))

        self.cloud.placement.delete(f'/allocations/{placeholder}')
        self.assertEqual('Success', self.move('live_migrate', server)[0])
        self.assertEqual(free_one, self.host_of(server))
        self.follow()
        self.assertEqual(free_one, self.planned(uuid)['a-0'])

    def test_what_was_held_for_it_is_given_back(self):
        server = self.server()
        self.limited(instances=2)
        free = sum(self.free().values())
        uuid = self.grouped(TWO)
        self.assertEqual(free - 2, sum(self.free().values()))

        # Nova counts the server: it is not counted as a member too.
        self.limited(instances=1)
        group = self.adopt(uuid, {'b': server})

        self.assertEqual({'a': 'HELD', 'b': 'ACTIVE'}, self.states(group))
        self.assertEqual(free - 1, sum(self.free().values()))
        self.assertEqual(
            ['HELD', 'REDEEMED'],
            sorted(hold.status for hold in self.holds_of(uuid)),
        )
        # What was held for it is free for another.
        self.limited(instances=2)
        self.assertEqual('HELD', self.group(self.grouped(ONE))['status'])
        self.assertEqual(403, self.post(topology=ONE).status_code)

    def test_a_server_that_is_in_the_way_makes_room_for_others(self):
        """Where the member was held the other one has to be now."""
        zone = {'availability_zone': 'az1'}
        topology = {
            'members': {'a': base.member(**zone), 'b': base.member(**zone)},
            'policies': [{'type': 'affinity', 'scope': 'host'}],
        }
        uuid = self.grouped(topology)
        held_on = self.planned(uuid)['a']
        other = 'cmp-1' if held_on != 'cmp-1' else 'cmp-2'
        server = self.server_on(other, availability_zone='az1')

        self.adopt(uuid, {'b': server})

        self.assertEqual({'a': other, 'b': other}, self.planned(uuid))
        self.assertEqual([], self.audit())

    def test_what_breaks_a_strict_policy_is_refused_with_the_reason(self):
        servers = {
            'a-0': self.server_on('cmp-1'),
            'a-1': self.server_on('cmp-1'),
        }
        uuid = self.grouped(hold=False)

        group = self.adopt(uuid, servers)

        revision = group['revision']
        self.assertEqual('REFUSED', revision['status'])
        self.assertEqual('vrt.pinned', revision['refusal']['reason']['code'])
        self.assertIn(
            'vrt.anti-affinity',
            [each['code'] for each in revision['refusal']['conflict']],
        )
        self.assertEqual(
            {path: server.id for path, server in servers.items()},
            revision['servers'],
        )
        self.assertEqual('PLANNED', group['status'])
        self.assertEqual({'TENTATIVE'}, set(self.states(group).values()))
        for server in servers.values():
            self.assertEqual(adopting.OTHERS, self.hints(server))

    def test_a_server_that_is_deleted_meanwhile_is_not_adopted(self):
        server = self.server()
        uuid = self.grouped(hold=False)
        self.ask_to_adopt(uuid, {'a-0': server})
        self.remove(server)

        self.plan(self.draft_of(uuid))

        revision = self.group(uuid)['revision']
        self.assertEqual('UNDECIDED', revision['status'])
        self.assertIn('is deleted by now', revision['fault']['message'])

    def test_one_that_has_failed_gets_another_server(self):
        server = self.server()
        uuid = self.grouped(TWO)
        failed = self.bury(uuid, 'a')
        self.cloud.placement.delete(f'/allocations/{failed.id}')
        self.follow()
        self.assertEqual(
            {'a': 'FAILED', 'b': 'HELD'}, self.states(self.group(uuid))
        )

        group = self.adopt(uuid, {'a': server})

        [member, _other] = group['members']
        self.assertEqual(
            ('ACTIVE', server.id, None),
            (member['status'], member['server_id'], member['fault']),
        )
        self.remove(server)
        self.follow()
        self.assertEqual('RELEASED', self.states(self.group(uuid))['a'])

    # -- what comes in between, and planners that die ----------------------

    def test_of_two_groups_one_gets_the_server(self):
        server = self.server()
        uuids = [self.grouped(ONE, hold=False) for _group in range(2)]
        for uuid in uuids:
            self.ask_to_adopt(uuid, {'a': server})
        slow, fast = uuids
        drafts = [self.draft_of(uuid) for uuid in uuids]

        def trap(reached):
            if reached == 'before adopt.begin' and drafts[1:]:
                self.plan(drafts.pop())

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            self.plan(drafts[0])

        revision = self.group(slow)['revision']
        self.assertEqual('UNDECIDED', revision['status'])
        self.assertIn('member a of a VRT group', revision['fault']['message'])
        self.assertEqual('ACTIVE', self.group(fast)['status'])
        self.assertEqual(self.pointing(fast, 'a'), self.hints(server))
        self.assertEqual([], self.audit())

    def test_a_member_that_gets_a_server_meanwhile_keeps_that(self):
        server = self.server()
        uuid = self.grouped(ONE)
        self.ask_to_adopt(uuid, {'a': server})
        self.assertEqual('ACTIVE', self.attempt(uuid, 'a'))

        self.plan(self.draft_of(uuid))

        group = self.group(uuid)
        self.assertIn(
            'has got a server', group['revision']['fault']['message']
        )
        self.assertNotEqual(server.id, group['members'][0]['server_id'])
        self.assertEqual(adopting.OTHERS, self.hints(server))

    def test_who_moved_while_it_was_decided_is_where_it_is(self):
        servers = [self.server_on(host) for host in ('cmp-1', 'cmp-2')]
        uuid = self.grouped(hold=False)
        self.adopt(uuid, {'a-0': servers[0]})
        self.ask_to_adopt(uuid, {'a-1': servers[1]})
        [member, *_] = objects.VRTGroup.get(self.context, uuid).members
        moves = [
            objects.VRTMove(
                group_id=member.group_id,
                member_id=member.id,
                server_uuid=servers[0].id,
                host='cmp-1',
                node='cmp-1',
            )
        ]
        seen = []

        def trap(reached):
            if reached == 'before revise.commit':
                seen.append(reached)
                if moves:
                    moves.pop().create(self.context)

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            self.plan(self.draft_of(uuid))

        self.assertEqual(2, len(seen))
        self.assertEqual('ACTIVE', self.states(self.group(uuid))['a-1'])

    def test_nobody_is_put_where_a_server_is_going(self):
        server = self.server_on('cmp-1')
        uuid = self.grouped(hold=False)
        self.adopt(uuid, {'a-0': server})
        [last] = {host.name for host in self.HOSTS} - {
            *self.planned(uuid).values()
        }
        [member, *_] = objects.VRTGroup.get(self.context, uuid).members
        move = objects.VRTMove(
            group_id=member.group_id,
            member_id=member.id,
            server_uuid=server.id,
            host=last,
            node=last,
        )
        move.create(self.context)
        four = {**adopting.APART, 'members': {'a': base.member(count=4)}}

        for is_over in (False, True):
            if is_over:
                objects.VRTMove.forget(self.context, [move])
            self.assertEqual(202, self.put(uuid, four).status_code)
            self.plan(self.draft_of(uuid))
            revision = self.group(uuid)['revision']
            if not is_over:
                self.assertEqual('UNDECIDED', revision['status'])
                self.assertIn(
                    'Member a-0 is moving', revision['fault']['message']
                )

        self.assertIsNone(revision)
        self.assertEqual(last, self.planned(uuid)['a-3'])

    def test_hints_that_were_lost_come_back(self):
        """Nova has stored what it had read before they were changed."""
        self.patch(release_holds, 'REQUEST_LIFETIME', 120)
        server = self.server()
        uuid = self.grouped(ONE)
        stale = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )
        self.adopt(uuid, {'a': server})
        stale.ignore_hosts = None
        stale.save()
        self.assertEqual(adopting.OTHERS, self.hints(server))

        self.reap()

        self.assertEqual(self.pointing(uuid, 'a'), self.hints(server))
        # Who waits for that does not keep a group from being forgotten.
        self.delete_group(uuid)
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))


class TestChecks(adopting.AdoptingTestCase):
    def assertNotAdopted(self, code, reason, uuid, path, server):
        response = self.ask_to_adopt(uuid, {path: server})
        self.assertRefused(code, reason, response)

    def set(self, server, **values):
        """Let the cell say something else of a server."""
        mapping = nova_objects.InstanceMapping.get_by_instance_uuid(
            self.context, server.id
        )
        with nova_context.target_cell(
            self.context, mapping.cell_mapping
        ) as in_cell:
            instance = nova_objects.Instance.get_by_uuid(in_cell, server.id)
            instance.update(values)
            instance.save()

    def test_only_what_rests_is_adopted(self):
        uuid = self.grouped(ONE, hold=False)
        server = self.server()
        for values, reason in (
            ({'vm_state': 'building'}, 'wait until it is built'),
            ({'vm_state': 'resized'}, 'confirm or revert'),
            ({'vm_state': 'shelved_offloaded'}, 'unshelve it first'),
            ({'vm_state': 'error'}, 'mend it'),
            ({'task_state': 'migrating'}, 'it is migrating; wait'),
        ):
            self.set(server, **values)
            self.assertNotAdopted(409, reason, uuid, 'a', server)
            self.set(server, vm_state='active', task_state=None)

        self.ask_to_adopt(uuid, {'a': server})
        self.set(server, task_state='migrating')
        self.plan(self.draft_of(uuid))
        self.assertIn(
            'moving', self.group(uuid)['revision']['fault']['message']
        )

        self.set(server, vm_state='stopped', task_state=None)
        group = self.adopt(uuid, {'a': server})
        self.assertEqual({'a': 'ACTIVE'}, self.states(group))
        self.set(server, vm_state='active')

    def test_it_has_to_be_what_was_described(self):
        zone = {'availability_zone': 'az1'}
        uuid = self.grouped(
            {
                'members': {
                    'small': base.member(),
                    'large': base.member('m1.large'),
                    'zoned': base.member(**zone),
                    'volume': {'flavor': 'm1.tiny', 'boot_from_volume': True},
                }
            },
            hold=False,
        )
        server = self.server()
        zoned = self.server(**zone)

        for path, reason in (
            ('large', 'its flavor is'),
            ('zoned', 'its availability zone is not given instead of az1'),
            ('volume', 'its boot source is an image instead of a volume'),
        ):
            self.assertNotAdopted(409, reason, uuid, path, server)
        self.set(server, image_ref=uuidutils.generate_uuid())
        self.assertNotAdopted(409, 'its image is', uuid, 'small', server)

        group = self.adopt(uuid, {'zoned': zoned})
        self.assertEqual('ACTIVE', self.states(group)['zoned'])

    def test_what_is_not_there_is_not_found(self):
        uuid = self.grouped(ONE, hold=False)
        server = self.server()
        foreign = self.boot('m1.tiny', user='admin')

        self.assertNotAdopted(404, 'no member b', uuid, 'b', server)
        self.assertNotAdopted(404, foreign.id, uuid, 'a', foreign)
        for name in (uuidutils.generate_uuid(), 'server'):
            response = self.act(uuid, 'adopt', {'servers': {'a': name}})
            self.assertRefused(404, f'Server {name}', response)
        self.change_row(uuid, status='RELEASED')
        self.assertNotAdopted(409, 'replan it', uuid, 'a', server)
        self.api().delete(f'{base.GROUPS}/{uuid}')
        self.assertNotAdopted(404, uuid, uuid, 'a', server)

    def test_what_is_to_be_alone_adopts_nothing(self):
        alone = {**ONE, 'policies': [{'type': 'exclusive', 'scope': 'host'}]}
        described = self.post('admin', topology=alone, hold=False).json()
        uuid = described['vrt_group']['id']
        self.plan(uuid)
        server = self.boot('m1.tiny', user='admin')

        response = self.act(
            uuid, 'adopt', {'servers': {'a': server.id}}, 'admin'
        )

        self.assertRefused(400, '$.adopt.servers: cannot be', response)

    def test_a_server_is_called_as_nova_calls_it(self):
        """Some databases find it in capital letters too."""
        get = compute_api.API.get

        def find(known, context, server_uuid, **kwargs):
            return get(known, context, server_uuid.lower(), **kwargs)

        self.patch(compute_api.API, 'get', find)
        uuid = self.grouped(TWO, hold=False)
        server = self.server().id

        both = {'servers': {'a': server, 'b': server.upper()}}
        self.assertRefused(
            400, 'is the server of "a" too', self.act(uuid, 'adopt', both)
        )

        one = {'servers': {'a': server.upper()}}
        self.assertEqual(202, self.act(uuid, 'adopt', one).status_code)
        self.plan(self.draft_of(uuid))
        self.assertEqual('ACTIVE', self.states(self.group(uuid))['a'])

    def test_nothing_is_adopted_twice(self):
        uuid, other = self.grouped(TWO), self.grouped(ONE)
        server, another = self.server(), self.server()

        both = self.ask_to_adopt(other, {'a': another, 'b': another})
        self.assertRefused(404, 'no member b', both)
        both = self.ask_to_adopt(uuid, {'a': another, 'b': another})
        self.assertRefused(400, 'is the server of "a" too', both)
        self.adopt(uuid, {'a': server})
        self.assertNotAdopted(409, f'of VRT group {uuid}', other, 'a', server)
        self.assertNotAdopted(409, '(--keep-server)', other, 'a', server)
        self.assertNotAdopted(409, 'it is member a', uuid, 'b', server)
        self.assertNotAdopted(409, 'is there already', uuid, 'a', another)

        self.delete_group(uuid)
        group = self.adopt(other, {'a': server})
        self.assertEqual({'a': 'ACTIVE'}, self.states(group))
        self.assertEqual(self.pointing(other, 'a'), self.hints(server))


class TestDying(adopting.AdoptingTestCase):
    """A planner dies while it adopts a server."""

    POINTS = ('after adopt.begin', 'after revise.commit')

    def test_it_is_adopted_or_not_wherever_the_planner_dies(self):
        server = self.server()
        before = self.used(server)
        for point in self.POINTS:
            uuid = self.grouped(TWO)
            self.ask_to_adopt(uuid, {'a': server})
            draft = self.draft_of(uuid)

            self.die_at(point, draft)

            is_new = point == 'after revise.commit'
            self.assertEqual(
                {'a': 'ACTIVE' if is_new else 'HELD', 'b': 'HELD'},
                self.states(self.group(uuid)),
                point,
            )
            if not is_new:
                self.plan(draft)
            self.reap()
            self.assertEqual(
                {'a': 'ACTIVE', 'b': 'HELD'},
                self.states(self.group(uuid)),
                point,
            )
            self.assertEqual(self.pointing(uuid, 'a'), self.hints(server))
            self.assertEqual(before, self.used(server), point)
            self.assertEqual([], self.audit(), point)
            self.delete_group(uuid)
            self.assertEqual(
                [], objects.VRTGroup.list_releasing(self.context), point
            )
