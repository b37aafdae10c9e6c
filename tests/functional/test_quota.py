# SPDX-License-Identifier: Apache-2.0
"""Can a project hold and run more than it may, whatever comes at once?"""

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

ONE = {'members': {'a': base.member()}}


class TestQuota(base.GroupTestCase):
    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),)

    def setUp(self):
        super().setUp()
        # What Keystone would say, to those who ask it.
        limits = {'servers': 3, 'class:VCPU': 3, 'class:MEMORY_MB': 10**6}
        self.useFixture(limit_fixture.LimitFixture(limits, {}))
        self.set('endpoint_id', 'nova', 'oslo_limit')

    def test_what_is_held_and_asked_for_stays_within_the_quota(self):
        self.limit(cores=3)
        self.held({'members': {'a': base.member(count=2)}})
        two_more = {'members': {'a': base.member('m1.medium')}}

        for hold in (True, False):
            response = self.post(topology=two_more, hold=hold)
            self.assertEqual(403, response.status_code, response.text)
            self.assertIn(
                'cores: 2 asked for, 2 of 3 used or held, 1 too many',
                response.json()['forbidden']['message'],
            )

    def test_what_runs_and_what_is_held_counts_once_however_nova_counts(self):
        self.limit(cores=3, instances=3)
        group = self.held({'members': {'a': base.member(count=2)}})
        self.redeem(group['id'], 'a-0', 'm1.tiny')

        for option, value in (
            ('count_usage_from_placement', False),
            ('count_usage_from_placement', True),
            ('driver', 'nova.quota.UnifiedLimitsDriver'),
        ):
            self.set(option, value, 'quota')
            fits = self.ask_for(1)
            too_much = self.ask_for(2)

            self.assertEqual(202, fits.status_code, fits.text)
            self.assertEqual(403, too_much.status_code, too_much.text)
            for name in ('instances', 'cores'):
                self.assertIn(
                    f'{name}: 2 asked for, 2 of 3 used or held, 1 too many',
                    too_much.text,
                )

    def ask_for(self, count):
        topology = {'members': {'a': base.member(count=count)}}
        return self.post(topology=topology, hold=False)

    def test_of_two_that_want_the_last_slot_one_is_held(self):
        self.limit(cores=1)
        groups = [self.describe(ONE, hold=False)['id'] for _each in range(2)]
        self.meet(hold_plan, 'write_down')

        for group in groups:
            self.assertEqual(202, self.act(group, 'hold').status_code)

        winner, loser = sorted(map(self.decided, groups), key=_is_error)
        self.assertEqual('HELD', winner['status'])
        self.assertEqual('ERROR', loser['status'])
        self.assertIn(
            'cores: 1 asked for, 1 of 1 used or held, 1 too many',
            loser['fault']['message'],
        )
        self.assertEqual({'cmp-1': 7}, self.free())

    def test_a_server_that_is_in_no_cell_yet_counts(self):
        """Its hold is redeemed, and Nova does not see it there."""
        self.limit(cores=1, instances=1)
        group = self.held(ONE)['id']
        others = []
        self.after_scheduling(
            lambda _server: others.append(self.post(topology=ONE))
        )

        server = self.redeem(group, 'a', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status)
        [other] = others
        self.assertEqual(403, other.status_code, other.text)
        self.assertIn('1 of 1 used or held, 1 too many', other.text)

    def test_who_was_refused_is_held_once_there_is_quota(self):
        self.limit(cores=1)
        whatif = self.describe(ONE, hold=False)['id']
        first = self.held(ONE)['id']
        self.assertEqual(403, self.act(whatif, 'hold').status_code)

        self.act(first, 'release')

        self.assertEqual(202, self.act(whatif, 'hold').status_code)
        self.assertEqual('HELD', self.decided(whatif)['status'])

    def test_a_what_if_that_is_revised_counts_like_a_new_one(self):
        self.limit(cores=3)
        whatif = self.describe(ONE, hold=False)

        body = {
            'generation': whatif['generation'],
            'topology': {'members': {'a': base.member(count=900)}},
        }
        response = self.api().put(
            f'{base.GROUPS}/{whatif["id"]}', json={'vrt_group': body}
        )

        self.assertEqual(403, response.status_code, response.text)
        self.assertIn('cores: 900 asked for', response.text)

    def test_what_is_over_the_quota_by_now_is_not_extended(self):
        self.limit(cores=2)
        group = self.held({'members': {'a': base.member(count=2)}})
        self.assertEqual(202, self.act(group['id'], 'extend').status_code)
        extended = self.group(group['id'])['expires_at']
        self.limit(cores=1)

        response = self.act(group['id'], 'extend', {'expires_in': 9999})

        self.assertEqual(403, response.status_code, response.text)
        self.assertIn('cores: 2 asked for, 0 of 1', response.text)
        self.assertEqual(extended, self.group(group['id'])['expires_at'])

    def test_planners_count_a_what_if_once_more(self):
        """What is told of it would show how much is free otherwise."""
        self.limit(cores=20)
        cast = rpcapi.PlannerAPI.serve_group

        def lowered(api, context, group):
            self.limit(cores=3)
            cast(api, context, group)

        self.patch(rpcapi.PlannerAPI, 'serve_group', lowered)
        whatif = self.describe(
            {'members': {'a': base.member(count=20)}}, hold=False
        )

        self.assertEqual('ERROR', whatif['status'])
        self.assertIn(
            'cores: 20 asked for, 0 of 3', whatif['fault']['message']
        )
        self.assertIsNone(whatif['refusal'])

    def test_a_member_that_novas_quota_refuses_stays_held(self):
        self.limit(cores=1)
        group = self.held(ONE)['id']
        before = [hold.uuid for hold in self.holds_of(group)]
        self.boot('m1.tiny')

        self.assertIn('Quota exceeded', self.refusal(group, 'a'))

        self.assertEqual(before, [hold.uuid for hold in self.holds_of(group)])
        [member] = self.group(group)['members']
        self.assertEqual(('HELD', None), (member['status'], member['fault']))
        self.limit(cores=2)
        self.assertEqual('ACTIVE', self.attempt(group, 'a'))

    def test_the_operator_limits_held_members(self):
        whatif = self.describe(ONE, hold=False)['id']
        self.held({'members': {'a': base.member(count=2)}})
        self.set('max_held_members_per_project', 2)

        for refused in (
            self.post(topology=ONE),
            self.post(topology=ONE, hold=False),
            self.act(whatif, 'hold'),
        ):
            self.assertEqual(403, refused.status_code, refused.text)
            self.assertIn('may hold 2 members in all', refused.text)
        other = self.post('other', topology=ONE)
        self.assertEqual(202, other.status_code, other.text)

    def test_of_two_that_want_to_be_the_last_group_one_is_made(self):
        with futures.ThreadPoolExecutor(2) as pool:
            self.set('max_groups_per_project', 1)
            self.meet(VRTGroup, 'create')
            codes = sorted(
                answer.status_code
                for answer in pool.map(
                    lambda _: self.post(topology=ONE, hold=False), range(2)
                )
            )

        self.assertEqual([202, 403], codes)

    def meet(self, where, name):
        """Let two that call it at once begin together, if they can."""
        function, both = getattr(where, name), threading.Barrier(2)

        def together(*args):
            # Who waits alone for a second is not joined any more.
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(1)
            return function(*args)

        self.patch(where, name, together)

    def set(self, option, value, group='vrt'):
        CONF.set_override(option, value, group)
        self.addCleanup(CONF.clear_override, option, group)

    def decided(self, uuid):
        return self.eventually(
            self.group, lambda now: now['status'] != 'PLANNING', uuid
        )


def _is_error(group):
    return group['status'] == 'ERROR'
