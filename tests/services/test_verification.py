# SPDX-License-Identifier: Apache-2.0
"""Holds beyond the capacity of a host are given back, whoever reads them."""

from nova import exception as nova_exc

from tests.services import life
from tests.services import servers


class TestTooMuch(life.LifeTestCase):
    """A host becomes too small for the last one of two holds."""

    SERVER = servers.SQLITE

    def setUp(self):
        super().setUp()
        self.provider = self.life.make_provider(seats=2)
        self.uuid = self.life.describe([self.provider, self.provider])

    def shrink(self):
        self.life.resize(self.provider, 1)

    def hold_too_much(self):
        """Return the paths of the member that keeps its hold, and loses it.

        The hold with the lower uuid stays.
        """
        self.life.plan(self.uuid)
        self.shrink()
        paths = ('m-0', 'm-1')
        return sorted(paths, key=lambda p: self.life.hold(self.uuid, p).uuid)

    def assert_one_is_left(self, status):
        self.life.reap(0)
        self.assert_at_rest()
        self.assertEqual(
            {status: 1, 'FAILED': 1}, self.life.statuses(self.uuid)
        )
        self.assertEqual(1, len(self.life.books()))

    def test_redeem_of_the_hold_beyond_capacity_is_refused(self):
        _keeper, loser = self.hold_too_much()

        self.assertRaises(
            nova_exc.NoValidHost, self.life.redeem, self.uuid, loser
        )

        self.assertEqual(
            {'HELD': 1, 'FAILED': 1}, self.life.statuses(self.uuid)
        )
        self.assert_one_is_left('HELD')

    def test_redeem_of_the_other_hold_succeeds(self):
        keeper, _loser = self.hold_too_much()

        server = self.life.redeem(self.uuid, keeper)

        self.assertIn(server, self.life.books())

    def test_reaper_gives_the_hold_beyond_capacity_back(self):
        self.hold_too_much()

        self.assert_one_is_left('HELD')

    def test_swap_beyond_capacity_costs_one_member_its_hold(self):
        one, other = (self.life.make_provider(seats=1) for _each in range(2))
        self.uuid = self.life.held([one, other])
        self.at('after swap.apply', lambda: self.life.resize(one, 0))

        self.life.plan(self.life.revise(self.uuid, {'m-0': other, 'm-1': one}))

        self.assertEqual('FAILED', self.life.member(self.uuid, 'm-1').status)
        books = self.life.books().values()
        used = {provider for has in books for provider in has}
        self.assertEqual({other}, used & {one, other})

    def test_plan_beyond_capacity_is_not_held(self):
        self.at('after hold.post', self.shrink)

        self.life.plan(self.uuid)

        self.assertEqual({'TENTATIVE': 2}, self.life.statuses(self.uuid))
        self.life.reap()
        self.assertEqual({}, self.life.books())
