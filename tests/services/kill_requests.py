# SPDX-License-Identifier: Apache-2.0
"""A process that does what somebody asked for is killed.

Is what it did done as a whole, or not at all?
"""

from oslo_utils import uuidutils

from nova_groupext import objects
from tests.services import kills

# The points of each operation, as often as it passes them; a group of three
# is held in two requests.
POINTS = {
    'describe': ('group.create',),
    'hold': (
        'lease.acquire',
        'plan.create',
        'hold.write_down',
        'hold.post',
        'hold.post again',
        'hold.commit',
        'lease.release',
    ),
    'hold_in_vain': (
        'hold.write_down',
        'hold.post',
        'hold.retire',
        'release.post',
        'release.post again',
        'release.forget',
        'release.forget again',
        'group.change',
    ),
    'describe_anew': ('revise.start',),
    'revise': (
        'hold.write_down',
        'hold.post',
        'revise.prepare',
        'swap.apply',
        'revise.commit',
        'release.mark',
    ),
    'revise_alone': (
        'hold.write_down',
        'hold.post',
        'revise.commit',
        'release.forget',
    ),
    'go': ('moving.write_down', 'moving.claim'),
    'redeem': (
        'redeem.reserve',
        'redeem.swap',
        'redeem.close',
    ),
    'redeem_all': (
        'redeem.reserve',
        'redeem.swap',
        'redeem.close',
        'redeem.close again',
    ),
    'extend': ('group.extend',),
    'release': (
        'release.mark',
        'release.post',
        'release.post again',
        'release.forget',
        'release.forget again',
    ),
    'mark_deleted': ('group.delete',),
    'delete': (
        'release.mark',
        'release.post',
        'release.post again',
        'release.forget',
        'release.forget again',
        'group.forget',
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

# What a group and its members are when it was planned in vain.
UNDECIDED = 'UNDECIDED', {'TENTATIVE': 3}


class RequestKills(kills.KillsCase):
    def check_describe(self, point):
        """What the client is not told of is planned nevertheless."""
        spare = self.life.make_provider(seats=1)

        self.run_and_reap(lambda: self.life.describe([spare]), point)

        is_there = point == 'after group.create'
        found = [each for each in self.groups() if each.uuid != self.uuid]
        self.assertEqual([spare] * is_there, self.held_at(found))
        for group in found:
            self.life.delete(group.uuid)

    def groups(self):
        return objects.VRTGroup.list(self.life.context)

    def held_at(self, found):
        return [
            provider
            for group in found
            for provider in self.life.seats(group.uuid).values()
        ]

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
        # An answer is final: another try is the tenant's to ask for.
        is_told = point == 'after group.change'
        status, members = UNDECIDED if is_told else ('HELD', self.HELD)
        self.assertEqual(status, self.life.group(self.uuid).status)
        self.assertEqual(members, self.life.statuses(self.uuid))

    def check_describe_anew(self, point):
        self.life.plan(self.uuid)
        old = self.life.seats(self.uuid)
        new = {**old, 'm-3': self.life.make_provider(seats=1)}

        self.run_and_reap(lambda: self.life.revise(self.uuid, new), point)

        is_new = point == 'after revise.start'
        self.assertEqual(new if is_new else old, self.life.seats(self.uuid))

    def check_revise(self, point):
        draft, old, new = self.draft()

        self.kill(lambda: self.life.plan(draft), point)

        self.assert_one_owner()
        is_new = point in IS_REVISED
        self.assertEqual(new if is_new else old, self.life.seats(self.uuid))
        # Who comes next finishes it.
        self.life.reap()
        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))

    def check_revise_alone(self, point):
        """A group moves to another host that it has to itself then."""
        self.be_alone(members=2)
        other = self.life.make_provider(seats=3)
        new = dict.fromkeys(self.life.seats(self.uuid), other)
        draft = self.life.revise(self.uuid, new, [kills.ALONE])

        self.kill(lambda: self.life.plan(draft), point)

        self.assert_one_owner()
        self.life.reap()
        self.assert_at_rest()
        self.assertEqual(new, self.life.seats(self.uuid))
        used = [list(at) for at in self.life.books().values()]
        self.assertEqual(3 * [[other]], used)

    def check_go(self, point):
        """A scheduler dies, so the server does not go where it was to."""
        spare = self.live()

        self.kill(lambda: self.life.go(self.uuid, 'm-0', spare), point)
        self.life.leave(spare)
        self.life.reap()

        self.assert_rests(self.wide)

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

    def check_extend(self, point):
        self.life.plan(self.uuid)
        ends_at = self.life.group(self.uuid).expires_at

        self.run_and_reap(self.extend, point)

        self.assertEqual(self.HELD, self.life.statuses(self.uuid))
        is_extended = self.life.group(self.uuid).expires_at > ends_at
        self.assertEqual(point == 'after group.extend', is_extended)

    def extend(self):
        group = self.life.group(self.uuid)
        group.extend(self.life.context, 2 * group.expires_in)

    def check_release(self, point):
        self.life.plan(self.uuid)

        self.run_and_reap(self.release, point)

        is_released = point != 'before release.mark'
        self.assertEqual(
            {'HELD': 1, 'RELEASED': 2} if is_released else self.HELD,
            self.life.statuses(self.uuid),
        )

    def release(self):
        self.life.give_up(self.uuid, 'm-0', 'm-1')
        self.life.release(self.uuid)

    def check_mark_deleted(self, point):
        self.life.plan(self.uuid)

        self.run_and_reap(lambda: self.life.mark_deleted(self.uuid), point)

        is_deleted = self.life.find(self.uuid) is None
        self.assertEqual(point == 'after group.delete', is_deleted)

    def check_delete(self, point):
        self.life.plan(self.uuid)
        self.life.mark_deleted(self.uuid)

        self.run_and_reap(lambda: self.life.release(self.uuid), point)

        self.assertEqual({}, self.life.rows())
