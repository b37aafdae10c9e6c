# SPDX-License-Identifier: Apache-2.0
"""Redeems that satisfy strict policies after forced moves."""

from nova_groupext.conf import CONF
from tests.functional import base
from tests.functional import foreign_consumers
from tests.functional import moves

APART = moves.group(3, moves.policy('anti-affinity', 'host'))


class TestRedeemPolicies(moves.MovingTestCase):
    """A server that was forced onto the host of another held member."""

    def setUp(self):
        super().setUp()
        self.uuid = self.hold_group(APART)['id']
        self.places = self.planned_hosts(self.uuid)
        server = self.redeem(self.uuid, 'm-0', 'm1.tiny')
        self.force_live_migration(server, self.places['m-1'])
        self.follow()

    def test_member_in_conflict_is_replaced_on_another_host(self):
        server = self.redeem(self.uuid, 'm-1', 'm1.tiny')

        self.assertNotIn(
            self.host_of(server), (self.places['m-1'], self.places['m-2'])
        )
        self.assertEqual('ACTIVE', server.status)

    def test_member_without_a_conflict_stays_on_its_host(self):
        server = self.redeem(self.uuid, 'm-2', 'm1.tiny')

        self.assertEqual(self.places['m-2'], self.host_of(server))

    def test_member_in_conflict_without_another_host_stays_held(self):
        for host, free in self.free().items():
            if host != self.places['m-1'] and free:
                self.delete_allocations_later(
                    foreign_consumers.fill(self.cloud, host, VCPU=free)
                )

        why = self.redeem_refusal(self.uuid, 'm-1')

        self.assertIn('it would violate a policy of its group', why)
        self.assertIn('it stays held', why)
        [member] = [
            each
            for each in self.group(self.uuid)['members']
            if each['path'] == 'm-1'
        ]
        self.assertEqual('HELD', member['status'])

    def test_redeem_by_member_set_selects_a_member_without_conflict(self):
        """No planner is needed where another member of the set fits."""
        CONF.set_override('redeem_replacement_time_limit', 0, 'vrt')
        self.addCleanup(
            CONF.clear_override, 'redeem_replacement_time_limit', 'vrt'
        )

        server = self.boot(
            'm1.tiny', scheduler_hints=base.member_hints(self.uuid, 'm')
        )

        self.assertEqual(self.places['m-2'], self.host_of(server))
