# SPDX-License-Identifier: Apache-2.0
"""A process is killed: is what it did done as a whole, or not at all?

Each operation runs in a process of its own, which kills itself at a point of
``nova_groupext.faultpoints``. Then time passes, and a reaper makes one round.
"""

import multiprocessing
import os
import signal

from oslo_utils import uuidutils

from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.scheduler.follow import servers as nova_servers
from tests.services import life
from tests.services import players
from tests.services import servers

FORK = multiprocessing.get_context('fork')

# Adopting and resizing need more of Nova: they die in tests/functional, in
# test_adopt and test_resizing.
ELSEWHERE = {'adopt.point', 'release.point', 'resize.close'}

# The points of each operation, as often as it passes them; a group of three
# is held in two requests.
POINTS = {
    'hold': (
        'hold.write_down',
        'hold.post',
        'hold.post again',
        'hold.commit',
    ),
    'hold_in_vain': (
        'hold.write_down',
        'hold.post',
        'release.post',
        'release.post again',
        'release.forget',
        'release.forget again',
    ),
    'revise': (
        'hold.write_down',
        'hold.post',
        'hold.post again',
        'revise.commit',
        'release.forget',
        'release.mark',
    ),
    'go': ('moving.write_down', 'moving.claim'),
    'arrive': ('moving.follow',),
    'redeem': (
        'redeem.reserve',
        'redeem.swap',
        'redeem.close',
    ),
    'turn_back': (
        'redeem.reserve',
        'move.write_down',
        'move.post',
        'move.commit',
        'release.post',
        'release.forget',
    ),
    'redeem_all': (
        'redeem.reserve',
        'redeem.swap',
        'redeem.close',
        'redeem.close again',
    ),
    'turn_back_all': (
        'redeem.reserve',
        'move.post again',
        'move.commit',
        'move.commit again',
    ),
    'restore': (
        'hold.post',
        'release.post',
        'release.forget',
    ),
    'fill': (
        'fill.write_down',
        'hold.post',
        'fill.commit',
        'fill.dismiss',
        'release.post',
        'release.forget',
    ),
    'release': (
        'release.post',
        'release.post again',
        'release.forget',
        'release.forget again',
    ),
    'delete': (
        'release.mark',
        'release.post',
        'release.post again',
        'release.forget',
        'release.forget again',
    ),
    'keep': (
        'fill.write_down',
        'hold.post',
        'fill.commit',
        'fill.dismiss',
        'release.forget',
    ),
}

# From then on a revision counts; before that everything is as it was.
IS_REVISED = (
    'after revise.commit',
    'before release.mark',
    'after release.mark',
    'before release.forget',
    'after release.forget',
)

ALONE = {'type': 'exclusive', 'scope': 'host'}


