# SPDX-License-Identifier: Apache-2.0
"""Servers that are replaced: by successors, and with other images."""

from concurrent import futures
import dataclasses
import threading

import fixtures
from nova import exception as nova_exc
from nova.conductor import manager
from nova.scheduler.client import report
from nova.virt import fake

from nova_groupext.cloud import image
from nova_groupext.conf import CONF
from nova_groupext.objects.create import VRTCreate
from nova_groupext.scheduler.decide import revision
from tests.functional import base
from tests.functional import growing

CIRROS, LIKE, UEFI = (
    image.image_id(f'cirros{end}') for end in ('', '-next', '-uefi')
)


class TestReplacing(growing.GrowingCase):
    """Servers that exclude each other on four hosts."""

    def successors(self):
        return {
            each['path']: (each['successor'] or {}).get('server_id')
            for each in self.members()
        }

    def servers(self):
        return {each['path']: each['server_id'] for each in self.members()}

    def go(self, server, expected):
        """Delete a server, and wait for the servers of the members then."""
        self.delete(server)
        self.eventually(
            self.reaped_servers,
            lambda now: now == {k: v.id for k, v in expected.items()},
        )
        self.assert_sound()

    def reaped_servers(self):
        self.reaped_statuses()
        return self.servers()

    def test_successor_of_a_named_server_takes_its_name(self):
        self.hold_workers(2, 2, max_surge=1)
        first, second = self.grow(), self.grow()

        successor = self.grow('w-0')

        self.assertEqual('ACTIVE', successor.status, vars(successor))
        self.assertEqual({'w-0': first.id, 'w-1': second.id}, self.servers())
        self.assertEqual({'w-0': successor.id, 'w-1': None}, self.successors())
        hosts = {self.host_of(each) for each in (first, second, successor)}
        self.assertEqual(3, len(hosts))
        self.assert_sound()
        self.go(first, {'w-0': successor, 'w-1': second})
        self.assertEqual({'w-0': None, 'w-1': None}, self.successors())

    def test_successor_of_any_follows_the_first_to_go(self):
        self.hold_workers(2, 2, max_surge=1)
        first, second = self.grow(), self.grow()

        successor = self.grow()

        self.assertEqual({'w-0': successor.id, 'w-1': None}, self.successors())
        self.go(second, {'w-0': first, 'w-1': successor})

    def test_successor_with_a_new_index_keeps_it(self):
        self.hold_workers(1, 1, max_surge=1)
        first = self.grow()

        successor = self.grow('w-7')

        self.assertEqual({'w-0': first.id}, self.servers())
        self.go(first, {'w-7': successor})

    def test_successor_of_a_single_member_takes_its_name(self):
        self.hold_workers(None, None, max_surge=1)
        first = self.grow()

        successor = self.grow()

        self.assertEqual({'w': successor.id}, self.successors())
        self.go(first, {'w': successor})

    def test_no_more_successors_than_max_surge(self):
        self.hold_workers(1, 1, max_surge=1)
        self.grow(), self.grow('w-0')

        text = self.assert_refused(409, 'w-0')
        self.assertIn('it already has a server; a server there', text)
        self.assertIn('has a successor; retry when it is gone', text)
        text = self.assert_refused(409, '/')

        self.assertIn('0 of the 1 members of the group can be', text)
        self.assertIn('has a successor; retry when it is gone', text)

    def test_successor_cannot_be_adopted(self):
        self.hold_workers(1, 2, max_surge=1)
        self.grow()
        successor = self.grow('w-0')
        other = self.hold_group({'members': {'x': base.member()}})['id']

        response = self.api().post(
            f'{base.GROUPS}/{other}/action',
            json={'adopt': {'servers': {'x': successor.id}}},
        )

        self.assertEqual(409, response.status_code, response.text)
        self.assertIn('becomes w-0 when that server is gone', response.text)

    def test_server_without_surge_has_no_successor(self):
        self.hold_workers(1, 1)
        self.grow()

        self.assert_refused(409, 'w-0')
        self.assert_refused(403)

    def test_successor_that_is_deleted_leaves_nothing(self):
        self.hold_workers(1, 1, max_surge=1)
        first = self.grow()
        successor = self.grow('w-0')

        self.go(successor, {'w-0': first})

        self.assertEqual({'w-0': None}, self.successors())
        self.assertEqual('ACTIVE', self.grow('w-0').status)

    def test_successor_without_a_host_ends(self):
        self.hold_workers(4, 4, max_surge=1)
        servers = [self.grow() for _number in range(4)]

        failed = self.grow('w-0')

        self.assertEqual('ERROR', failed.status)
        self.assert_refused(403, 'w-0')
        self.assertEqual(servers[0].id, self.servers()['w-0'])
        self.assert_sound()

    def test_revision_keeps_successors(self):
        self.hold_workers(2, 2, max_surge=1)
        first, second = self.grow(), self.grow()
        successor = self.grow('w-0')

        self.put(2, max_count=3, max_surge=1)

        self.assertEqual({'w-0': successor.id, 'w-1': None}, self.successors())
        self.assert_sound()
        self.go(first, {'w-0': successor, 'w-1': second})

    def test_revision_with_more_members_makes_a_successor_one_of_them(self):
        self.hold_workers(1, 1, max_surge=1)
        first = self.grow()
        successor = self.grow()

        self.put(2, max_surge=1)

        self.eventually(
            self.reaped_servers,
            lambda now: now == {'w-0': first.id, 'w-1': successor.id},
        )
        self.assert_sound()


