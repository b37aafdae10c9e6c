# SPDX-License-Identifier: Apache-2.0
"""What the tests share in which processes are killed.

Each operation runs in a process of its own, which kills itself at a point of
``nova_groupext.faultpoints``. Then time passes, and a reaper makes one round.
"""

import multiprocessing
import os
import signal

from oslo_utils import uuidutils

from nova_groupext import faultpoints
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.nova import servers as nova_servers
from tests import groups
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
        self.assert_one_owner()

    def kill_and_reap(self, work, point):
        self.kill(work, point)
        self.life.reap()
        self.assert_at_rest()

    def kill_reaper(self, point):
        """Let a reaper be killed, and another one come by much later."""
        self.kill_and_reap(lambda: self.life.reap(seconds=0), point)

    def finish(self):
        """Take the group to its end, and another one to the same place."""
        if self.life.find(self.uuid) is not None:
            self._end()
        self.assertEqual({}, self.life.books())
        self.assertEqual({}, self.life.rows())
        other = self.life.held([self.wide, self.wide, self.narrow])
        self.assertEqual(self.HELD, self.life.statuses(other))

    def _end(self):
        for member in self.life.group(self.uuid).members:
            if member.status == states.Member.HELD:
                server = self.life.redeem(self.uuid, member.path)
                self.life.remove(server)
            elif member.server_uuid:
                # Nova knows of it, perhaps not where it is.
                self.life.fates.setdefault(
                    member.server_uuid, nova_servers.ServerOutcome.LIVE
                )
        self.life.whereabouts.clear()
        self.life.delete(self.uuid)
        self.life.remove(self.server)

    # -- what there is before ----------------------------------------------

    def live(self):
        """Redeem a member; returns another place for its server."""
        self.life.plan(self.uuid)
        self.life.redeem(self.uuid, 'm-0', self.server)
        self.life.whereabouts[self.server] = self.wide
        return self.life.make_provider(seats=1)

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
        reservation = objects.VRTHold.reservation(
            member, groups.seat(spare, life.AMOUNT)
        )
        reservation.create(context)
        self.life.ledger().hold(context, [reservation])
        transitions.commit_placeholders(
            context, self.life.group(self.uuid), [reservation]
        )
        return reservation

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

    # -- what there is afterwards ------------------------------------------

    def assert_rests(self, provider):
        """The server is there, in Placement and in our rows, for good."""
        self.assert_at_rest()
        hold = self.life.hold(self.uuid, 'm-0')
        self.assertEqual(provider, hold.host)
        self.assertEqual([provider], [*self.life.books()[self.server]])
        self.assertNotIn('vrt_moves', self.life.rows())

    def assert_full(self):
        """One member and one filler are there."""
        part = {self.wide: {'resources': {'VCPU': life.AMOUNT}}}
        self.assertEqual([part, part], [*self.life.books().values()])


def _die_at(point, work):
    """Do some work, and be dead at a point before its end."""

    def trap(reached):
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    faultpoints.trap = trap
    work()
