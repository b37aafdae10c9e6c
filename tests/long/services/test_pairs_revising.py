# SPDX-License-Identifier: Apache-2.0
"""Something happens to a group while it takes another definition.

It is as in races. All places are taken, and two members change theirs.
"""

import fixtures
from oslo_utils import timeutils

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.look import servers
from tests.long.services import test_pairs_alone
from tests.services import life
from tests.services import races


class RevisingCase(races.PairsCase):
    def do_revise(self):
        """Let two change places; the third may be a server by now."""
        places = {'m-0': self.wide, 'm-1': self.narrow, 'm-2': self.wide}
        self.life.plan(self.life.revise(self.uuid, places))

    def end(self):
        self.life.reap()
        if self.life.find(self.uuid) is not None:
            self.assertNotIn(
                states.Member.FAILED, self.life.statuses(self.uuid)
            )
        super().end()


class TestPairsRevising(RevisingCase):
    def test_what_is_taken_back_from_a_server_is_held(self):
        self.set_up('take_back')
        server = self.life.redeem(self.uuid, 'm-0')
        self.life.fates[server] = servers.Fate.UNSCHEDULED
        self.at('before swap.commit', lambda: self.do('revise'))

        follow.follow_servers(
            self.life.context, self.life.ledger(), self.life.leases()
        )

        self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))
        self.end()

    def test_a_group_that_is_deleted_once_it_is_revised_is_no_trouble(self):
        self.set_up('revise')
        self.at(
            'after revise.commit', lambda: self.life.mark_deleted(self.uuid)
        )
        failed = self.useFixture(
            fixtures.MockPatchObject(planner.Planner, '_fail')
        )

        self.do('revise')

        failed.mock.assert_not_called()
        self.end()


races.add_pairs(TestPairsRevising, ('restore',), ('revise',))


class TestPairsChangingPlaces(RevisingCase):
    def do_revise(self):
        """One of the two that change places is who all happens to."""
        places = {'m-0': self.narrow, 'm-1': self.wide, 'm-2': self.wide}
        self.life.plan(self.life.revise(self.uuid, places))

    def test_who_exchanges_too_late_changes_nothing(self):
        """Its lease ran out, and the next one has begun, and died."""
        self.set_up('revise')
        seats = self.life.seats(self.uuid)
        self.at('before swap.apply', self.take_over_and_die)

        self.do('revise')

        self.assertEqual(seats, self.life.seats(self.uuid))
        self.end()

    def take_over_and_die(self):
        timeutils.advance_time_seconds(life.LATER)
        drafts = objects.VRTGroup.drafts_of(
            self.life.context, [self.life.group(self.uuid).id]
        )
        self.at('before plan.create', self.die)
        for draft in drafts.values():
            self.assertRaises(life.Died, self.life.plan, draft.uuid)

    @staticmethod
    def die():
        raise life.Died


races.add_pairs(
    TestPairsChangingPlaces,
    ('revise',),
    (
        'redeem',
        'redeem_all',
        'release',
        'delete',
        'expire',
        'reap',
        'reap_late',
    ),
)


class TestPairsRevisingAlone(test_pairs_alone.AloneCase):
    """A place is free beside those who change theirs: a filler has it."""

    def do_revise(self):
        places = {'m-0': self.narrow, 'm-1': self.wide, 'm-2': self.wide}
        self.life.plan(self.life.revise(self.uuid, places, self.POLICIES))


races.add_pairs(TestPairsRevisingAlone, ('revise',), ('keep', 'stranger'))
races.add_pairs(TestPairsRevisingAlone, ('keep',), ('revise',))
