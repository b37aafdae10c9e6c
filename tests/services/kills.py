# SPDX-License-Identifier: Apache-2.0
"""What the tests share in which processes are killed.

Each operation runs in a process of its own, which kills itself at a point of
``nova_groupext.faultpoints``. Then time passes, and a reaper makes one round.
"""

import multiprocessing
import os
import signal

from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.scheduler.look import servers as nova_servers
from tests.services import life
from tests.services import servers

ALONE = {'type': 'exclusive', 'scope': 'host'}
FORK = multiprocessing.get_context('fork')


class KillsCase(life.LifeTestCase):
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

    def kill_reaper(self, point):
        """Let a reaper come by, much later, and be killed."""
        timeutils.advance_time_seconds(life.LATER)
        self.kill(lambda: self.life.reap(seconds=0), point)

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
            elif member.server_uuid:
                # Nova knows of it, perhaps not where it is.
                self.life.fates.setdefault(
                    member.server_uuid, nova_servers.Fate.LIVE
                )
        self.life.whereabouts.clear()
        self.life.delete(self.uuid)
        self.life.remove(self.server)

    def redeem(self, **kwargs):
        self.life.redeem(self.uuid, 'm-0', self.server, **kwargs)

    def live(self):
        """Redeem a member; returns another place for its server."""
        self.life.plan(self.uuid)
        self.redeem()
        self.life.fates[self.server] = nova_servers.Fate.LIVE
        self.life.whereabouts[self.server] = self.wide
        return self.life.make_provider(seats=1)

    def be_alone(self, members):
        """Hold a host for a group that has it to itself."""
        self.life.delete(self.uuid)
        self.uuid = self.life.describe(members * [self.wide], [ALONE])
        self.life.plan(self.uuid)

    def draft(self):
        """Describe anew: two change places, one goes, another one comes.

        :returns: the draft's uuid, and {path: provider} as it is and will be
        """
        self.life.plan(self.uuid)
        spare = self.life.make_provider(seats=1)
        old = self.life.seats(self.uuid)
        new = {'m-0': self.narrow, 'm-2': self.wide, 'm-3': spare}
        return self.life.revise(self.uuid, new), old, new

    def assert_rests(self, provider):
        """The server is there, in Placement and in our rows, for good."""
        self.assert_at_rest()
        hold = self.life.hold(self.uuid, 'm-0')
        self.assertEqual(provider, hold.host)
        self.assertEqual([provider], [*self.life.books()[self.server]])
        self.assertNotIn('vrt_moves', self.life.rows())


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


def add_kill(case, operation, point):
    """Give a KillsCase a test in which an operation dies at a point."""
    name = f'test_{operation}_killed_{point}'
    name = name.replace(' ', '_').replace('.', '_')
    setattr(case, name, _test(operation, point))
