# SPDX-License-Identifier: Apache-2.0
"""Two things happen to a group at once: is all of it owned once afterwards?

One process stops at a point of ``nova_groupext.faultpoints``, as long as
another one needs for all that it does; then it goes on. So every run is the
same.
"""

import contextlib
import itertools

from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
from testtools import content

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.scheduler.look import servers as nova_servers
from tests.services import life
from tests.services import servers


class RaceCase(life.LifeTestCase):
    # Nothing runs side by side here: the smallest database does.
    SERVER = servers.SQLITE
    POLICIES = ()
    SEATS = 2

    def setUp(self):
        super().setUp()
        self.wide = self.life.make_provider(self.SEATS)
        self.narrow = self.life.make_provider(seats=1)

    def begin(self, is_held=True):
        """Describe a group of three, of which two share a provider."""
        self.uuid = self.life.describe(
            [self.wide, self.wide, self.narrow], self.POLICIES
        )
        if is_held:
            self.life.plan(self.uuid)
            self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))

    def end(self):
        """Reap, delete the group, and see that servers have the rest."""
        self.life.reap()
        # A server outlives its group.
        self.assert_at_rest(self.servers())
        if self.life.find(self.uuid) is not None:
            with contextlib.suppress(exception.GenerationConflict):
                self.life.mark_deleted(self.uuid)
            self.life.release(self.uuid)
        self.assertEqual({}, self.life.rows())
        self.assertLessEqual(set(self.life.books()), self.servers())

    def servers(self):
        return set()


class PairsCase(RaceCase):
    """Each thing that happens, at every point of each other thing."""

    # {(class, what happens): its points}; the same for whatever else does.
    _known_points = {}

    def race(self, one, other):
        for point in self.points(one):
            self.addDetail('at', content.text_content(point))
            self.set_up(one)
            self.at(point, lambda: self.do(other))
            self.do(one)
            faultpoints.trap = None
            self.end()
            self.check_servers()

    def points(self, one):
        """Return where to stop: before each write and after the last."""
        key = type(self), one
        if key not in self._known_points:
            self._known_points[key] = self._find_points(one)
        return self._known_points[key]

    def _find_points(self, one):
        """Note the points of one thing that happens alone.

        None while a row is locked: all others wait for that to be over.
        """
        self.set_up(one)
        reached = []

        def note(point):
            if not db._is_inside.get():
                reached.append(point)

        faultpoints.trap = note
        self.do(one)
        faultpoints.trap = None
        self.end()
        self.check_servers()
        before = [each for each in reached if each.startswith('before')]
        return [*dict.fromkeys(before), reached[-1]]

    def set_up(self, one):
        self.granted, self.refused, self.deleted = set(), set(), set()
        self.begin(is_held=one != 'hold')
        if one == 'follow':
            self.do_redeem()
            self.delete_server()
        if one == 'restore':
            self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)

    def do(self, name):
        with contextlib.suppress(*life.REFUSALS):
            getattr(self, f'do_{name}')()
        self.assert_one_owner()

    def do_hold(self):
        """Plan, in place of a planner that seems to have died."""
        timeutils.advance_time_seconds(life.LATER)
        self.life.plan(self.uuid)

    def do_redeem(self):
        server = uuidutils.generate_uuid()
        try:
            self.life.redeem(self.uuid, 'm-0', server)
        except nova_exc.NoValidHost:
            self.refused.add(server)
            raise
        self.granted.add(server)

    def do_redeem_all(self):
        created = {uuidutils.generate_uuid() for _each in range(2)}
        try:
            self.life.redeem_all(self.uuid, 'm', [*created])
        except nova_exc.NoValidHost:
            self.refused |= created
            raise
        self.granted |= created

    def do_release(self):
        self.life.give_up(self.uuid, 'm-0')
        self.life.release(self.uuid)

    def do_delete(self):
        self.life.delete(self.uuid)

    def do_expire(self):
        self.life.expire(self.uuid)
        self.life.reap(0)

    def do_reap(self):
        self.life.reap(0)

    def do_reap_late(self):
        self.life.reap()

    do_restore = do_reap

    def do_follow(self):
        self.delete_server()
        self.life.reap(0)

    def delete_server(self):
        """Delete the server of a member, as Nova does."""
        member = self.life.member(self.uuid, 'm-0')
        if member.status == states.Member.ACTIVE:
            server = member.server_uuid
            self.life.fates[server] = nova_servers.Fate.DELETED
            self.life.remove(server)
            self.deleted.add(server)

    def servers(self):
        return self.granted

    def check_servers(self):
        """Who was told to have a place has it; who was refused, has none."""
        books = self.life.books()
        self.assertEqual(set(), self.refused & set(books))
        self.assertEqual(self.granted - self.deleted, set(books))
        for server in books:
            self.life.remove(server)


def add_pairs(case, ones, others):
    """Give a PairsCase a test for each of some things during others."""
    for one, other in itertools.product(ones, others):

        def test(self, one=one, other=other):
            self.race(one, other)

        setattr(case, f'test_{other}_during_{one}', test)
