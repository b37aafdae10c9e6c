# SPDX-License-Identifier: Apache-2.0
"""Is the growth of a server held when its flavor is revised, and redeemed?"""

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
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.reap import reaper
from tests import rounds
from tests.functional import base
from tests.functional import moves
from tests.functional import revising

APART = {'type': 'anti-affinity', 'scope': 'host'}
SMALL, LARGE = 'm1.tiny', 'm1.medium'


def one(flavor=SMALL, **more):
    return {'members': {'a': base.member(flavor, **more)}}


class ResizingTestCase(moves.MovingTestCase, revising.RevisingTestCase):
    """A member is a server of one VCPU, and is to have two."""

    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 4))

    def reap(self):
        """Take the reaper's steps that are about servers and holds."""
        for follow in (*reaper.to_follow(), *reaper.to_compare()):
            follow(self.context, self.ledger, self.leases)
        reaper.empty(self.context, self.ledger)
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def running(self, topology, flavor=SMALL):
        """Hold a group and create its servers.

        :returns: (group's id, {path: server})
        """
        uuid, servers = self.servers(topology, flavor)
        self.assertEqual('ACTIVE', self.group(uuid)['status'])
        return uuid, servers

    def resize(self, server, flavor=LARGE):
        """Resize a server; returns it before that is confirmed."""
        nova = self.cloud.nova('demo')
        nova.servers.resize(server, nova.flavors.find(name=flavor))
        self.ended(server, 'resize')
        return self.settled(server)

    def confirm(self, server):
        server.confirm_resize()
        self.eventually(
            self.settled, lambda now: now.status == 'ACTIVE', server
        )
        self.given_back(server)
        self.reap()

    def revert(self, server):
        server.revert_resize()
        self.eventually(
            self.settled, lambda now: now.status == 'ACTIVE', server
        )
        self.reap()

    def of(self, uuid, path='a', user='demo'):
        """Return what is shown of a member."""
        members = self.group(uuid, user)['members']
        return next(each for each in members if each['path'] == path)

    def reservation(self, uuid, path='a'):
        """Return the host on which a member's growth is held, or None."""
        resize = self.of(uuid, path, 'admin')['resize']
        return resize and resize['host']

    def fill_up(self):
        """Leave nobody any room; returns the consumers."""
        placeholder_holds = [
            self.cloud.fill(host, VCPU=free)
            for host, free in self.free().items()
            if free
        ]
        for consumer in placeholder_holds:
            self.empty_later(consumer)
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
    def test_it_is_resized_on_its_host_though_nobody_has_room(self):
        uuid, servers = self.running(one())
        server = servers['a']
        home = self.host_of(server)

        group = self.revised(uuid, one(LARGE))

        self.assertEqual('HELD', group['status'])
        self.assertEqual(
            {'from': SMALL, 'to': LARGE, 'held': True},
            self.of(uuid)['resize'],
        )
        self.assertEqual(home, self.reservation(uuid))
        self.assertEqual({'a': home}, self.planned(uuid))
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

    def test_it_is_resized_on_another_host_if_its_own_is_full(self):
        uuid, servers = self.running(one())
        server = servers['a']
        home = self.host_of(server)
        self.fill(home, VCPU=3)
        self.revised(uuid, one(LARGE))
        target = self.reservation(uuid)
        self.assertNotEqual(home, target)
        self.assertEqual({'a': home}, self.planned(uuid))
        self.fill_up()

        resized = self.resize(server)

        self.assertEqual({target: 2}, self.vcpus(server.id))
        self.reap()
        self.confirm(resized)
        self.assertEqual(('ACTIVE', None), self.told(uuid))
        self.assertEqual({'a': target}, self.planned(uuid))
        self.assertEqual(1, self.free()[home])

    def test_a_server_that_has_moved_is_resized_to_where_that_is_held(self):
        uuid, servers = self.running(one())
        server = servers['a']
        home = self.host_of(server)
        self.revised(uuid, one(LARGE))
        outcome = self.move('live_migrate', server)
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertNotEqual(home, self.host_of(server))
        self.reap()
        self.assertEqual(home, self.reservation(uuid))

        resized = self.resize(server)

        self.assertEqual({home: 2}, self.vcpus(server.id))
        self.confirm(resized)
        self.assertEqual(('ACTIVE', None), self.told(uuid))
        self.assertEqual({'a': home}, self.planned(uuid))

    def test_a_reverted_resize_leaves_the_member_as_it_was(self):
        uuid, servers = self.running(one())
        home = self.host_of(servers['a'])
        self.revised(uuid, one(LARGE))

        self.revert(self.resize(servers['a']))

        self.assertEqual({home: 1}, self.vcpus(servers['a'].id))
        self.assertEqual({'a': home}, self.planned(uuid))
        not_held = {'from': SMALL, 'to': LARGE, 'held': False}
        self.assertEqual(('ACTIVE', not_held), self.told(uuid))

        self.act(uuid, 'replan')
        self.eventually(self.reservation, lambda host: host == home, uuid)

    def test_what_is_not_redeemed_in_time_is_given_back(self):
        uuid, _servers = self.running(one())
        before = self.free()
        self.revised(uuid, one(LARGE))
        past = timeutils.utcnow() - datetime.timedelta(seconds=1)
        self.change_row(uuid, expires_at=past)

        reaper.expire(self.context)
        reaper.empty(self.context, self.ledger)

        self.reap()
        self.assertEqual(before, self.free())
        self.assertEqual('ACTIVE', self.of(uuid)['status'])
        not_held = {'from': SMALL, 'to': LARGE, 'held': False}
        self.assertEqual(('ACTIVE', not_held), self.told(uuid))

    def test_nor_does_a_resize_take_it_then(self):
        uuid, servers = self.running(one())
        self.revised(uuid, one(LARGE))
        past = timeutils.utcnow() - datetime.timedelta(seconds=1)
        self.change_row(uuid, expires_at=past)

        self.resize(servers['a'])

        reservation = objects.VRTHold.get_reservation(
            self.context, servers['a'].id
        )
        self.assertEqual('HELD', reservation.status)

    def test_what_is_held_for_too_long_is_given_back(self):
        uuid, _servers = self.running(one())
        before = self.free()
        self.revised(uuid, one(LARGE))
        self.age_growths(7 * 86400 - 60)
        # Another flavor does not make it anew.
        self.revised(uuid, one('m1.large'))
        reaper.expire(self.context)
        self.assertTrue(self.of(uuid)['resize']['held'])
        self.age_growths(7 * 86400 + 60)

        reaper.expire(self.context)
        reaper.empty(self.context, self.ledger)

        self.eventually(self.taken_of, lambda taken: taken == 0, before)
        self.assertFalse(self.of(uuid)['resize']['held'])
        self.revised(uuid, one(SMALL))
        self.revised(uuid, one(LARGE))
        reaper.expire(self.context)
        self.assertTrue(self.of(uuid)['resize']['held'])

    def age_growths(self, seconds):
        """Let so many seconds pass since something is held for resizes."""
        since = clock.now(-seconds)
        was = models.Member.growth_since.is_not(None) & (
            models.Member.growth_since > since
        )
        aged = db.compare_and_set(
            self.context, models.Member, was, growth_since=since
        )
        self.assertEqual(1, aged)

    def test_the_old_flavor_gives_the_growth_back(self):
        uuid, servers = self.running(one())
        before = self.free()
        self.revised(uuid, one(LARGE))
        self.revised(uuid, one('m1.large'))
        self.eventually(self.taken_of, lambda taken: taken == 4, before)

        self.revised(uuid, one())

        self.eventually(self.taken_of, lambda taken: taken == 0, before)
        self.assertEqual(('ACTIVE', None), self.told(uuid))
        self.reap()
        self.assertEqual('ACTIVE', self.settled(servers['a']).status)

    def taken_of(self, before):
        """Return how many VCPUs were taken of what was free."""
        return sum(before.values()) - sum(self.free().values())

    def test_what_does_not_fit_changes_nothing(self):
        uuid, _servers = self.running(one())
        before = self.free(), self.of(uuid, user='admin')

        group = self.decided(uuid, one('m1.xlarge'))

        self.assertEqual('REFUSED', group['revision']['status'])
        self.assertTrue(group['revision']['refusal']['conflict'])
        self.assertEqual(one(), group['topology'])
        self.assertEqual(before, (self.free(), self.of(uuid, user='admin')))
        image = {'a': {**base.member(), 'availability_zone': 'az1'}}
        self.assertRefused(
            409,
            'only the flavor of a running server',
            self.put(uuid, {'members': image}),
        )
        self.delete_group(uuid)

    def delete_group(self, uuid, user='demo'):
        """Delete a group with its draft, as the reaper does."""
        self.api(user).delete(f'{base.GROUPS}/{uuid}')
        endpoint = planner.Planner('another')

        def reap():
            rounds.reap(endpoint, self.context)
            return self.holds_of(uuid)

        self.eventually(reap, lambda holds: not holds)

    def test_what_is_more_takes_quota_until_the_server_has_it(self):
        self.limit(cores=2, instances=1)
        uuid, servers = self.running(one())
        self.assertRefused(
            403,
            'cores: 3 asked for, 1 of 2 used or held, 2 too many',
            self.put(uuid, one('m1.large')),
        )

        self.revised(uuid, one(LARGE))

        too_much = 'cores: 1 asked for, 2 of 2 used or held, 1 too many'
        self.assertRefused(403, too_much, self.post(topology=one()))
        self.confirm(self.resize(servers['a']))
        self.assertRefused(403, too_much, self.post(topology=one()))

    def test_where_a_scheduler_dies_with_the_swap_nothing_is_left(self):
        self.patch(redeem, 'OVERDUE', -1)
        uuid, servers = self.running(one())
        home = self.host_of(servers['a'])
        self.revised(uuid, one(LARGE))

        def trap(reached):
            if reached == 'after redeem.swap':
                raise RuntimeError

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            self.resize(servers['a'])
        self.eventually(
            self.vcpus, lambda now: now == {home: 1}, servers['a'].id
        )
        self.reap()

        self.assertIsNone(self.reservation(uuid))
        self.confirm(self.resize(servers['a']))
        self.assertEqual(('ACTIVE', None), self.told(uuid))


