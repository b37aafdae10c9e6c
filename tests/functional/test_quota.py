# SPDX-License-Identifier: Apache-2.0
"""Quota of held members and servers, also for concurrent requests."""

from concurrent import futures
import contextlib
import threading

from oslo_limit import fixture as limit_fixture

from nova_groupext.cloud import hosts
from nova_groupext.conf import CONF
from nova_groupext.objects.group import VRTGroup
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.protocol import hold_plan
from tests.functional import base
from tests.functional import growing

# (option, value) of Nova's ways to count
DRIVERS = (
    ('count_usage_from_placement', False),
    ('count_usage_from_placement', True),
    ('driver', 'nova.quota.UnifiedLimitsDriver'),
)

ONE = {'members': {'a': base.member()}}


def set_option(test, option, value, group='vrt'):
    CONF.set_override(option, value, group)
    test.addCleanup(CONF.clear_override, option, group)


def set_unified_limits(test, number):
    """Set Keystone's limits of servers and processors."""
    limits = {
        'servers': number,
        'class:VCPU': number,
        'class:MEMORY_MB': 10**6,
        'class:DISK_GB': 10**6,
    }
    test.useFixture(limit_fixture.LimitFixture(limits, {}))
    set_option(test, 'endpoint_id', 'nova', 'oslo_limit')