class TestImages(growing.GrowingCase):
    def pending(self):
        self.reaped_statuses()
        return {each['path']: each['pending'] for each in self.members()}

    def test_server_with_an_image_of_equal_properties_is_a_member(self):
        self.hold_workers(1, 1)

        server = self.grow(image=LIKE)

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual({'w-0': None}, self.pending())

    def test_server_with_an_image_of_other_properties_is_refused(self):
        self.hold_workers(1, 1)

        self.assert_refused(409, image=UEFI)

    def test_servers_are_pending_until_they_are_replaced_or_rebuilt(self):
        self.hold_workers(2, 2, max_surge=1)
        first, second = self.grow(), self.grow()

        self.put(2, max_surge=1, image=UEFI)

        change = {'from': {'image': CIRROS}, 'to': {'image': UEFI}}
        self.assertEqual({'w-0': change, 'w-1': change}, self.pending())
        successor = self.grow('w-0', image=UEFI)
        self.delete(first)
        self.eventually(
            self.pending, lambda now: now == {'w-0': None, 'w-1': change}
        )
        self.assertEqual(successor.id, self.members()[0]['server_id'])
        self.rebuild(second, UEFI)
        self.assertEqual({'w-0': None, 'w-1': None}, self.pending())
        self.assert_sound()

    def test_server_like_pending_ones_is_pending_itself(self):
        self.hold_workers(1, 3, max_surge=1)
        first = self.grow()
        self.put(1, max_count=3, max_surge=1, image=UEFI)

        second = self.grow()

        self.assertEqual('ACTIVE', second.status, vars(second))
        change = {'from': {'image': CIRROS}, 'to': {'image': UEFI}}
        self.assertEqual({'w-0': change, 'w-1': change}, self.pending())
        self.assert_sound()
        third = self.grow(image=UEFI)
        self.delete(first), self.delete(second)
        self.eventually(self.pending, lambda now: now == {'w-2': None})
        self.assertEqual(third.id, self.members()[0]['server_id'])
        self.assert_refused(409)

    def test_former_image_matches_beside_a_set_with_one_like_it(self):
        self.hold_workers(1, 1)
        uefi, *both = (
            base.member(count=1, image=UEFI),
            base.member(count=1),
            base.member(count=1, max_count=2, image=LIKE),
        )
        self.put_topology({'members': dict(zip('wv', both, strict=True))})
        self.grow('w'), self.grow('v')
        self.put_topology({'members': {'w': uefi, 'v': both[1]}})

        server = self.grow('/')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual('ACTIVE', self.statuses()['v-1'])
        self.assert_sound()

    def test_held_member_is_placed_again_for_a_server_of_another_flavor(self):
        self.hold_workers(1, None)
        self.grow()
        self.put(2, flavor='m1.small')
        held = self.hold_uuids()

        server = self.grow()

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual({'w-0': 'ACTIVE', 'w-1': 'ACTIVE'}, self.statuses())
        self.assertEqual(512, self.memory(server))
        self.assertEqual({}, self.allocations(held['w-1']))
        self.assert_sound()

    def assert_pending(self, server):
        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual(512, self.memory(server))
        [pending] = [
            each['pending']
            for each in self.members()
            if each['server_id'] == server.id
        ]
        self.assertEqual(
            {'from': {'flavor': 'm1.tiny'}, 'to': {'flavor': 'm1.small'}},
            pending,
        )
        self.assert_sound()

    def test_server_whose_flavor_a_revision_changes_gets_its_own(self):
        self.hold_workers(1, 2)
        self.grow()

        server = self.grow_around(
            lambda: self.put(1, max_count=2, flavor='m1.small')
        )

        self.assert_pending(server)

    def test_server_of_a_former_flavor_gets_its_own_after_a_replan(self):
        self.hold_workers(1, 2)
        self.grow()
        self.put(1, max_count=2, flavor='m1.small')

        def replan():
            self.act(self.uuid, 'replan')
            self.eventually(
                self.group, lambda now: now['revision'] is None, self.uuid
            )

        self.assert_pending(self.grow_around(replan))

    def test_server_that_waits_while_its_flavor_is_changed_gets_its_own(self):
        self.hold_workers(1, 3)
        self.grow()
        wait, is_committing, goes_on = growing.paused(revision.STRATEGY.commit)
        waiting = dataclasses.replace(revision.STRATEGY, commit=wait)
        with (
            fixtures.MonkeyPatch(f'{revision.__name__}.STRATEGY', waiting),
            futures.ThreadPoolExecutor() as pool,
        ):
            put = pool.submit(self.put, 1, max_count=3, flavor='m1.small')
            is_committing.wait(60)
            server = pool.submit(self.grow)
            self.eventually(
                lambda: VRTCreate.list_rows(self.context), lambda rows: rows
            )
            goes_on.set()
            put.result()

        self.assert_pending(server.result())

    def test_place_for_a_former_flavor_stays_one_in_a_revision(self):
        self.hold_workers(1, 2)
        self.grow()
        self.put(2, flavor='m1.small')
        former = self.grow_around(
            lambda: self.put(2, max_count=3, flavor='m1.small'), fails=True
        )
        self.assertEqual('ERROR', former.status)
        self.reaped_statuses()

        server = self.redeem(self.uuid, 'w', 'm1.small')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual(2048, self.memory(server))
        self.assert_sound()

    def memory(self, server):
        """Return the MiB that a server owns in Placement."""
        [allocation] = self.allocations(server.id).values()
        return allocation['resources']['MEMORY_MB']

    def test_server_that_is_rebuilt_with_another_image_is_pending(self):
        self.hold_workers(1, 1)
        server = self.grow()

        self.rebuild(server, UEFI)

        change = {'from': {'image': UEFI}, 'to': {'image': CIRROS}}
        self.assertEqual({'w-0': change}, self.pending())
        self.rebuild(server, LIKE)
        self.assertIsNone(self.pending()['w-0'])

    def rebuild(self, server, image_id):
        nova = self.cloud.nova('admin')
        server = nova.servers.rebuild(server.id, image_id)
        self.eventually(
            nova.servers.get, lambda now: now.status == 'ACTIVE', server.id
        )

    def test_shelved_server_may_be_described_with_another_image(self):
        self.hold_workers(1, 1)
        server = self.grow()
        server.shelve()
        self.eventually(
            self.reaped_statuses, lambda now: now == {'w-0': 'SHELVED'}
        )

        self.put(1, image=UEFI)

        self.assertEqual({'image': UEFI}, self.pending()['w-0']['to'])

    def test_pending_server_leaves_no_hold_of_the_former_description(self):
        self.hold_workers(1, 1)
        server = self.grow()
        self.put(1, image=UEFI)

        self.delete(server)

        self.eventually(
            self.reaped_statuses, lambda now: now == {'w-0': 'TENTATIVE'}
        )
        self.assertEqual('ACTIVE', self.grow(image=UEFI).status)
        self.assert_sound()


