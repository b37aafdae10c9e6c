# SPDX-License-Identifier: Apache-2.0
"""Replacement of members whose hosts Nova refuses."""

import dataclasses
import time

import fixtures

from nova_groupext.scheduler.decide import decide
from nova_groupext.scheduler.placement import client
from tests.functional import base
from tests.functional import changing_cloud

APART = {'type': 'anti-affinity', 'scope': 'host'}
TOGETHER = {'type': 'affinity', 'scope': 'rack'}


class TestDown(changing_cloud.ChangingCloudTestCase):
    def test_group_without_a_running_host_is_undecided(self):
        for host in self.HOSTS:
            self.force_down(host.name)

        group = self.describe({'members': {'a': base.member()}})

        self.assertEqual('UNDECIDED', group['status'], group)
        self.assertIsNone(group['refusal'])


class TestLongDecision(changing_cloud.ChangingCloudTestCase):
    """Decisions that take longer than Nova's service_down_time."""

    PARTS = dataclasses.replace(
        changing_cloud.ChangingCloudTestCase.PARTS,
        config=f'{changing_cloud.ChangingCloudTestCase.PARTS.config}\n'
        '[DEFAULT]\nservice_down_time = 6\nreport_interval = 1\n',
    )

    def test_rehearsal_uses_current_service_states(self):
        ask = decide._ask

        def ask_slowly(*args):
            time.sleep(7)
            return ask(*args)

        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.decide.decide._ask',
                ask_slowly,
            )
        )

        group = self.describe({'members': {'a': base.member()}})

        self.assertEqual('HELD', group['status'], group)

    def test_slow_snapshot_does_not_take_hosts_for_down(self):
        candidates = client.PlacementClient.candidates

        def ask_slowly(*args, **kwargs):
            time.sleep(4)
            return candidates(*args, **kwargs)

        self.patch(client.PlacementClient, 'candidates', ask_slowly)
        other = base.member('m1.small')

        group = self.describe({'members': {'a': base.member(), 'b': other}})

        self.assertEqual('HELD', group['status'], group)


