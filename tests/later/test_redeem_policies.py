# SPDX-License-Identifier: Apache-2.0
"""Does a server keep its group's policies, whatever befell the others?"""

from nova_groupext.conf import CONF
from tests.functional import base
from tests.functional import moves

APART = moves.group(3, moves.policy('anti-affinity', 'host'))


class TestRedeemPolicies(moves.MovingTestCase):
    """Servers are forced past the scheduler, onto hosts of other members."""

    def setUp(self):
        super().setUp()
        self.uuid = self.held(APART)['id']
        self.places = self.planned(self.uuid)
        server = self.redeem(self.uuid, 'm-0', 'm1.tiny')
        self.force(server, self.places['m-1'])
        self.follow()

    def test_a_member_goes_where_no_policy_is_broken(self):
        server = self.redeem(self.uuid, 'm-1', 'm1.tiny')

        self.assertNotIn(
            self.host_of(server), (self.places['m-1'], self.places['m-2'])
        )
        self.assertEqual('ACTIVE', server.status)

    def test_a_member_that_none_has_come_near_stays(self):
        server = self.redeem(self.uuid, 'm-2', 'm1.tiny')

        self.assertEqual(self.places['m-2'], self.host_of(server))

    def test_where_there_is_no_other_place_it_stays_held(self):
        for host, free in self.free().items():
            if host != self.places['m-1'] and free:
                self.empty_later(self.cloud.fill(host, VCPU=free))

        why = self.refusal(self.uuid, 'm-1')

        self.assertIn('it would break a policy of its group', why)
        self.assertIn('it stays held', why)
        [member] = [
            each
            for each in self.group(self.uuid)['members']
            if each['path'] == 'm-1'
        ]
        self.assertEqual('HELD', member['status'])

    def test_any_of_several_is_one_that_breaks_nothing(self):
        """No planner has to be asked where another member will do."""
        CONF.set_override('redeem_replacement_time_limit', 0, 'vrt')
        self.addCleanup(
            CONF.clear_override, 'redeem_replacement_time_limit', 'vrt'
        )

        server = self.boot(
            'm1.tiny', scheduler_hints=base.pointer(self.uuid, 'm')
        )

        self.assertEqual(self.places['m-2'], self.host_of(server))
