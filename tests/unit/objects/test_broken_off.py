# SPDX-License-Identifier: Apache-2.0
"""Does the same happen where each transaction is broken off once?

What is done under a lock is done again then. Where it has changed an object
the first time, it finds that in the wrong state.
"""

import datetime

from oslo_utils import timeutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import objects
from nova_groupext import quota
from nova_groupext.objects import relocation
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import fixtures
from tests import groups
from tests.unit.objects import base
from tests.unit.objects import test_expiry
from tests.unit.objects import test_group
from tests.unit.objects import test_replans
from tests.unit.objects import test_swaps
from tests.unit.objects import test_transitions

HOUR = datetime.timedelta(hours=1)


class BrokenOff:
    """All that another test case finds out."""

    is_breaking = False

    def create(self, **values):
        """The first that every test does: the tables are there by then."""
        if not self.is_breaking:
            self.is_breaking = True
            self.useFixture(fixtures.BrokenOff())
        return super().create(**values)


class TestGroupExpiry(BrokenOff, test_expiry.TestExpiry):
    pass


class TestGroup(BrokenOff, test_group.TestGroup):
    pass


class TestMember(BrokenOff, test_group.TestMember):
    pass


class TestAgain(BrokenOff, test_replans.TestAgain):
    pass


class TestRedefine(BrokenOff, test_replans.TestRedefine):
    pass


class TestStatus(BrokenOff, test_transitions.TestStatus):
    pass


class TestReserve(BrokenOff, test_transitions.TestReserve):
    pass


class TestEndHold(BrokenOff, test_transitions.TestEndHold):
    pass


class TestPrepared(BrokenOff, test_swaps.TestPrepared):
    pass


class TestCommit(BrokenOff, test_swaps.TestCommit):
    pass


class TestTurnBack(BrokenOff, test_swaps.TestTurnBack):
    pass


class TestSwapExpiry(BrokenOff, test_swaps.TestExpiry):
    pass


class TestObjects(BrokenOff, base.HeldCase):
    """What the caller has in hand says what was stored."""

    def setUp(self):
        super().setUp()
        self.group = self.held(timeutils.utcnow() + HOUR)
        self.member = self.group.members[0]

    def stored(self):
        return self.get(self.group).members[0]

    def test_of_one_that_becomes_a_server(self):
        servers = {uuids.server: self.with_hold(self.member)}

        self.assertTrue(transitions.reserve(self.context, servers))

        for member in (self.member, self.stored()):
            self.assertEqual(
                ('REDEEMING', uuids.server),
                (member.status, member.server_uuid),
            )

    def test_of_a_group_that_is_revised(self):
        draft = groups.described()

        revisions.start(self.context, self.group, draft)

        self.assertEqual(
            self.get(self.group).generation, self.group.generation
        )
        self.assertEqual('PLANNING', self.get(draft).status)

    def test_of_a_group_that_is_described_anew(self):
        group = self.create(client_token='other')
        group.change(self.context, states.Group.REFUSED, fault='none')

        revisions.redefine(self.context, group, groups.described())

        stored = self.get(group)
        for name in ('status', 'generation', 'fault'):
            self.assertEqual(getattr(stored, name), getattr(group, name))

    def test_of_a_server_that_is_elsewhere(self):
        self.redeem(self.member)
        hold = objects.VRTHold.get_by_member(self.context, self.member.id)
        seat = {**groups.seat(uuids.host, 1), 'domains': {}}

        self.assertTrue(
            relocation.follow(self.context, self.stored(), hold, seat)
        )

        [moved] = objects.VRTHold.list_by_uuids(self.context, [hold.uuid])
        for each in (moved, hold):
            self.assertEqual(seat['allocations'], each.allocations)
            self.assertEqual(seat['node'], each.node)

    def test_of_a_move(self):
        self.redeem(self.member)
        move = objects.VRTMove(
            group_id=self.group.id,
            member_id=self.member.id,
            server_uuid=uuids.server,
            host='host',
            node='node',
        )

        self.assertTrue(relocation.begin_move(self.context, move))

        [stored] = objects.VRTMove.by_member(self.context, [self.member.id])[
            self.member.id
        ]
        self.assertEqual(stored.id, move.id)

    def test_of_a_group_that_is_stored_under_its_projects_lock(self):
        group = groups.described()

        quota.serialised(
            self.context, 'project', lambda: group.create(self.context)
        )

        self.assertEqual(
            self.get(group).obj_to_primitive(), group.obj_to_primitive()
        )
