# SPDX-License-Identifier: Apache-2.0
"""Two things happen at once to a group that has its hosts to itself.

It is as in test_pairs, with a filler; and a stranger wants a place there.
"""

from tests.services import life
from tests.services import races


class AloneCase(races.PairsCase):
    POLICIES = ({'type': 'exclusive', 'scope': 'host'},)
    SEATS = 3

    def set_up(self, one):
        super().set_up(one)
        if one == 'keep':
            self.life.give_up(self.uuid, 'm-0')

    def do_keep(self):
        self.life.keep()

    def do_stranger(self):
        """Somebody asks for the smallest part of the wide host."""
        consumer = self.life.fill(self.wide)
        if consumer in self.life.books():
            self.granted.add(consumer)

    def end(self):
        self.life.reap()
        self.assert_full()
        super().end()

    def assert_full(self):
        """Where the group has something, it or others have all."""
        seats = {self.wide: self.SEATS, self.narrow: 1}
        rows, books = self.life.owners(), self.life.books()
        for provider in {hold.provider_uuid for hold, _ in rows.promised()}:
            used = sum(
                part[provider]['resources']['VCPU']
                for part in books.values()
                if provider in part
            )
            self.assertEqual(seats[provider] * life.AMOUNT, used)


class TestPairsAlone(AloneCase):
    def test_no_stranger_comes_in_while_places_change_hands(self):
        for one in ('release', 'redeem', 'keep'):
            for point in self.points(one):
                self.set_up(one)
                self.at(point, self.do_stranger)
                self.do(one)
                self.assertLessEqual(self.life.books().keys(), self.known())
                self.end()
                self.check_servers()

    def known(self):
        return self.life.owners().books().keys()


races.add_pairs(
    TestPairsAlone, ('follow', 'restore', 'keep'), ('release', 'keep')
)
races.add_pairs(TestPairsAlone, ('hold', 'follow', 'restore'), ('stranger',))