class TestApart(ResizingTestCase):
    """Nova's default: a server is not resized on its own host."""

    PARTS = base.WITHOUT_REAPER
    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 6))

    def test_growths_keep_apart_from_where_everybody_is_or_may_be(self):
        topology = {**one(count=2), 'policies': [APART]}
        uuid, servers = self.running(topology)
        homes = {*self.where(servers).values()}
        larger = {
            'members': {
                'a': base.member(LARGE, count=2),
                'b': base.member(),
            },
            'policies': [APART],
        }

        self.revised(uuid, larger)

        planned = self.planned(uuid)
        grown = {self.reservation(uuid, path) for path in servers}
        places = [*homes, *grown, planned['b']]
        self.assertEqual(5, len({*places}), places)
        for path, server in servers.items():
            target = self.reservation(uuid, path)
            self.confirm(self.resize(server))
            self.assertEqual(target, self.host_of(server))
        self.assertEqual(
            grown | {planned['b']}, {*self.planned(uuid).values()}
        )


class TestDying(revising.PlanningTestCase):
    """A planner dies while one growth takes the place of another."""

    HOSTS = (hosts.Host('cmp-1', vcpus=5),)
    PARTS = dataclasses.replace(
        revising.PlanningTestCase.PARTS,
        config=moves.MovingTestCase.PARTS.config,
    )

    def delete_group(self, uuid, user='demo'):
        """There is no planner to do it but the test's own."""

    def test_growth_that_takes_the_place_of_another_is_the_new_one(self):
        """There is room for either of them only."""
        uuid = self.post(topology=one()).json()['vrt_group']['id']
        self.plan(uuid)
        server = self.redeem(uuid, 'a', SMALL)
        self.plan(self.drafted(uuid, one(LARGE)))
        self.assertEqual([2], self.grown(uuid))
        draft = self.drafted(uuid, one('m1.large'))

        self.die_at('after swap.apply', draft)
        self.plan(draft)
        rounds.reap(self.planner, self.context)

        self.assertEqual([4], self.grown(uuid))
        self.assertEqual(0, self.free()['cmp-1'])
        self.assertEqual([], self.audit())
        self.remove(server)
        self.forget(uuid)

    def grown(self, uuid):
        """Return the VCPUs that are held for resizes."""
        return [
            allocation['resources']['VCPU']
            for hold in self.holds_of(uuid)
            if hold.is_resize_reservation and hold.status == 'HELD'
            for allocation in self.allocations(hold.uuid).values()
        ]