class TestQuota(base.GroupTestCase):
    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),)

    def setUp(self):
        super().setUp()
        set_unified_limits(self, 3)

    def test_request_beyond_the_quota_with_holds_is_refused(self):
        self.set_quota(cores=3)
        self.hold_group({'members': {'a': base.member(count=2)}})
        two_more = {'members': {'a': base.member('m1.medium')}}

        for hold in (True, False):
            response = self.post(topology=two_more, hold=hold)
            self.assertEqual(403, response.status_code, response.text)
            self.assertIn(
                'cores: 2 requested, 2 of 3 already used or held, 1 over the '
                'quota',
                response.json()['forbidden']['message'],
            )

    def test_servers_and_holds_count_once_with_every_quota_driver(self):
        self.set_quota(cores=3, instances=3)
        group = self.hold_group({'members': {'a': base.member(count=2)}})
        self.redeem(group['id'], 'a-0', 'm1.tiny')

        for option, value in DRIVERS:
            set_option(self, option, value, 'quota')
            fits = self.ask_for(1)
            too_much = self.ask_for(2)

            self.assertEqual(202, fits.status_code, fits.text)
            self.assertEqual(403, too_much.status_code, too_much.text)
            for name in ('instances', 'cores'):
                self.assertIn(
                    f'{name}: 2 requested, 2 of 3 already used or held, 1 '
                    'over the quota',
                    too_much.text,
                )

    def ask_for(self, count):
        topology = {'members': {'a': base.member(count=count)}}
        return self.post(topology=topology, hold=False)

    def test_server_that_waits_counts_once_with_every_quota_driver(self):
        self.set_quota(cores=2, instances=2)
        set_unified_limits(self, 2)
        member = base.member(count=1, max_count=2)
        uuid = self.hold_group({'members': {'a': member}})['id']
        self.redeem(uuid, 'a', 'm1.tiny')

        for option, value in DRIVERS:
            set_option(self, option, value, 'quota')

            second = self.redeem(uuid, 'a', 'm1.tiny')

            self.assertEqual('ACTIVE', second.status, vars(second))
            self.delete_servers(second)

    def test_concurrent_holds_of_the_last_quota_hold_one_group(self):
        self.set_quota(cores=1)
        groups = [self.describe(ONE, hold=False)['id'] for _each in range(2)]
        self.meet(hold_plan, 'insert_plan')

        for group in groups:
            self.assertEqual(202, self.act(group, 'hold').status_code)

        winner, loser = sorted(map(self.wait_decided, groups), key=_is_error)
        self.assertEqual('HELD', winner['status'])
        self.assertEqual('ERROR', loser['status'])
        self.assertIn(
            'cores: 1 requested, 1 of 1 already used or held, 1 over the '
            'quota',
            loser['fault']['message'],
        )
        self.assertEqual({'cmp-1': 7}, self.free())

    def test_server_without_a_cell_counts(self):
        """The hold is redeemed, and Nova's count does not see the server."""
        self.set_quota(cores=1, instances=1)
        group = self.hold_group(ONE)['id']
        others = []
        self.call_after_scheduling(
            lambda _server: others.append(self.post(topology=ONE))
        )

        server = self.redeem(group, 'a', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status)
        [other] = others
        self.assertEqual(403, other.status_code, other.text)
        self.assertIn('1 of 1 already used or held, 1 over', other.text)

    def test_group_refused_by_quota_is_held_once_quota_is_free(self):
        self.set_quota(cores=1)
        whatif = self.describe(ONE, hold=False)['id']
        first = self.hold_group(ONE)['id']
        self.assertEqual(403, self.act(whatif, 'hold').status_code)

        self.act(first, 'release')

        self.assertEqual(202, self.act(whatif, 'hold').status_code)
        self.assertEqual('HELD', self.wait_decided(whatif)['status'])

    def test_revision_of_a_what_if_is_bounded_by_the_quota(self):
        self.set_quota(cores=3)
        whatif = self.describe(ONE, hold=False)

        body = {
            'generation': whatif['generation'],
            'topology': {'members': {'a': base.member(count=900)}},
        }
        response = self.api().put(
            f'{base.GROUPS}/{whatif["id"]}', json={'vrt_group': body}
        )

        self.assertEqual(403, response.status_code, response.text)
        self.assertIn('cores: 900 requested', response.text)

    def test_extension_beyond_a_lowered_quota_is_refused(self):
        self.set_quota(cores=2)
        group = self.hold_group({'members': {'a': base.member(count=2)}})
        self.assertEqual(202, self.act(group['id'], 'extend').status_code)
        extended = self.group(group['id'])['expires_at']
        self.set_quota(cores=1)

        response = self.act(group['id'], 'extend', {'expires_in': 9999})

        self.assertEqual(403, response.status_code, response.text)
        self.assertIn('cores: 2 requested, 0 of 1', response.text)
        self.assertEqual(extended, self.group(group['id'])['expires_at'])

    def test_planner_checks_the_quota_of_a_what_if_again(self):
        """A decision beyond the quota would reveal free capacity."""
        self.set_quota(cores=20)
        cast = rpcapi.PlannerAPI.serve_group

        def lowered(api, context, group):
            self.set_quota(cores=3)
            cast(api, context, group)

        self.patch(rpcapi.PlannerAPI, 'serve_group', lowered)
        whatif = self.describe(
            {'members': {'a': base.member(count=20)}}, hold=False
        )

        self.assertEqual('ERROR', whatif['status'])
        self.assertIn(
            'cores: 20 requested, 0 of 3', whatif['fault']['message']
        )
        self.assertIsNone(whatif['refusal'])

    def test_member_whose_server_exceeds_novas_quota_stays_held(self):
        self.set_quota(cores=1)
        group = self.hold_group(ONE)['id']
        before = [hold.uuid for hold in self.holds_of(group)]
        self.boot('m1.tiny')

        self.assertIn('Quota exceeded', self.redeem_refusal(group, 'a'))

        self.assertEqual(before, [hold.uuid for hold in self.holds_of(group)])
        [member] = self.group(group)['members']
        self.assertEqual(('HELD', None), (member['status'], member['fault']))
        self.set_quota(cores=2)
        self.assertEqual('ACTIVE', self.try_redeem(group, 'a'))

    def test_limit_of_held_members_per_project_is_enforced(self):
        whatif = self.describe(ONE, hold=False)['id']
        self.hold_group({'members': {'a': base.member(count=2)}})
        set_option(self, 'max_held_members_per_project', 2)

        for refused in (
            self.post(topology=ONE),
            self.post(topology=ONE, hold=False),
            self.act(whatif, 'hold'),
        ):
            self.assertEqual(403, refused.status_code, refused.text)
            self.assertIn('may hold at most 2 members in total', refused.text)
        other = self.post('other', topology=ONE)
        self.assertEqual(202, other.status_code, other.text)

    def test_concurrent_groups_at_the_group_limit_create_one(self):
        with futures.ThreadPoolExecutor(2) as pool:
            set_option(self, 'max_groups_per_project', 1)
            self.meet(VRTGroup, 'create')
            codes = sorted(
                answer.status_code
                for answer in pool.map(
                    lambda _: self.post(topology=ONE, hold=False), range(2)
                )
            )

        self.assertEqual([202, 403], codes)

    def meet(self, where, name):
        """Make two concurrent calls of a function begin together."""
        function, both = getattr(where, name), threading.Barrier(2)

        def together(*args):
            # A call that waits alone for a second goes on alone.
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(1)
            return function(*args)

        self.patch(where, name, together)

    def wait_decided(self, uuid):
        return self.eventually(
            self.group, lambda now: now['status'] != 'PLANNING', uuid
        )


def _is_error(group):
    return group['status'] == 'ERROR'


class TestQuotaOfGrowth(growing.GrowingCase):
    def test_servers_for_a_held_and_a_new_member_count_once(self):
        self.set_quota(cores=2, instances=2)
        set_unified_limits(self, 2)
        for option, value in DRIVERS:
            self.hold_workers(1, 2)
            set_option(self, option, value, 'quota')

            servers = self.boot_many(2)

            self.assertEqual(
                ['ACTIVE'] * 2, [each.status for each in servers], option
            )
            self.delete_servers(*servers)
            self.delete_group(self.uuid)

    def test_server_of_a_former_flavor_counts_with_its_own(self):
        self.hold_workers(1, 3)
        self.grow()
        # The first is to be resized, its second server is like it.
        self.set_quota(ram=2048 + 512)
        self.put(1, max_count=3, flavor='m1.small')

        server = self.grow()

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assert_sound()
