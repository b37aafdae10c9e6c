# SPDX-License-Identifier: Apache-2.0
"""Resize reservations: held by a revision, redeemed by the resize."""

import dataclasses
import datetime

import fixtures
from oslo_utils import timeutils

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.resize import reservations
from tests import rounds
from tests.functional import base
from tests.functional import foreign_consumers
from tests.functional import moves
from tests.functional import revising

APART = {'type': 'anti-affinity', 'scope': 'host'}
SMALL, LARGE = 'm1.tiny', 'm1.medium'


def one(flavor=SMALL, **more):
    return {'members': {'a': base.member(flavor, **more)}}


class ResizingTestCase(moves.MovingTestCase, revising.RevisingTestCase):
    """Servers of one VCPU that are to be resized to two."""

    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 4))

    def reap(self):
        """Run the reaper's steps on servers and holds."""
        for follow in (
            server_changes.follow_servers,
            hold_changes.follow_hosts,
            hold_changes.follow_holds,
            reservations.follow_reservations,
        ):
            follow(self.context, self.placement_client, self.leases)
        reaper.release_ending(self.context, self.placement_client)
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def delete_group(self, uuid, user='demo'):
        """Delete a group and its draft, and run reapers until it is gone."""
        self.api(user).delete(f'{base.GROUPS}/{uuid}')
        endpoint = planner.Planner('another')

        def reap():
            rounds.reap(endpoint, self.context)
            return self.holds_of(uuid)

        self.eventually(reap, lambda holds: not holds)

    def running(self, topology, flavor=SMALL):
        """Hold a group and create its servers.

        :returns: (group's id, {path: server})
        """
        uuid, servers = self.create_group_servers(topology, flavor)
        self.assertEqual('ACTIVE', self.group(uuid)['status'])
        return uuid, servers

    def resize(self, server, flavor=LARGE):
        """Resize a server; returns it before the confirmation."""
        nova = self.cloud.nova('demo')
        nova.servers.resize(server, nova.flavors.find(name=flavor))
        self.wait_for_action(server, 'resize')
        return self.wait_until_idle(server)

    def confirm(self, server):
        server.confirm_resize()
        self.eventually(
            self.wait_until_idle, lambda now: now.status == 'ACTIVE', server
        )
        self.wait_for_source_release(server)
        self.reap()

    def revert(self, server):
        server.revert_resize()
        self.eventually(
            self.wait_until_idle, lambda now: now.status == 'ACTIVE', server
        )
        self.reap()

    def of(self, uuid, path='a', user='demo'):
        """Return a member as the API shows it."""
        members = self.group(uuid, user)['members']
        return next(each for each in members if each['path'] == path)

    def reservation(self, uuid, path='a'):
        """Return the host of a member's reservation, or None."""
        resize = self.of(uuid, path, 'admin')['resize']
        return resize and resize['host']

    def fill_up(self):
        """Fill all free capacity; returns the consumers."""
        placeholder_holds = [
            foreign_consumers.fill(self.cloud, host, VCPU=free)
            for host, free in self.free().items()
            if free
        ]
        for consumer in placeholder_holds:
            self.delete_allocations_later(consumer)
        return placeholder_holds

    def vcpus(self, consumer):
        """Return {host: VCPUs} of a consumer."""
        names = {
            each['uuid']: each['name']
            for each in self.cloud.placement.get('/resource_providers').json()[
                'resource_providers'
            ]
        }
        return {
            names[provider]: each['resources']['VCPU']
            for provider, each in self.allocations(consumer).items()
        }