class TestReplacement(changing_cloud.ChangingCloudTestCase):
    """Replacements on another host during the server's request."""

    def test_member_of_a_disabled_host_is_replaced(self):
        self.hold(3)
        self.disable(self.before['a-0'])

        self.assert_redeemed_elsewhere()

        self.assert_other_holds_kept('a-0')

    def test_member_of_a_host_that_is_down_is_replaced(self):
        self.hold(2, APART)
        self.force_down(self.before['a-0'])

        self.assert_redeemed_elsewhere()

        self.assert_other_holds_kept('a-0')
        self.assertEqual(2, len(set(self.planned_hosts(self.uuid).values())))

    def test_member_whose_server_alone_is_filtered_is_replaced(self):
        """The filter accepts requests without hints, as planning has them."""
        self.hold(2, APART)
        host = self.before['a-0']
        self.reject_hosts(
            lambda name, spec: name == host and spec.scheduler_hints
        )

        self.assert_redeemed_elsewhere()

        self.assert_other_holds_kept('a-0')

    def test_replacement_moves_members_with_strict_affinity(self):
        self.hold(2, APART, TOGETHER)
        self.disable(self.before['a-0'])

        self.assert_redeemed_elsewhere()

        planned = set(self.planned_hosts(self.uuid).values())
        self.assertEqual(2, len(planned))
        self.assertEqual(set(), planned & set(self.before.values()))
        self.assertEqual([], self.group(self.uuid)['drift'])
        self.assertEqual('ACTIVE', self.try_redeem(self.uuid, 'a-1'))

    def test_replacement_moves_as_few_members_as_possible(self):
        """The pair moves; the others stay, though a host would be better."""
        pair = {
            'members': {'p': base.member(count=2)},
            'policies': [APART, TOGETHER],
        }
        others = {
            'members': {'o': base.member(count=3)},
            'policies': [{**APART, 'scope': 'rack', 'strict': False}],
        }
        for host in ('cmp-5', 'cmp-6'):
            self.disable(host)
        self.hold_topology({'groups': {'pair': pair, 'others': others}})
        for host in ('cmp-5', 'cmp-6'):
            self.services.enable(self.service(host))
        [path, *_] = [
            path
            for path, host in self.before.items()
            if [*self.before.values()].count(host) == 1
            and path.startswith('pair/')
        ]
        self.disable(self.before[path])

        self.assert_redeemed_elsewhere(path)

        self.assert_other_holds_kept('pair/p-0', 'pair/p-1')

    def test_member_bound_to_a_running_server_is_not_replaced(self):
        self.hold(2, APART, TOGETHER)
        server = self.redeem(self.uuid, 'a-1', 'm1.tiny')
        self.disable(self.before['a-0'])

        why = self.redeem_refusal(self.uuid, 'a-0')

        self.assertIn('no other host was found for it; it stays held', why)
        self.assertEqual(self.before['a-1'], self.host_of(server))
        self.assertEqual(self.before, self.planned_hosts(self.uuid))
        self.assert_nothing_lost()

    def test_replacement_does_not_hold_released_members(self):
        self.hold(3, APART)
        self.act(self.uuid, 'release', {'members': ['a-2']})
        self.disable(self.before['a-0'])

        server = self.redeem(self.uuid, 'a-0', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual(
            ['ACTIVE', 'HELD', 'RELEASED'],
            [each['status'] for each in self.members()],
        )

    def test_all_members_of_one_request_are_replaced(self):
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
            min_count=count, scheduler_hints=base.member_hints(self.uuid, path)
        )
        servers = self.cloud.nova('demo').servers
        for each in servers.list():
            self.addCleanup(self.delete_servers, each)
        return [self.wait_for_build(each) for each in servers.list()]

    def test_replacement_during_a_replan_succeeds(self):
        self.hold(2, APART)
        self.disable(self.before['a-0'])

        self.act(self.uuid, 'replan')
        server = self.redeem(self.uuid, 'a-0', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.eventually(
            lambda: self.group(self.uuid)['revision'],
            lambda revision: revision is None,
        )
        self.assertEqual(2, len(set(self.planned_hosts(self.uuid).values())))
        self.assert_nothing_lost()


class TestDeletedHost(changing_cloud.ChangingCloudTestCase):
    """A host that is deleted for good."""

    SHARES_CLOUD = False

    def test_member_of_a_deleted_host_is_replaced(self):
        zone = {'availability_zone': 'az2'}
        self.hold(2, **zone)
        self.services.delete(self.service(self.before['a-0']))

        self.assert_redeemed_elsewhere(**zone)


class TestWithoutAnotherHost(changing_cloud.ChangingCloudTestCase):
    """Replacements without another host, which release no hold."""

    def setUp(self):
        super().setUp()
        self.hold(2, APART)

    def refused(self):
        why = self.redeem_refusal(self.uuid, 'a-0')
        self.assertIn("Nova's filters refuse its planned host", why)
        self.assertIn('it stays held', why)
        self.assertEqual({'HELD'}, {each['status'] for each in self.members()})
        self.assert_nothing_lost()
        self.assert_other_holds_kept('a-0')
        return why

    def test_member_stays_held_if_nova_refuses_every_host(self):
        self.reject_hosts(lambda _name, spec: bool(spec.scheduler_hints))

        self.assertIn('they also refuse the other hosts', self.refused())

    def test_member_stays_held_without_an_enabled_host(self):
        """The member is redeemed once its host is enabled."""
        for host in self.HOSTS:
            self.services.disable(self.service(host.name))

        self.assertIn('no other host was found', self.refused())

        self.assertEqual(self.before, self.planned_hosts(self.uuid))
        for host in self.HOSTS:
            self.services.enable(self.service(host.name))
        self.assertEqual('ACTIVE', self.try_redeem(self.uuid, 'a-0'))
        self.assertEqual(self.before, self.planned_hosts(self.uuid))