class TestAgain(growing.GrowingCase):
    """Servers that are created again by their names, at once."""

    def setUp(self):
        super().setUp()
        self.hold_workers(1, 1)

    def fail(self, target, fail):
        """Create a server that fails at a function of Nova's."""
        with fixtures.MonkeyPatch(target, fail):
            self.assertEqual('ERROR', self.grow('w-0').status)

    def assert_created_again(self):
        server = self.grow('w-0')
        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual({'w-0': 'ACTIVE'}, self.statuses())
        self.assert_sound()

    def test_member_of_a_server_in_cell0_is_free(self):
        schedule = manager.ComputeTaskManager._schedule_instances

        def fail(*args, **kwargs):
            schedule(*args, **kwargs)
            raise nova_exc.NoValidHost(reason='the answer was lost')

        self.fail(
            'nova.conductor.manager.ComputeTaskManager._schedule_instances',
            fail,
        )

        self.assert_created_again()

    def test_member_of_a_failed_build_is_free(self):
        def fail(*_args, **_kwargs):
            raise nova_exc.BuildAbortException(instance_uuid='', reason='')

        self.fail('nova.virt.fake.FakeDriver.spawn', fail)

        self.assert_created_again()

    def assert_to_be_repeated_in(self, owner, name):
        """Check what a create gets while a deletion is at a function."""
        comes, goes_on = threading.Event(), threading.Event()
        function = getattr(owner, name)

        def wait(*args, **kwargs):
            comes.set()
            goes_on.wait(60)
            return function(*args, **kwargs)

        self.patch(owner, name, wait)
        server = self.grow()
        server.delete()
        try:
            self.assertTrue(comes.wait(60))
            self.assert_refused(409)
        finally:
            goes_on.set()
        self.eventually(
            self.cloud.nova('demo').servers.list,
            lambda found: server not in found,
        )

    def test_create_is_to_be_repeated_while_a_server_is_deleted(self):
        self.assert_to_be_repeated_in(fake.FakeDriver, 'destroy')

    def test_create_is_to_be_repeated_while_a_record_is_deleted(self):
        """Nova has set the final state, and its allocation is still there."""
        self.assert_to_be_repeated_in(
            report.SchedulerReportClient, 'delete_allocation_for_instance'
        )

    def test_create_is_to_be_repeated_until_a_server_is_reclaimed(self):
        CONF.set_override('reclaim_instance_interval', 3600)
        self.addCleanup(CONF.clear_override, 'reclaim_instance_interval')
        server = self.grow()
        server.delete()
        nova = self.cloud.nova('admin')
        self.eventually(
            nova.servers.get,
            lambda now: now.status == 'SOFT_DELETED',
            server.id,
        )

        for path in ('w', 'w-0', 'w-7'):
            self.assert_refused(409, path)
        nova.servers.force_delete(server)