class TestResizing(ResizingTestCase):
    def test_resize_uses_the_reservation_on_a_full_host(self):
        uuid, servers = self.running(one())
        server = servers['a']
        home = self.host_of(server)

        group = self.put_revision(uuid, one(LARGE))

        self.assertEqual('HELD', group['status'])
        self.assertEqual(
            {'from': SMALL, 'to': LARGE, 'held': True},
            self.of(uuid)['resize'],
        )
        self.assertEqual(home, self.reservation(uuid))
        self.assertEqual({'a': home}, self.planned_hosts(uuid))
        self.assertEqual(1, self.free()[home])
        self.fill_up()

        resized = self.resize(server)

        self.assertEqual('VERIFY_RESIZE', resized.status)
        self.assertEqual({home: 2}, self.vcpus(server.id))
        self.assertIsNone(self.reservation(uuid))
        self.confirm(resized)
        self.assertEqual(('ACTIVE', None), self.told(uuid))
        self.assertEqual({home: 2}, self.vcpus(server.id))
        self.assertEqual(1, self.free()[home])
        [hold] = self.holds_of(uuid)
        [allocation] = hold.allocations.values()
        self.assertEqual(2, allocation['resources']['VCPU'])

    def told(self, uuid):
        return self.group(uuid)['status'], self.of(uuid)['resize']

    def test_resize_uses_the_reservation_on_another_host(self):
        uuid, servers = self.running(one())
        server = servers['a']
        home = self.host_of(server)
        self.fill(home, VCPU=3)
        self.put_revision(uuid, one(LARGE))
        target = self.reservation(uuid)
        self.assertNotEqual(home, target)
        self.assertEqual({'a': home}, self.planned_hosts(uuid))
        self.fill_up()

        resized = self.resize(server)

        self.assertEqual({target: 2}, self.vcpus(server.id))
        self.reap()
        self.confirm(resized)
        self.assertEqual(('ACTIVE', None), self.told(uuid))
        self.assertEqual({'a': target}, self.planned_hosts(uuid))
        self.assertEqual(1, self.free()[home])

    def test_resize_of_a_moved_server_goes_to_the_reserved_host(self):
        uuid, servers = self.running(one())
        server = servers['a']
        home = self.host_of(server)
        self.put_revision(uuid, one(LARGE))
        outcome = self.move('live_migrate', server)
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertNotEqual(home, self.host_of(server))
        self.reap()
        self.assertEqual(home, self.reservation(uuid))

        resized = self.resize(server)

        self.assertEqual({home: 2}, self.vcpus(server.id))
        self.confirm(resized)
        self.assertEqual(('ACTIVE', None), self.told(uuid))
        self.assertEqual({'a': home}, self.planned_hosts(uuid))

    def test_reverted_resize_restores_the_member(self):
        uuid, servers = self.running(one())
        home = self.host_of(servers['a'])
        self.put_revision(uuid, one(LARGE))

        self.revert(self.resize(servers['a']))

        self.assertEqual({home: 1}, self.vcpus(servers['a'].id))
        self.assertEqual({'a': home}, self.planned_hosts(uuid))
        not_held = {'from': SMALL, 'to': LARGE, 'held': False}
        self.assertEqual(('ACTIVE', not_held), self.told(uuid))

        self.act(uuid, 'replan')
        self.eventually(self.reservation, lambda host: host == home, uuid)

    def test_shelved_server_is_unshelved_as_it_was(self):
        uuid, servers = self.running(one())
        self.put_revision(uuid, one(LARGE))
        self.shelve(servers['a'])

        outcome = self.move('unshelve', servers['a'])

        self.reap()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        home = self.host_of(servers['a'])
        self.assertEqual({home: 1}, self.vcpus(servers['a'].id))
        held = {'from': SMALL, 'to': LARGE, 'held': True}
        self.assertEqual(('HELD', held), self.told(uuid))

    def test_expired_reservation_is_released(self):
        uuid, _servers = self.running(one())
        before = self.free()
        self.put_revision(uuid, one(LARGE))
        past = timeutils.utcnow() - datetime.timedelta(seconds=1)
        self.change_row(uuid, expires_at=past)

        reaper.expire(self.context)
        reaper.release_ending(self.context, self.placement_client)

        self.reap()
        self.assertEqual(before, self.free())
        self.assertEqual('ACTIVE', self.of(uuid)['status'])
        not_held = {'from': SMALL, 'to': LARGE, 'held': False}
        self.assertEqual(('ACTIVE', not_held), self.told(uuid))

    def test_resize_does_not_use_an_expired_reservation(self):
        uuid, servers = self.running(one())
        self.put_revision(uuid, one(LARGE))
        past = timeutils.utcnow() - datetime.timedelta(seconds=1)
        self.change_row(uuid, expires_at=past)

        self.resize(servers['a'])

        reservation = objects.VRTHold.find_reservation(
            self.context, servers['a'].id
        )
        self.assertEqual('HELD', reservation.status)

    def test_reservation_beyond_the_lifetime_is_released(self):
        uuid, _servers = self.running(one())
        before = self.free()
        self.put_revision(uuid, one(LARGE))
        self.age_growths(7 * 86400 - 60)
        # Another flavor does not reset the lifetime.
        self.put_revision(uuid, one('m1.large'))
        reaper.expire(self.context)
        self.assertTrue(self.of(uuid)['resize']['held'])
        self.age_growths(7 * 86400 + 60)

        reaper.expire(self.context)
        reaper.release_ending(self.context, self.placement_client)

        self.eventually(self.taken_of, lambda taken: taken == 0, before)
        self.assertFalse(self.of(uuid)['resize']['held'])
        self.put_revision(uuid, one(SMALL))
        self.put_revision(uuid, one(LARGE))
        reaper.expire(self.context)
        self.assertTrue(self.of(uuid)['resize']['held'])

    def age_growths(self, seconds):
        """Set ``reservation_since`` of the member back in time."""
        since = clock.now(-seconds)
        was = models.Member.reservation_since.is_not(None) & (
            models.Member.reservation_since > since
        )
        aged = db.compare_and_set(
            self.context, models.Member, was, reservation_since=since
        )
        self.assertEqual(1, aged)

    def test_revision_to_the_old_flavor_releases_the_reservation(self):
        uuid, servers = self.running(one())
        before = self.free()
        self.put_revision(uuid, one(LARGE))
        self.put_revision(uuid, one('m1.large'))
        self.eventually(self.taken_of, lambda taken: taken == 4, before)

        self.put_revision(uuid, one())

        self.eventually(self.taken_of, lambda taken: taken == 0, before)
        self.assertEqual(('ACTIVE', None), self.told(uuid))
        self.reap()
        self.assertEqual('ACTIVE', self.wait_until_idle(servers['a']).status)

    def taken_of(self, before):
        """Return the number of VCPUs that are no longer free."""
        return sum(before.values()) - sum(self.free().values())

    def test_server_that_ends_before_its_resize_is_confirmed_leaves_nothing(
        self,
    ):
        uuid, servers = self.running(one())
        self.put_revision(uuid, one('m1.medium'))
        self.resize(servers['a'])

        self.delete_servers(servers['a'])
        self.reap()

        [member] = objects.VRTGroup.get(self.context, uuid).members
        moved = objects.VRTHold.moved_members(self.context, [member.id])
        self.assertEqual(set(), moved)

    def test_flavor_that_does_not_fit_is_refused_and_changes_nothing(self):
        uuid, _servers = self.running(one())
        before = self.free(), self.of(uuid, user='admin')

        group = self.put_and_wait(uuid, one('m1.xlarge'))

        self.assertEqual('REFUSED', group['revision']['status'])
        self.assertTrue(group['revision']['refusal']['conflict'])
        self.assertEqual(one(), group['topology'])
        self.assertEqual(before, (self.free(), self.of(uuid, user='admin')))
        volume = {'a': {'flavor': 'm1.tiny', 'boot_from_volume': True}}
        self.assertRefused(
            409,
            'whether a server boots from a volume',
            self.put(uuid, {'members': volume}),
        )
        self.delete_group(uuid)

    def test_reservation_counts_for_quota_until_the_resize(self):
        self.set_quota(cores=2, instances=1)
        uuid, servers = self.running(one())
        self.assertRefused(
            403,
            'cores: 3 requested, 1 of 2 already used or held, 2 over the '
            'quota',
            self.put(uuid, one('m1.large')),
        )

        self.put_revision(uuid, one(LARGE))

        too_much = (
            'cores: 1 requested, 2 of 2 already used or held, 1 over the quota'
        )
        self.assertRefused(403, too_much, self.post(topology=one()))
        self.confirm(self.resize(servers['a']))
        self.assertRefused(403, too_much, self.post(topology=one()))

    def test_failure_after_the_swap_leaves_no_reservation(self):
        self.patch(redeem, 'OVERDUE_FACTOR', -1)
        uuid, servers = self.running(one())
        home = self.host_of(servers['a'])
        self.put_revision(uuid, one(LARGE))

        def handler(reached):
            if reached == 'after redeem.transfer':
                raise RuntimeError

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            self.resize(servers['a'])
        self.eventually(
            self.vcpus, lambda now: now == {home: 1}, servers['a'].id
        )
        self.reap()

        self.assertIsNone(self.reservation(uuid))
        self.confirm(self.resize(servers['a']))
        self.assertEqual(('ACTIVE', None), self.told(uuid))


