# SPDX-License-Identifier: Apache-2.0
"""Adoption of running servers, and its refusals."""

import fixtures
from nova import context as nova_context
from nova import objects as nova_objects
from nova.compute import api as compute_api
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.scheduler.protocol import release_holds
from tests.functional import base
from tests.functional import foreign_consumers
from tests.later import adopting

ONE = {'members': {'a': base.member()}}
TWO = {'members': {'a': base.member(), 'b': base.member()}}


class TestAdopt(adopting.AdoptingTestCase):
    def test_servers_are_adopted_and_the_rest_is_planned_around_them(self):
        servers = {
            'a-0': self.create_foreign_server_on('cmp-1'),
            'a-1': self.create_foreign_server_on('cmp-2'),
        }
        before = [self.server_allocations(each) for each in servers.values()]
        uuid = self.plan_group(hold=False)

        group = self.adopt(uuid, servers)

        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'ACTIVE', 'a-2': 'HELD'},
            self.member_statuses(group),
        )
        self.assertEqual('HELD', group['status'])
        self.assertIsNone(group['revision'])
        planned = self.planned_hosts(uuid)
        self.assertEqual(['cmp-1', 'cmp-2'], [planned['a-0'], planned['a-1']])
        self.assertIn(planned['a-2'], ('cmp-3', 'cmp-4'))
        self.assertEqual(
            before, [self.server_allocations(s) for s in servers.values()]
        )
        for path, server in servers.items():
            self.assertEqual(
                self.adopted_hints(uuid, path), self.stored_hints(server)
            )
        self.assertEqual([], self.audit())

        self.check_moves(uuid, servers['a-0'], planned['a-2'])
        self.assertEqual('ACTIVE', self.try_redeem(uuid, 'a-2'))
        self.assertEqual('ACTIVE', self.group(uuid)['status'])

    def check_moves(self, uuid, server, held_on):
        """Expect that the server can only move to one free host."""
        [free_one] = {'cmp-3', 'cmp-4'} - {held_on}
        placeholder = foreign_consumers.fill(self.cloud, free_one, VCPU=8)
        self.delete_allocations_later(placeholder)

        self.assertEqual('Error', self.move('live_migrate', server)[0])
        self.assertEqual('cmp-1', self.host_of(server))

        self.cloud.placement.delete(f'/allocations/{placeholder}')
        self.assertEqual('Success', self.move('live_migrate', server)[0])
        self.assertEqual(free_one, self.host_of(server))
        self.follow()
        self.assertEqual(free_one, self.planned_hosts(uuid)['a-0'])

    def test_hold_of_the_adopting_member_is_released(self):
        server = self.create_foreign_server()
        self.set_quota_above_usage(instances=2)
        free = sum(self.free().values())
        uuid = self.plan_group(TWO)
        self.assertEqual(free - 2, sum(self.free().values()))

        # Nova counts the server: it is not counted as a member too.
        self.set_quota_above_usage(instances=1)
        group = self.adopt(uuid, {'b': server})

        self.assertEqual(
            {'a': 'HELD', 'b': 'ACTIVE'}, self.member_statuses(group)
        )
        self.assertEqual(free - 1, sum(self.free().values()))
        self.assertEqual(
            ['HELD', 'REDEEMED'],
            sorted(hold.status for hold in self.holds_of(uuid)),
        )
        # The capacity of the member's hold is free for another group.
        self.set_quota_above_usage(instances=2)
        self.assertEqual('HELD', self.group(self.plan_group(ONE))['status'])
        self.assertEqual(403, self.post(topology=ONE).status_code)

    def test_held_member_follows_an_adopted_server_by_affinity(self):
        """The other member has to move to the host of the server."""
        zone = {'availability_zone': 'az1'}
        topology = {
            'members': {'a': base.member(**zone), 'b': base.member(**zone)},
            'policies': [{'type': 'affinity', 'scope': 'host'}],
        }
        uuid = self.plan_group(topology)
        held_on = self.planned_hosts(uuid)['a']
        other = 'cmp-1' if held_on != 'cmp-1' else 'cmp-2'
        server = self.create_foreign_server_on(other, availability_zone='az1')

        self.adopt(uuid, {'b': server})

        self.assertEqual({'a': other, 'b': other}, self.planned_hosts(uuid))
        self.assertEqual([], self.audit())

    def test_adoption_that_breaks_a_strict_policy_is_refused(self):
        servers = {
            'a-0': self.create_foreign_server_on('cmp-1'),
            'a-1': self.create_foreign_server_on('cmp-1'),
        }
        uuid = self.plan_group(hold=False)

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
        self.assertEqual(
            {'TENTATIVE'}, set(self.member_statuses(group).values())
        )
        for server in servers.values():
            self.assertEqual(adopting.OTHERS, self.stored_hints(server))

    def test_adoption_of_a_concurrently_deleted_server_is_undecided(self):
        server = self.create_foreign_server()
        uuid = self.plan_group(hold=False)
        self.request_adoption(uuid, {'a-0': server})
        self.delete_servers(server)

        self.plan(self.draft_of(uuid))

        revision = self.group(uuid)['revision']
        self.assertEqual('UNDECIDED', revision['status'])
        self.assertIn('is now deleted', revision['fault']['message'])

    def test_failed_member_adopts_a_server(self):
        server = self.create_foreign_server()
        uuid = self.plan_group(TWO)
        failed = self.fail_build(uuid, 'a')
        self.cloud.placement.delete(f'/allocations/{failed.id}')
        self.follow()
        self.assertEqual(
            {'a': 'FAILED', 'b': 'HELD'},
            self.member_statuses(self.group(uuid)),
        )

        group = self.adopt(uuid, {'a': server})

        [member, _other] = group['members']
        self.assertEqual(
            ('ACTIVE', server.id, None),
            (member['status'], member['server_id'], member['fault']),
        )
        self.delete_servers(server)
        self.follow()
        self.assertEqual(
            'TENTATIVE', self.member_statuses(self.group(uuid))['a']
        )

    # -- what comes in between, and planners that die ----------------------

    def test_second_group_that_adopts_a_server_is_undecided(self):
        server = self.create_foreign_server()
        uuids = [self.plan_group(ONE, hold=False) for _group in range(2)]
        for uuid in uuids:
            self.request_adoption(uuid, {'a': server})
        slow, fast = uuids
        drafts = [self.draft_of(uuid) for uuid in uuids]

        def handler(reached):
            if reached == 'before adopt.begin' and drafts[1:]:
                self.plan(drafts.pop())

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            self.plan(drafts[0])

        revision = self.group(slow)['revision']
        self.assertEqual('UNDECIDED', revision['status'])
        self.assertIn('member a of a VRT group', revision['fault']['message'])
        self.assertEqual('ACTIVE', self.group(fast)['status'])
        self.assertEqual(
            self.adopted_hints(fast, 'a'), self.stored_hints(server)
        )
        self.assertEqual([], self.audit())

    def test_concurrently_redeemed_member_keeps_its_server(self):
        server = self.create_foreign_server()
        uuid = self.plan_group(ONE)
        self.request_adoption(uuid, {'a': server})
        self.assertEqual('ACTIVE', self.try_redeem(uuid, 'a'))

        self.plan(self.draft_of(uuid))

        group = self.group(uuid)
        self.assertIn(
            'it got a server meanwhile', group['revision']['fault']['message']
        )
        self.assertNotEqual(server.id, group['members'][0]['server_id'])
        self.assertEqual(adopting.OTHERS, self.stored_hints(server))

    def test_adoption_during_a_move_of_another_member_is_retried(self):
        servers = [
            self.create_foreign_server_on(host) for host in ('cmp-1', 'cmp-2')
        ]
        uuid = self.plan_group(hold=False)
        self.adopt(uuid, {'a-0': servers[0]})
        self.request_adoption(uuid, {'a-1': servers[1]})
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

        def handler(reached):
            if reached == 'before revise.commit':
                seen.append(reached)
                if moves:
                    moves.pop().create(self.context)

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            self.plan(self.draft_of(uuid))

        self.assertEqual(2, len(seen))
        self.assertEqual(
            'ACTIVE', self.member_statuses(self.group(uuid))['a-1']
        )

    def test_target_host_of_a_move_is_not_planned_for_other_members(self):
        server = self.create_foreign_server_on('cmp-1')
        uuid = self.plan_group(hold=False)
        self.adopt(uuid, {'a-0': server})
        [last] = {host.name for host in self.HOSTS} - {
            *self.planned_hosts(uuid).values()
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
                objects.VRTMove.delete_all(self.context, [move])
            self.assertEqual(202, self.put(uuid, four).status_code)
            self.plan(self.draft_of(uuid))
            revision = self.group(uuid)['revision']
            if not is_over:
                self.assertEqual('UNDECIDED', revision['status'])
                self.assertIn(
                    'Member a-0 is moving', revision['fault']['message']
                )

        self.assertIsNone(revision)
        self.assertEqual(last, self.planned_hosts(uuid)['a-3'])

    def test_overwritten_hints_are_restored(self):
        """Nova has overwritten the hints with those it had read before."""
        self.patch(release_holds, 'REQUEST_LIFETIME', 120)
        server = self.create_foreign_server()
        uuid = self.plan_group(ONE)
        stale = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )
        self.adopt(uuid, {'a': server})
        stale.ignore_hosts = None
        stale.save()
        self.assertEqual(adopting.OTHERS, self.stored_hints(server))

        self.reap()

        self.assertEqual(
            self.adopted_hints(uuid, 'a'), self.stored_hints(server)
        )
        # A pending check of hints does not delay the purge of the group.
        self.delete_group(uuid)
        self.assertEqual([], objects.VRTGroup.list_releasing(self.context))


