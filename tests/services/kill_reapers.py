# SPDX-License-Identifier: Apache-2.0
"""A reaper is killed: does the next one finish what it has begun?"""

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import transitions
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.look import servers
from tests import groups
from tests.services import kills
from tests.services import life

POINTS = {
    'arrive': ('moving.follow',),
    'expire': ('release.expire',),
    'take_back': ('back.prepare', 'back.post', 'swap.commit'),
    'lose': ('release.end',),
    'end': ('release.end',),
    'hold_again': ('again.prepare', 'swap.apply', 'swap.commit'),
    'restore': ('again.prepare', 'swap.apply', 'swap.commit'),
    'regrow': ('again.prepare', 'swap.apply', 'swap.commit'),
    'turn_back': ('swap.compensate', 'swap.turn_back'),
    'finish': ('revise.commit',),
    'abandon': ('swap.commit',),
    'fill': (
        'fill.write_down',
        'hold.post',
        'fill.commit',
        'fill.dismiss',
        'release.post',
        'release.forget',
    ),
    'make_way': (
        'again.prepare',
        'swap.apply',
        'swap.commit',
    ),
    'keep': (
        'fill.write_down',
        'hold.post',
        'fill.commit',
        'fill.dismiss',
        'release.forget',
    ),
}


class ReaperKills(kills.KillsCase):
    def check_arrive(self, point):
        """A reaper dies that finds a server elsewhere."""
        spare = self.live()
        self.life.go(self.uuid, 'm-0', spare)
        self.life.leave(spare)
        self.life.remove(self.server)
        self.life.fill(spare, consumer=self.server)
        self.life.whereabouts[self.server] = spare

        self.kill(lambda: self.life.reap(seconds=0), point)
        self.life.reap()

        self.assert_rests(spare)

    def check_expire(self, point):
        self.life.plan(self.uuid)
        self.life.expire(self.uuid)

        self.reap_twice(point)

        self.assertEqual({'RELEASED': 3}, self.life.statuses(self.uuid))
        self.assertEqual({}, self.life.books())

    def reap_twice(self, point):
        """The first reaper dies."""
        self.run_and_reap(lambda: self.life.reap(seconds=0), point)

    def check_lose(self, point):
        """A host is taken out of service."""
        self.life.plan(self.uuid)
        self.life.gone.add(self.narrow)

        self.reap_twice(point)

        self.assertEqual(
            {'HELD': 2, 'FAILED': 1}, self.life.statuses(self.uuid)
        )

    def check_take_back(self, point):
        """A server is one that nobody will build."""
        self.live()
        self.life.fates[self.server] = servers.Fate.UNSCHEDULED

        self.reap_twice(point)

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))
        self.assertNotIn(self.server, self.life.books())

    def check_end(self, point):
        self.delete_server()

        self.reap_twice(point)

        self.assertEqual(
            {'HELD': 2, 'RELEASED': 1}, self.life.statuses(self.uuid)
        )

    def check_hold_again(self, point):
        CONF.set_override('hold_again', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'hold_again', 'vrt')
        self.delete_server()

        self.reap_twice(point)

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))

    def delete_server(self):
        """A member was a server."""
        self.live()
        self.life.fates[self.server] = servers.Fate.DELETED
        self.life.remove(self.server)

    def check_restore(self, point):
        self.life.plan(self.uuid)
        self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)

        self.reap_twice(point)

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))

    def check_regrow(self, point):
        """Somebody has removed what was held for a resize."""
        self.life.remove(self.grow().uuid)

        self.reap_twice(point)

        [growth] = objects.VRTHold.list_growths(self.life.context)
        self.assertIn(growth.uuid, self.life.books())

    def grow(self):
        """Hold for a resize of a member's server; returns the growth."""
        spare = self.live()
        # It is as small as it was when it was redeemed.
        del self.life.fates[self.server]
        context, member = self.life.context, self.life.member(self.uuid, 'm-0')
        db.compare_and_set(
            context,
            models.Member,
            models.Member.id == member.id,
            server_flavor={'name': 'small', 'vcpus': 1},
        )
        growth = objects.VRTHold.growth(
            member, groups.seat(spare, life.AMOUNT)
        )
        growth.create(context)
        self.life.ledger().hold(context, [growth])
        transitions.promise(context, self.life.group(self.uuid), [growth])
        return growth

    def check_turn_back(self, point):
        """Who revised has died, when holds were to change places."""
        draft, old, new = self.draft()
        self.kill(lambda: self.life.plan(draft), 'before swap.apply')

        self.kill_reaper(point)

        self.assert_one_owner()
        self.assertEqual(old, self.life.seats(self.uuid))
        self.life.reap()
        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))

    def check_finish(self, point):
        """Who revised has died, when holds had changed places."""
        draft, old, new = self.draft()
        self.kill(lambda: self.life.plan(draft), 'after swap.apply')

        self.kill_reaper(point)

        self.assert_one_owner()
        is_new = point == 'after revise.commit'
        self.assertEqual(new if is_new else old, self.life.seats(self.uuid))
        self.life.reap()
        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))

    def check_abandon(self, point):
        """Who filled a host has died, and left a filler there."""
        self.be_alone(members=2)
        self.life.give_up(self.uuid, 'm-0')
        self.kill(self.life.keep, 'after hold.post')

        self.kill_reaper(point)

        self.life.reap()
        self.assert_at_rest()
        self.assert_full()

    def check_keep(self, point):
        """A filler is gone, and another one takes its place."""
        self.be_alone(members=1)
        hold = self.life.hold(self.uuid, 'm-0')
        [filler] = self.life.books().keys() - {hold.uuid}
        self.life.remove(filler)

        self.run_and_reap(self.life.keep, point)

        self.assert_full()

    def check_fill(self, point):
        """What a member gives up is filled."""
        self.be_alone(members=2)
        self.life.give_up(self.uuid, 'm-0')

        self.run_and_reap(self.life.keep, point)

        self.assert_full()

    def check_make_way(self, point):
        """A member is held again where fillers have taken its place."""
        self.be_alone(members=1)
        self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)
        self.life.keep()

        self.kill(self.follow_holds, point)
        self.assert_one_owner()
        self.life.reap()

        self.assert_at_rest()
        self.assertEqual({'HELD': 1}, self.life.statuses(self.uuid))
        self.assert_full()

    def follow_holds(self):
        follow.follow_holds(
            self.life.context, self.life.ledger(), self.life.leases()
        )

    def assert_full(self):
        """One member and one filler are there."""
        part = {self.wide: {'resources': {'VCPU': life.AMOUNT}}}
        self.assertEqual([part, part], [*self.life.books().values()])