class TestApart(ResizingTestCase):
    """Nova's default, by which a server is not resized on its own host."""

    PARTS = base.WITHOUT_REAPER
    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 6))

    def test_reservations_keep_apart_from_all_members_and_targets(self):
        topology = {**one(count=2), 'policies': [APART]}
        uuid, servers = self.running(topology)
        homes = {*self.hosts_of(servers).values()}
        larger = {
            'members': {
                'a': base.member(LARGE, count=2),
                'b': base.member(),
            },
            'policies': [APART],
        }

        self.put_revision(uuid, larger)

        planned = self.planned_hosts(uuid)
        grown = {self.reservation(uuid, path) for path in servers}
        places = [*homes, *grown, planned['b']]
        self.assertEqual(5, len({*places}), places)
        for path, server in servers.items():
            target = self.reservation(uuid, path)
            self.confirm(self.resize(server))
            self.assertEqual(target, self.host_of(server))
        self.assertEqual(
            grown | {planned['b']}, {*self.planned_hosts(uuid).values()}
        )


class TestDying(revising.PlanningTestCase):
    """A planner that dies while a reservation replaces another."""

    HOSTS = (hosts.Host('cmp-1', vcpus=5),)
    PARTS = dataclasses.replace(
        revising.PlanningTestCase.PARTS,
        config=moves.MovingTestCase.PARTS.config,
    )

    def delete_group(self, uuid, user='demo'):
        """Leave the deletion to the test, as no planner service runs."""

    def test_interrupted_replacement_of_a_reservation_is_finished(self):
        """The host has capacity for one of the reservations only."""
        uuid = self.post(topology=one()).json()['vrt_group']['id']
        self.plan(uuid)
        server = self.redeem(uuid, 'a', SMALL)
        self.plan(self.put_draft(uuid, one(LARGE)))
        self.assertEqual([2], self.grown(uuid))
        draft = self.put_draft(uuid, one('m1.large'))

        self.kill_at('after swap.apply', draft)
        self.plan(draft)
        rounds.reap(self.planner, self.context)

        self.assertEqual([4], self.grown(uuid))
        self.assertEqual(0, self.free()['cmp-1'])
        self.assertEqual([], self.audit())
        self.delete_servers(server)
        self.delete_and_check(uuid)

    def grown(self, uuid):
        """Return the VCPUs of all resize reservations."""
        return [
            allocation['resources']['VCPU']
            for hold in self.holds_of(uuid)
            if hold.is_resize_reservation and hold.status == 'HELD'
            for allocation in self.allocations(hold.uuid).values()
        ]
