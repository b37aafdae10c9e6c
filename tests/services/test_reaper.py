# SPDX-License-Identifier: Apache-2.0
"""Does the reaper find what no row knows of, and repair what spans hosts?"""

import fixtures
from oslo_utils import timeutils

from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import transitions
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler.follow import audit
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.follow import resizes
from nova_groupext.scheduler.look import servers as nova_servers
from tests import fixtures as ours
from tests import groups
from tests import rounds
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
        rounds.reap(self.reaper, self.life.context)

    def strays(self):
        return set(self.life.books()) - set(self.life.owners().books())

    def test_they_are_given_back_when_they_are_there_for_two_rounds(self):
        self.reap()
        self.assertEqual(2, len(self.strays()))

        self.reap()

        self.assertEqual(set(), self.strays())
        self.assert_at_rest()
        self.assertEqual({'HELD': 2}, self.life.statuses(self.uuid))

    def test_rows_that_own_nothing_do_not_hide_them_for_ever(self):
        self.useFixture(fixtures.MockPatchObject(reaper, 'SEARCH_EVERY', 3))
        self.reap()
        for hold in self.life.owners().holds:
            hold.again().create(self.life.context)

        self.reap()
        self.assertEqual(2, len(self.strays()))
        self.reap()

        self.assertEqual(set(), self.strays())

    def test_what_our_tables_know_nothing_of_is_left_alone(self):
        """They are another installation's, or from before a backup."""
        self.reap()
        self.reap()
        books = self.life.books()
        self.assertNotEqual({}, books)
        ours.wipe()

        for _round in range(3):
            self.reap()

        self.assertEqual(books, self.life.books())

    def test_tombstones_go_after_their_time(self):
        self.reap()
        self.reap()
        day = CONF.vrt.tombstone_lifetime
        self.assertNotEqual(0, db.count(self.life.context, models.Tombstone))

        timeutils.advance_time_seconds(day + 1)
        self.reap()

        self.assertEqual(0, db.count(self.life.context, models.Tombstone))

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


class TestUnknownServers(ReaperCase):
    """Nova knows nothing of a server, and it has the capacity of a member.

    It was deleted before it was scheduled, or its conductor died.
    """

    def setUp(self):
        super().setUp()
        self.uuid = self.life.held([self.life.make_provider(1)])
        self.server = self.life.redeem(self.uuid, 'm-0')
        self.life.fates[self.server] = nova_servers.Fate.UNKNOWN_TO_NOVA

    def findings(self):
        found = audit.audit(self.life.context, self.life.ledger())
        return [(each.kind, each.consumer) for each in found]

    def test_after_a_deadline_the_member_is_held_again(self):
        self.life.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertEqual({'HELD': 1}, self.life.statuses(self.uuid))
        self.assertNotIn(self.server, self.life.books())
        self.assert_at_rest()
        self.assertEqual([], self.findings())

    def test_before_that_it_may_still_be_built(self):
        self.life.reap(CONF.vrt.unknown_server_deadline // 2)

        self.assertEqual({'ACTIVE': 1}, self.life.statuses(self.uuid))
        self.assertIn(self.server, self.life.books())
        self.assertEqual(
            [(audit.Kind.UNKNOWN_SERVER, self.server)], self.findings()
        )

    def test_one_that_gets_its_cell_at_that_moment_keeps_all(self):
        """Of its mapping Nova is asked first, of its build request then."""
        live = nova_servers.Server(nova_servers.Fate.LIVE)
        unknown = nova_servers.Server(nova_servers.Fate.UNKNOWN_TO_NOVA)
        answers = [live, unknown]
        timeutils.advance_time_seconds(CONF.vrt.unknown_server_deadline + 1)
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.look.servers.read',
                lambda _context, uuids: dict.fromkeys(uuids, answers.pop()),
            )
        )

        follow.follow_servers(self.life.context, self.life.ledger())

        self.assertEqual([], answers)
        self.assertEqual({'ACTIVE': 1}, self.life.statuses(self.uuid))
        self.assertIn(self.server, self.life.books())

    def test_a_server_that_waits_for_its_cell_is_let_wait(self):
        self.life.fates[self.server] = nova_servers.Fate.COMING

        self.life.reap(CONF.vrt.unknown_server_deadline + 1)

        self.assertIn(self.server, self.life.books())
        self.assertEqual([], self.findings())


class TestDeciding(ReaperCase):
    """All that a planner may decide at once is being decided."""

    def setUp(self):
        super().setUp()
        provider = self.life.make_provider(seats=2)
        self.expired = self.life.held([provider])
        self.life.expire(self.expired)
        self.abandoned = self.life.describe([provider])
        self.reaper = self.life.planner()
        for _decision in range(CONF.vrt.max_concurrent_plans):
            self.reaper._deciding.acquire()

    def test_what_others_began_is_finished_all_the_same(self):
        self.useFixture(fixtures.Timeout(30, gentle=True))

        self.reaper.reap(self.life.context)

        self.assertEqual({'RELEASED': 1}, self.life.statuses(self.expired))
        self.assertEqual({'TENTATIVE': 1}, self.life.statuses(self.abandoned))

    def test_what_is_left_to_plan_is_planned_once_there_is_time(self):
        self.reaper.serve_waiting(self.life.context)
        self.assertEqual({'TENTATIVE': 1}, self.life.statuses(self.abandoned))

        self.reaper._deciding.release()
        self.reaper.serve_waiting(self.life.context)

        self.assertEqual({'HELD': 1}, self.life.statuses(self.abandoned))


