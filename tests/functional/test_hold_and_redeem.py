# SPDX-License-Identifier: Apache-2.0
"""Ownership of capacity from the hold to the server and back."""

from concurrent import futures

from nova_groupext.cloud import hosts
from tests.functional import base

ONE_FULL_HOST = {
    'members': {
        'db': base.member('m1.xlarge', availability_zone='az1'),
    }
}


class TestHoldAndRedeem(base.GroupTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az2', vcpus=8),
    )

    def test_held_host_refuses_other_servers_and_accepts_its_member(self):
        group = self.hold_group(ONE_FULL_HOST)
        self.assertEqual({'cmp-1': 0, 'cmp-2': 8}, self.free())

        stranger = self.boot(
            'm1.tiny', user='admin', availability_zone='az1:cmp-1'
        )

        self.assertEqual('ERROR', stranger.status)
        self.assertIn('No valid host', stranger.fault['message'])
        server = self.redeem(
            group['id'], 'db', 'm1.xlarge', availability_zone='az1'
        )
        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual('cmp-1', self.host_of(server))
        self.assertEqual({'cmp-1': 0, 'cmp-2': 8}, self.free())

    def test_server_with_a_port_becomes_its_member(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']

        server = self.redeem(uuid, 'a', 'm1.tiny', nics='auto')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertIn('private', server.addresses)
        [member] = self.group(uuid)['members']
        self.assertEqual(server.id, member['server_id'])

    def test_deletion_of_a_group_frees_exactly_its_holds(self):
        other = self.hold_group({'members': {'x': base.member('m1.medium')}})
        before = self.free()
        group = self.hold_group(
            {'members': {'y': base.member('m1.large', count=2)}}
        )
        self.assertEqual(sum(before.values()) - 8, sum(self.free().values()))

        self.delete_group(group['id'])

        self.assertEqual(before, self.free())
        self.assertEqual('HELD', self.group(other['id'])['status'])

    def test_a_server_keeps_its_capacity_when_its_group_is_deleted(self):
        group = self.hold_group({'members': {'a': base.member(count=2)}})
        server = self.redeem(group['id'], 'a-0', 'm1.tiny')

        self.delete_group(group['id'])

        self.assertEqual('ACTIVE', server.manager.get(server).status)
        self.assertEqual(15, sum(self.free().values()))

    def test_release_frees_the_named_members_only(self):
        group = self.hold_group({'members': {'a': base.member(count=3)}})

        self.act(group['id'], 'release', {'members': ['a-1']})

        self.eventually(
            lambda: sum(self.free().values()), lambda free: free == 14
        )
        now = self.group(group['id'])
        self.assertEqual(
            {'a-0': 'HELD', 'a-1': 'RELEASED', 'a-2': 'HELD'},
            {each['path']: each['status'] for each in now['members']},
        )
        late = self.redeem_refusal(group['id'], 'a-1')
        self.assertIn('RELEASED', late)

    def test_release_of_everything_releases_the_group(self):
        group = self.hold_group({'members': {'a': base.member(count=3)}})

        self.act(group['id'], 'release', {'members': None})

        self.eventually(
            lambda: sum(self.free().values()), lambda free: free == 16
        )
        self.assertEqual('RELEASED', self.group(group['id'])['status'])

    def test_what_if_holds_nothing_until_the_hold_action(self):
        group = self.describe(ONE_FULL_HOST, hold=False)
        self.assertEqual('PLANNED', group['status'], group)
        self.assertEqual({'cmp-1': 8, 'cmp-2': 8}, self.free())

        answer = self.act(group['id'], 'hold')

        self.assertEqual(202, answer.status_code, answer.text)
        self.eventually(
            self.group, lambda now: now['status'] == 'HELD', group['id']
        )
        self.assertEqual({'cmp-1': 0, 'cmp-2': 8}, self.free())

    def test_hold_of_a_what_if_that_no_longer_fits_is_replanned(self):
        group = self.describe(
            {'members': {'a': base.member('m1.xlarge')}}, hold=False
        )
        [planned] = self.planned_hosts(group['id']).values()
        [other] = {'cmp-1', 'cmp-2'} - {planned}
        self.fill(planned, VCPU=1)

        self.act(group['id'], 'hold')

        self.eventually(
            self.group, lambda now: now['status'] == 'HELD', group['id']
        )
        self.assertEqual({'a': other}, self.planned_hosts(group['id']))

    def test_group_that_does_not_fit_is_refused_and_holds_nothing(self):
        group = self.describe(
            {'members': {'a': base.member('m1.xlarge', count=3)}}
        )

        self.assertEqual('REFUSED', group['status'], group)
        self.assertTrue(group['refusal']['conflict'])
        self.assertEqual({'cmp-1': 8, 'cmp-2': 8}, self.free())

    def test_optional_members_without_capacity_are_left_out(self):
        group = self.hold_group(
            {'members': {'a': base.member('m1.xlarge', count=3, min_count=1)}}
        )

        self.assertEqual(
            {'a-0': 'HELD', 'a-1': 'HELD', 'a-2': 'TENTATIVE'},
            {each['path']: each['status'] for each in group['members']},
        )

    def test_concurrent_servers_of_one_member_redeem_once(self):
        group = self.hold_group({'members': {'a': base.member()}})

        with futures.ThreadPoolExecutor(2) as pool:
            attempts = [
                pool.submit(self.try_redeem, group['id'], 'a')
                for _ in range(2)
            ]
        outcomes = sorted(attempt.result() for attempt in attempts)

        self.assertEqual('ACTIVE', outcomes[0], outcomes)
        self.assertRegex(outcomes[1], 'a (could not be redeemed|is )')
        self.assertEqual(15, sum(self.free().values()))

    def test_server_that_differs_from_its_description_is_refused(self):
        group = self.hold_group({'members': {'a': base.member('m1.small')}})

        self.assertIn('differs', self.redeem_refusal(group['id'], 'a'))

        self.assertEqual('HELD', self.group(group['id'])['status'])

    def test_plan_satisfies_anti_affinity_of_hosts(self):
        group = self.hold_group(
            {
                'members': {'a': base.member(count=2)},
                'policies': [{'type': 'anti-affinity', 'scope': 'host'}],
            }
        )

        self.assertEqual(
            ['cmp-1', 'cmp-2'],
            sorted(self.planned_hosts(group['id']).values()),
        )
