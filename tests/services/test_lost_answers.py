# SPDX-License-Identifier: Apache-2.0
"""What if Placement did what it was asked to, and nobody heard of it?"""

from oslo_utils import uuidutils

from nova_groupext.scheduler import planner
from tests.services import races


class TestLostAnswers(races.RaceCase):
    def test_of_a_hold(self):
        self.life.lose_answer()
        self.begin(is_held=False)

        self.life.plan(self.uuid)

        self.assert_waits()
        self.life.reap()
        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.assert_at_rest()

    def assert_waits(self):
        group = self.life.group(self.uuid)
        self.assertEqual(
            ('PLANNING', planner.PLACEMENT_SILENT), (group.status, group.fault)
        )
        self.assertEqual({'TENTATIVE': 3}, self.life.statuses(self.uuid))

    def test_of_the_second_request_of_a_hold(self):
        self.begin(is_held=False)
        self.at('after hold.post', self.life.lose_answer)

        self.life.plan(self.uuid)

        self.assert_waits()
        self.assertEqual(1, len(self.life.books()), 'the second one')
        self.life.reap()
        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.assert_at_rest()

    def test_of_a_swap(self):
        self.begin()
        self.life.lose_answer()

        server = self.life.redeem(self.uuid, 'm-0')

        self.assertIn(server, self.life.books())
        self.assertEqual(
            {'HELD': 2, 'ACTIVE': 1}, self.life.statuses(self.uuid)
        )
        self.life.reap()
        self.assert_at_rest()

    def test_of_a_swap_of_several(self):
        self.begin()
        created = {uuidutils.generate_uuid() for _each in range(3)}
        self.life.lose_answer()

        self.life.redeem_all(self.uuid, 'm', [*created])

        self.assertEqual(created, set(self.life.books()))
        self.assertEqual({'ACTIVE': 3}, self.life.statuses(self.uuid))
        self.life.reap()
        self.assert_at_rest()

    def test_of_an_emptying(self):
        self.begin()
        self.life.give_up(self.uuid, 'm-0')
        self.life.lose_answer()

        self.life.release(self.uuid)

        self.assertEqual(3, self.life.rows()['vrt_holds'])
        self.life.reap(0)
        self.assertEqual(2, self.life.rows()['vrt_holds'])
        self.end()

    def test_of_a_hold_that_is_restored(self):
        self.begin()
        self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)
        self.life.lose_answer()

        self.life.reap(0)

        self.assert_one_owner()
        self.life.reap(0)
        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.end()
