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
from tests.services import life
from tests.services import servers

FORK = multiprocessing.get_context('fork')

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
    'redeem': (
        'redeem.reserve',
        'redeem.swap',
        'redeem.close',
        'group.settle',
    ),
    'turn_back': (
        'redeem.reserve',
        'move.write_down',
        'move.post',
        'move.commit',
        'group.settle',
        'release.post',
        'release.forget',
    ),
    'restore': (
        'hold.post',
        'group.settle',
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

        self.run_and_reap(lambda: self.redeem(scheduler=life.Refusing), point)

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
        self.assertEqual(set(faultpoints.WRITES), tried)


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