class TestChecks(adopting.AdoptingTestCase):
    def assertNotAdopted(self, code, reason, uuid, path, server):
        response = self.request_adoption(uuid, {path: server})
        self.assertRefused(code, reason, response)

    def set(self, server, **values):
        """Change attributes of a server in its cell."""
        mapping = nova_objects.InstanceMapping.get_by_instance_uuid(
            self.context, server.id
        )
        with nova_context.target_cell(
            self.context, mapping.cell_mapping
        ) as in_cell:
            instance = nova_objects.Instance.get_by_uuid(in_cell, server.id)
            instance.update(values)
            instance.save()

    def test_only_a_server_without_a_task_is_adopted(self):
        uuid = self.plan_group(ONE, hold=False)
        server = self.create_foreign_server()
        for values, reason in (
            ({'vm_state': 'building'}, 'wait until it is built'),
            ({'vm_state': 'resized'}, 'confirm or revert'),
            ({'vm_state': 'shelved_offloaded'}, 'unshelve it first'),
            ({'vm_state': 'error'}, 'repair or replace it'),
            (
                {'task_state': 'migrating'},
                'its task state is migrating; retry',
            ),
        ):
            self.set(server, **values)
            self.assertNotAdopted(409, reason, uuid, 'a', server)
            self.set(server, vm_state='active', task_state=None)

        self.request_adoption(uuid, {'a': server})
        self.set(server, task_state='migrating')
        self.plan(self.draft_of(uuid))
        self.assertIn(
            'moving', self.group(uuid)['revision']['fault']['message']
        )

        self.set(server, vm_state='stopped', task_state=None)
        group = self.adopt(uuid, {'a': server})
        self.assertEqual({'a': 'ACTIVE'}, self.member_statuses(group))
        self.set(server, vm_state='active')

    def test_adoption_of_a_server_that_differs_is_a_conflict(self):
        zone = {'availability_zone': 'az1'}
        uuid = self.plan_group(
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
        server = self.create_foreign_server()
        zoned = self.create_foreign_server(**zone)

        for path, reason in (
            ('large', 'its flavor is m1.tiny ('),
            ('large', 'instead of m1.large ('),
            ('zoned', 'its availability zone is not given instead of az1'),
            ('volume', 'its boot source is an image instead of a volume'),
        ):
            self.assertNotAdopted(409, reason, uuid, path, server)
        self.set(server, image_ref=uuidutils.generate_uuid())
        self.assertNotAdopted(409, 'its image is', uuid, 'small', server)

        group = self.adopt(uuid, {'zoned': zoned})
        self.assertEqual('ACTIVE', self.member_statuses(group)['zoned'])

    def test_adoption_of_an_unknown_server_or_member_is_not_found(self):
        uuid = self.plan_group(ONE, hold=False)
        server = self.create_foreign_server()
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

    def test_exclusive_group_adopts_no_server(self):
        alone = {**ONE, 'policies': [{'type': 'exclusive', 'scope': 'host'}]}
        described = self.post('admin', topology=alone, hold=False).json()
        uuid = described['vrt_group']['id']
        self.plan(uuid)
        server = self.boot('m1.tiny', user='admin')

        response = self.act(
            uuid, 'adopt', {'servers': {'a': server.id}}, 'admin'
        )

        self.assertRefused(400, '$.adopt.servers: cannot be', response)

    def test_server_uuid_in_capital_letters_is_normalised(self):
        """Some databases find a uuid in capital letters, too."""
        get = compute_api.API.get

        def find(known, context, server_uuid, **kwargs):
            return get(known, context, server_uuid.lower(), **kwargs)

        self.patch(compute_api.API, 'get', find)
        uuid = self.plan_group(TWO, hold=False)
        server = self.create_foreign_server().id

        both = {'servers': {'a': server, 'b': server.upper()}}
        self.assertRefused(
            400, 'is also the server of "a"', self.act(uuid, 'adopt', both)
        )

        one = {'servers': {'a': server.upper()}}
        self.assertEqual(202, self.act(uuid, 'adopt', one).status_code)
        self.plan(self.draft_of(uuid))
        self.assertEqual('ACTIVE', self.member_statuses(self.group(uuid))['a'])

    def test_second_adoption_of_a_server_is_a_conflict(self):
        uuid, other = self.plan_group(TWO), self.plan_group(ONE)
        server, another = (
            self.create_foreign_server(),
            self.create_foreign_server(),
        )

        both = self.request_adoption(other, {'a': another, 'b': another})
        self.assertRefused(404, 'no member b', both)
        both = self.request_adoption(uuid, {'a': another, 'b': another})
        self.assertRefused(400, 'is also the server of "a"', both)
        self.adopt(uuid, {'a': server})
        self.assertNotAdopted(409, f'of VRT group {uuid}', other, 'a', server)
        self.assertNotAdopted(409, '(--keep-server)', other, 'a', server)
        self.assertNotAdopted(409, 'it is already member a', uuid, 'b', server)
        self.assertNotAdopted(
            409, 'a member with a server', uuid, 'a', another
        )

        self.delete_group(uuid)
        group = self.adopt(other, {'a': server})
        self.assertEqual({'a': 'ACTIVE'}, self.member_statuses(group))
        self.assertEqual(
            self.adopted_hints(other, 'a'), self.stored_hints(server)
        )


class TestDying(adopting.AdoptingTestCase):
    """Adoptions whose planner dies."""

    POINTS = ('after adopt.begin', 'after revise.commit')

    def test_death_at_any_point_adopts_as_a_whole_or_not_at_all(self):
        server = self.create_foreign_server()
        before = self.server_allocations(server)
        for point in self.POINTS:
            uuid = self.plan_group(TWO)
            self.request_adoption(uuid, {'a': server})
            draft = self.draft_of(uuid)

            self.kill_at(point, draft)

            is_new = point == 'after revise.commit'
            self.assertEqual(
                {'a': 'ACTIVE' if is_new else 'HELD', 'b': 'HELD'},
                self.member_statuses(self.group(uuid)),
                point,
            )
            if not is_new:
                self.plan(draft)
            self.reap()
            self.assertEqual(
                {'a': 'ACTIVE', 'b': 'HELD'},
                self.member_statuses(self.group(uuid)),
                point,
            )
            self.assertEqual(
                self.adopted_hints(uuid, 'a'), self.stored_hints(server)
            )
            self.assertEqual(before, self.server_allocations(server), point)
            self.assertEqual([], self.audit(), point)
            self.delete_group(uuid)
            self.assertEqual(
                [], objects.VRTGroup.list_releasing(self.context), point
            )