class TestForgotten(ReaperCase):
    """A group is deleted and forgotten after it was read."""

    # SQLite would take rows of a group that is gone.
    SERVER = servers.MARIADB

    def setUp(self):
        super().setUp()
        places = sorted(self.life.make_provider(seats=1) for _ in range(3))
        self.first, self.bad, self.last = (
            self.life.held([place]) for place in places
        )

    def test_what_others_have_lost_is_held_again(self):
        for uuid in (self.first, self.last):
            self.life.remove(self.life.hold(uuid, 'm-0').uuid)
        self.at('before move.write_down', lambda: self.life.delete(self.bad))

        follow.follow_holds(self.life.context, self.life.ledger())

        self.assert_at_rest()
        self.assertEqual({'HELD': 1}, self.life.statuses(self.last))

    def test_what_others_hold_for_resizes_is_held_again(self):
        growths = [self.grow(uuid) for uuid in (self.bad, self.last)]
        self.life.remove(*(growth.uuid for growth in growths))
        self.at('before move.write_down', lambda: self.life.delete(self.bad))

        resizes.follow_growths(self.life.context, self.life.ledger())

        [growth] = objects.VRTHold.list_growths(self.life.context)
        self.assertIn(growth.uuid, self.life.books())

    def test_others_are_followed_if_it_goes_while_growths_are_read(self):
        growths = [self.grow(uuid) for uuid in (self.bad, self.last)]
        self.life.remove(growths[-1].uuid)
        found = objects.VRTMember.list_by_ids

        def delete_and_find(context, ids):
            if self.life.find(self.bad) is not None:
                self.life.delete(self.bad)
            return found(context, ids)

        with fixtures.MockPatchObject(
            objects.VRTMember, 'list_by_ids', delete_and_find
        ):
            resizes.follow_growths(self.life.context, self.life.ledger())

        [growth] = objects.VRTHold.list_growths(self.life.context)
        self.assertIn(growth.uuid, self.life.books())

    def test_others_are_followed_if_it_goes_while_it_is_held_again(self):
        CONF.set_override('hold_again', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'hold_again', 'vrt')
        for uuid in (self.bad, self.last):
            server = self.life.redeem(uuid, 'm-0')
            self.life.remove(server)
            self.life.fates[server] = nova_servers.Fate.DELETED
        is_current, deletes = objects.VRTGroup.is_current, [self.bad]

        def ask_and_delete(context, group_id):
            answer = is_current(context, group_id)
            while deletes:
                self.life.delete(deletes.pop())
            return answer

        with fixtures.MockPatchObject(
            objects.VRTGroup, 'is_current', ask_and_delete
        ):
            follow.follow_servers(self.life.context, self.life.ledger())

        self.assertEqual({'HELD': 1}, self.life.statuses(self.last))

    def grow(self, uuid):
        """Let the member be a server, and hold something for its resize."""
        context = self.life.context
        self.life.redeem(uuid, 'm-0')
        member = self.life.member(uuid, 'm-0')
        db.compare_and_set(
            context,
            models.Member,
            models.Member.id == member.id,
            server_flavor={'name': 'small', 'vcpus': 1},
        )
        seat = groups.seat(self.life.make_provider(seats=1), life.AMOUNT)
        growth = objects.VRTHold.growth(member, seat)
        growth.create(context)
        self.life.ledger().hold(context, [growth])
        transitions.promise(context, self.life.group(uuid), [growth])
        return growth


class TestGivenUp(ReaperCase):
    """A hold ends, as it should, between two questions about it."""

    def setUp(self):
        super().setUp()
        self.uuid = self.life.held([self.life.make_provider(seats=1)])

    def test_it_is_not_held_again_when_its_member_was_released(self):
        def release():
            self.life.give_up(self.uuid)
            self.life.release(self.uuid)

        self.assertNotIn('before hold.post', self.followed_while(release))
        self.assert_at_rest()

    def test_it_is_not_held_again_when_its_member_became_a_server(self):
        def redeem():
            self.life.redeem(self.uuid, 'm-0')

        self.assertNotIn('before hold.post', self.followed_while(redeem))
        self.assert_at_rest()

    def followed_while(self, something):
        """Follow holds; return what was done after something happened."""
        reached = []
        asking = fixtures.MockPatchObject(ledger.Ledger, 'used')

        def happen_and_ask(*args):
            asking.cleanUp()
            something()
            faultpoints.trap = reached.append
            return self.life.ledger().used(*args)

        with asking:
            asking.mock.side_effect = happen_and_ask
            follow.follow_holds(self.life.context, self.life.ledger())
        return reached


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
