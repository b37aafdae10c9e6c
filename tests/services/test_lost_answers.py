# SPDX-License-Identifier: Apache-2.0
"""Requests that Placement executes and whose answers are lost."""

from oslo_utils import uuidutils

from nova_groupext.scheduler import serve
from tests.services import races


class TestLostAnswers(races.RaceTestCase):
    def test_hold_whose_answer_was_lost_is_retried(self):
        self.deployment.lose_next_answer()
        self.create_group(is_held=False)

        self.deployment.plan(self.uuid)

        self.assert_waits()
        self.deployment.reap()
        self.assertEqual({'HELD': 3}, self.deployment.status_counts(self.uuid))
        self.assert_at_rest()

    def assert_waits(self):
        group = self.deployment.group(self.uuid)
        self.assertEqual(
            ('PLANNING', serve.PLACEMENT_SILENT), (group.status, group.fault)
        )
        self.assertEqual(
            {'TENTATIVE': 3}, self.deployment.status_counts(self.uuid)
        )

    def test_hold_whose_second_answer_was_lost_is_retried(self):
        self.create_group(is_held=False)
        self.call_at('after hold.post', self.deployment.lose_next_answer)

        self.deployment.plan(self.uuid)

        self.assert_waits()
        self.assertEqual(
            1, len(self.deployment.allocations()), 'the second one'
        )
        self.deployment.reap()
        self.assertEqual({'HELD': 3}, self.deployment.status_counts(self.uuid))
        self.assert_at_rest()

    def test_redeem_whose_answer_was_lost_succeeds(self):
        self.create_group()
        self.deployment.lose_next_answer()

        server = self.deployment.redeem(self.uuid, 'm-0')

        self.assertIn(server, self.deployment.allocations())
        self.assertEqual(
            {'HELD': 2, 'ACTIVE': 1}, self.deployment.status_counts(self.uuid)
        )
        self.deployment.reap()
        self.assert_at_rest()

    def test_redeem_of_several_whose_answer_was_lost_succeeds(self):
        self.create_group()
        created = {uuidutils.generate_uuid() for _each in range(3)}
        self.deployment.lose_next_answer()

        self.deployment.redeem_all(self.uuid, 'm', [*created])

        self.assertEqual(created, set(self.deployment.allocations()))
        self.assertEqual(
            {'ACTIVE': 3}, self.deployment.status_counts(self.uuid)
        )
        self.deployment.reap()
        self.assert_at_rest()

    def test_release_whose_answer_was_lost_is_finished(self):
        self.create_group()
        self.deployment.request_release(self.uuid, 'm-0')
        self.deployment.lose_next_answer()

        self.deployment.release(self.uuid)

        self.assertEqual(3, self.deployment.row_counts()['vrt_holds'])
        self.deployment.reap(0)
        self.assertEqual(2, self.deployment.row_counts()['vrt_holds'])
        self.delete_and_check()

    def test_successor_hold_whose_answer_was_lost_is_held(self):
        self.create_group()
        self.deployment.delete_allocations(
            self.deployment.hold(self.uuid, 'm-0').uuid
        )
        self.deployment.lose_next_answer()

        self.deployment.reap(0)

        self.assert_one_owner()
        self.deployment.reap(0)
        self.assertEqual({'HELD': 3}, self.deployment.status_counts(self.uuid))
        self.delete_and_check()