class TestKills(life.LifeTestCase):
    SERVER = servers.MARIADB
    HELD = {'HELD': 3}

    def setUp(self):
        super().setUp()
        self.server = uuidutils.generate_uuid()
        # Both are full when the group is held: a leak leaves no room.
        self.wide = self.life.make_provider(seats=2)
        self.narrow = self.life.make_provider(seats=1)
        self.uuid = self.life.describe([self.wide, self.wide, self.narrow])

    def kill(self, work, point):
        """Do some work in a process that is killed at a point."""
        process = FORK.Process(target=_die_at, args=(point, work))
        process.start()
        process.join()
        self.assertEqual(
            -signal.SIGKILL, process.exitcode, f'{point} was not reached'
        )

    def run_and_reap(self, work, point):
        self.kill(work, point)
        self.assert_one_owner()
        self.life.reap()
        self.assert_at_rest()

    def finish(self):
        """Take the group to its end, and another one to the same place."""
        if self.life.find(self.uuid) is not None:
            self.end()
        self.assertEqual({}, self.life.books())
        self.assertEqual({}, self.life.rows())
        other = self.life.held([self.wide, self.wide, self.narrow])
        self.assertEqual(self.HELD, self.life.statuses(other))

    def end(self):
        for member in self.life.group(self.uuid).members:
            if member.status == states.Member.HELD:
                server = self.life.redeem(self.uuid, member.path)
                self.life.remove(server)
        self.life.delete(self.uuid)
        self.life.remove(self.server)

    def check_hold(self, point):
        self.run_and_reap(lambda: self.life.plan(self.uuid), point)

        self.assertEqual('HELD', self.life.group(self.uuid).status)
        self.assertEqual(self.HELD, self.life.statuses(self.uuid))

    def check_hold_in_vain(self, point):
        stranger = self.life.fill(self.narrow)
        self.kill(lambda: self.life.plan(self.uuid), point)
        self.life.remove(stranger)
        self.life.reap()

        self.assert_at_rest()
        self.assertEqual(self.HELD, self.life.statuses(self.uuid))

    def check_revise(self, point):
        """Two change places on full hosts, one goes and another one comes."""
        self.life.plan(self.uuid)
        spare = self.life.make_provider(seats=1)
        old = self.life.seats(self.uuid)
        new = {'m-0': self.narrow, 'm-2': self.wide, 'm-3': spare}
        draft = self.life.revise(self.uuid, new)

        self.kill(lambda: self.life.plan(draft), point)

        self.assert_one_owner()
        is_new = point in IS_REVISED
        self.assertEqual(new if is_new else old, self.life.seats(self.uuid))
        # Who comes next finishes it.
        self.life.reap()
        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))

    def check_go(self, point):
        """A scheduler dies, so the server does not go where it was to."""
        spare = self.live()

        self.kill(lambda: self.life.go(self.uuid, 'm-0', spare), point)
        self.life.leave(spare)
        self.life.reap()

        self.assert_rests(self.wide)

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

    def live(self):
        """Redeem a member; returns another place for its server."""
        self.life.plan(self.uuid)
        self.redeem()
        self.life.fates[self.server] = nova_servers.Fate.LIVE
        self.life.whereabouts[self.server] = self.wide
        return self.life.make_provider(seats=1)

    def assert_rests(self, provider):
        """The server is there, in Placement and in our rows, for good."""
        self.assert_at_rest()
        hold = self.life.hold(self.uuid, 'm-0')
        self.assertEqual(provider, hold.host)
        self.assertEqual([provider], [*self.life.books()[self.server]])
        self.assertNotIn('vrt_moves', self.life.rows())

    def check_redeem(self, point):
        self.life.plan(self.uuid)
        self.life.give_up(self.uuid, 'm-1', 'm-2')
        self.life.release(self.uuid)

        self.run_and_reap(self.redeem, point)

        status = self.life.group(self.uuid).status
        self.assertIn(status, ('HELD', 'ACTIVE'))
        self.assertEqual(
            {status: 1, 'RELEASED': 2}, self.life.statuses(self.uuid)
        )

    def redeem(self, **kwargs):
        self.life.redeem(self.uuid, 'm-0', self.server, **kwargs)

    def check_turn_back(self, point):
        self.life.plan(self.uuid)

        self.run_and_reap(
            lambda: self.redeem(scheduler=players.Refusing), point
        )

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))

    def check_redeem_all(self, point):
        """Three servers are created with one request."""
        self.life.plan(self.uuid)
        created = [uuidutils.generate_uuid() for _each in range(3)]

        self.run_and_reap(lambda: self.redeem_all(created), point)

        if self.life.statuses(self.uuid) != self.HELD:
            self.assertEqual({'ACTIVE': 3}, self.life.statuses(self.uuid))
            self.assertEqual(set(created), set(self.life.books()))
        for server in created:
            self.life.remove(server)

    def redeem_all(self, created, **kwargs):
        self.life.redeem_all(self.uuid, 'm', created, **kwargs)

    def check_turn_back_all(self, point):
        self.life.plan(self.uuid)
        created = [uuidutils.generate_uuid() for _each in range(3)]

        self.run_and_reap(
            lambda: self.redeem_all(created, scheduler=players.Refusing), point
        )

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))

    def check_restore(self, point):
        self.life.plan(self.uuid)
        self.life.remove(self.life.hold(self.uuid, 'm-0').uuid)

        self.run_and_reap(lambda: self.life.reap(seconds=0), point)

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))

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

    def be_alone(self, members):
        """Hold a host for a group that has it to itself."""
        self.life.delete(self.uuid)
        self.uuid = self.life.describe(members * [self.wide], [ALONE])
        self.life.plan(self.uuid)

    def assert_full(self):
        """One member and one filler are there."""
        part = {self.wide: {'resources': {'VCPU': life.AMOUNT}}}
        self.assertEqual([part, part], [*self.life.books().values()])

    def check_release(self, point):
        self.life.plan(self.uuid)
        self.life.give_up(self.uuid, 'm-0', 'm-1')

        self.run_and_reap(lambda: self.life.release(self.uuid), point)

        self.assertEqual(
            {'HELD': 1, 'RELEASED': 2}, self.life.statuses(self.uuid)
        )

    def check_delete(self, point):
        self.life.plan(self.uuid)
        self.life.mark_deleted(self.uuid)

        self.run_and_reap(lambda: self.life.release(self.uuid), point)

        self.assertEqual({}, self.life.rows())

    def test_every_point_is_tried(self):
        tried = {
            point.removesuffix(' again')
            for points in POINTS.values()
            for point in points
        }
        self.assertEqual({*faultpoints.WRITES} - ELSEWHERE, tried)


def _die_at(point, work):
    """Do some work, and be dead at a point before its end."""
    name = point.removesuffix(' again')
    passes = iter([name != point, False])

    def trap(reached):
        if reached == name and not next(passes):
            os.kill(os.getpid(), signal.SIGKILL)

    faultpoints.trap = trap
    work()


def _test(operation, point):
    def test(self):
        getattr(self, f'check_{operation}')(point)
        self.finish()

    return test


for operation, points in POINTS.items():
    for each in points:
        for when in ('before', 'after'):
            point = f'{when} {each}'
            name = f'test_{operation}_killed_{point}'
            setattr(
                TestKills,
                name.replace(' ', '_').replace('.', '_'),
                _test(operation, point),
            )
