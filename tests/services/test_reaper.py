# SPDX-License-Identifier: Apache-2.0
"""Does the reaper find what no row knows of, and repair what spans hosts?"""

from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.scheduler.follow import follow
from tests.services import life
from tests.services import servers


class ReaperCase(life.LifeTestCase):
    SERVER = servers.SQLITE


class TestStrays(ReaperCase):
    """A planner stops before it asks Placement, and dies after that."""

    def setUp(self):
        super().setUp()
        provider = self.life.make_provider(seats=4)
        self.uuid = self.life.describe([provider, provider])
        faultpoints.trap = self.stop
        self.assertRaises(life.Died, self.life.plan, self.uuid)
        faultpoints.trap = None
        self.reaper = self.life.planner()

    def stop(self, point):
        """Stop for so long that others give up its rows, and do its work."""
        if point == 'before hold.post':
            faultpoints.trap = None
            self.life.reap()
            faultpoints.trap = self.die

    @staticmethod
    def die(point):
        if point == 'after hold.post':
            raise life.Died

    def reap(self):
        self.reaper.reap(self.life.context)

    def strays(self):
        return set(self.life.books()) - set(self.life.owners().books())

    def test_they_are_given_back_when_they_are_there_for_two_rounds(self):
        self.reap()
        self.assertEqual(2, len(self.strays()))

        self.reap()

        self.assertEqual(set(), self.strays())
        self.assert_at_rest()
        self.assertEqual({'HELD': 2}, self.life.statuses(self.uuid))

    def test_others_in_the_books_are_left_alone(self):
        server = self.life.redeem(self.uuid, 'm-0')
        other = self.life.fill(self.life.make_provider(seats=1))

        self.reap()
        self.reap()

        self.assertEqual({other}, self.strays())
        self.assertIn(server, self.life.books())

    def test_they_are_looked_for_only_when_there_are_some(self):
        self.reap()
        self.reap()
        books = self.life.ledger()
        asked = []
        books.providers = lambda _context: asked.append('all') or []
        self.reaper._ledger = lambda: books

        self.reap()
        self.reap()

        self.assertEqual([], asked)


class TestTwoProviders(ReaperCase):
    """A member has something of a host, and something of a part of it."""

    def test_a_hold_of_both_is_held_again_once(self):
        providers = [self.life.make_provider(seats=3) for _ in range(2)]
        uuid = self.life.describe(providers[:1])
        self.span(uuid, providers)
        self.life.plan(uuid)
        self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        reached = []
        faultpoints.trap = reached.append

        follow.follow_holds(self.life.context, self.life.ledger())

        self.assertEqual(1, reached.count('before hold.post'))
        self.assert_at_rest()
        self.assertEqual({'HELD': 1}, self.life.statuses(uuid))

    def span(self, uuid, providers):
        member = self.life.member(uuid, 'm-0')
        part = {'resources': {'VCPU': life.AMOUNT}}
        both = dict.fromkeys(providers, part)
        db.compare_and_set(
            self.life.context,
            models.Member,
            models.Member.id == member.id,
            request={**member.request, 'allocations': both},
        )
