# SPDX-License-Identifier: Apache-2.0
"""Is a server placed elsewhere when Nova refuses the host of its member?"""

import dataclasses
import time

import fixtures

from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.placement import placement_client
from tests.functional import base
from tests.functional import world

APART = {'type': 'anti-affinity', 'scope': 'host'}
TOGETHER = {'type': 'affinity', 'scope': 'rack'}


class TestDown(world.WorldCase):
    def test_where_no_host_is_up_nothing_is_refused(self):
        for host in self.HOSTS:
            self.put_down(host.name)

        group = self.describe({'members': {'a': base.member()}})

        self.assertEqual('UNDECIDED', group['status'], group)
        self.assertIsNone(group['refusal'])


class TestLongDecision(world.WorldCase):
    """Deciding takes longer than computes may be silent."""

    PARTS = dataclasses.replace(
        world.WorldCase.PARTS,
        config=f'{world.WorldCase.PARTS.config}\n'
        '[DEFAULT]\nservice_down_time = 6\nreport_interval = 1\n',
    )

    def test_hosts_are_rehearsed_as_they_are_by_then(self):
        solve = planning.Planning._solve

        def solve_slowly(*args):
            time.sleep(7)
            return solve(*args)

        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.decide.planning.Planning._solve',
                solve_slowly,
            )
        )

        group = self.describe({'members': {'a': base.member()}})

        self.assertEqual('HELD', group['status'], group)

    def test_a_look_that_takes_long_takes_no_host_for_dead(self):
        candidates = placement_client.PlacementClient.candidates

        def ask_slowly(*args, **kwargs):
            time.sleep(4)
            return candidates(*args, **kwargs)

        self.patch(placement_client.PlacementClient, 'candidates', ask_slowly)
        other = base.member('m1.small')

        group = self.describe({'members': {'a': base.member(), 'b': other}})

        self.assertEqual('HELD', group['status'], group)


class TestElsewhere(world.WorldCase):
    """Another place is found while the server waits."""

    def test_from_a_disabled_host(self):
        self.hold(3)
        self.disable(self.before['a-0'])

        self.assert_elsewhere()

        self.assert_others_stay('a-0')

    def test_from_a_host_that_is_down(self):
        self.hold(2, APART)
        self.put_down(self.before['a-0'])

        self.assert_elsewhere()

        self.assert_others_stay('a-0')
        self.assertEqual(2, len(set(self.planned(self.uuid).values())))

    def test_from_a_host_that_a_filter_refuses_to_the_server_alone(self):
        """What was described passes; what is created has hints."""
        self.hold(2, APART)
        host = self.before['a-0']
        self.refuse(lambda name, spec: name == host and spec.scheduler_hints)

        self.assert_elsewhere()

        self.assert_others_stay('a-0')

    def test_with_all_that_strict_policies_want_near(self):
        self.hold(2, APART, TOGETHER)
        self.disable(self.before['a-0'])

        self.assert_elsewhere()

        planned = set(self.planned(self.uuid).values())
        self.assertEqual(2, len(planned))
        self.assertEqual(set(), planned & set(self.before.values()))
        self.assertEqual([], self.group(self.uuid)['drift'])
        self.assertEqual('ACTIVE', self.attempt(self.uuid, 'a-1'))

    def test_beside_servers_that_stay(self):
        self.hold(2, APART, TOGETHER)
        server = self.redeem(self.uuid, 'a-1', 'm1.tiny')
        self.disable(self.before['a-0'])

        why = self.refusal(self.uuid, 'a-0')

        self.assertIn('no other place was found for it; it stays held', why)
        self.assertEqual(self.before['a-1'], self.host_of(server))
        self.assertEqual(self.before, self.planned(self.uuid))
        self.assert_nothing_lost()

    def test_what_was_released_is_not_held_again(self):
        self.hold(3, APART)
        self.act(self.uuid, 'release', {'members': ['a-2']})
        self.disable(self.before['a-0'])

        server = self.redeem(self.uuid, 'a-0', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual(
            ['ACTIVE', 'HELD', 'RELEASED'],
            [each['status'] for each in self.members()],
        )

    def test_for_all_servers_of_one_request(self):
        self.hold(3)
        for host in set(self.before.values()):
            self.disable(host)

        servers = self.create_all('a', 3)

        for server in servers:
            self.assertEqual('ACTIVE', server.status, vars(server))
            self.assertNotIn(self.host_of(server), self.before.values())
        self.assert_nothing_lost()

    def create_all(self, path, count):
        self.boot(
            min_count=count, scheduler_hints=base.pointer(self.uuid, path)
        )
        servers = self.cloud.nova('demo').servers
        for each in servers.list():
            self.addCleanup(self.remove, each)
        return [self.built(each) for each in servers.list()]

    def test_while_its_owner_replans_too(self):
        self.hold(2, APART)
        self.disable(self.before['a-0'])

        self.act(self.uuid, 'replan')
        server = self.redeem(self.uuid, 'a-0', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.eventually(
            lambda: self.group(self.uuid)['revision'],
            lambda revision: revision is None,
        )
        self.assertEqual(2, len(set(self.planned(self.uuid).values())))
        self.assert_nothing_lost()


class TestDeletedHost(world.WorldCase):
    """The host does not come back."""

    SHARES_CLOUD = False

    def test_from_a_host_that_was_deleted(self):
        zone = {'availability_zone': 'az2'}
        self.hold(2, **zone)
        self.services.delete(self.service(self.before['a-0']))

        self.assert_elsewhere(**zone)


class TestInVain(world.WorldCase):
    """There is no other place, and nobody loses one."""

    def setUp(self):
        super().setUp()
        self.hold(2, APART)

    def refused(self):
        why = self.refusal(self.uuid, 'a-0')
        self.assertIn("planned host does not pass Nova's filters", why)
        self.assertIn('it stays held', why)
        self.assertEqual({'HELD'}, {each['status'] for each in self.members()})
        self.assert_nothing_lost()
        self.assert_others_stay('a-0')
        return why

    def test_when_nova_refuses_every_place_that_is_found(self):
        self.refuse(lambda _name, spec: bool(spec.scheduler_hints))

        self.assertIn('nor do the other places', self.refused())

    def test_when_no_host_is_left(self):
        """As soon as one is back, it is redeemed where it was."""
        for host in self.HOSTS:
            self.services.disable(self.service(host.name))

        self.assertIn('no other place was found', self.refused())

        self.assertEqual(self.before, self.planned(self.uuid))
        for host in self.HOSTS:
            self.services.enable(self.service(host.name))
        self.assertEqual('ACTIVE', self.attempt(self.uuid, 'a-0'))
        self.assertEqual(self.before, self.planned(self.uuid))
