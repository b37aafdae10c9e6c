# SPDX-License-Identifier: Apache-2.0
"""The tests of other modules, with each transaction aborted once.

Work under a lock is then repeated. If its first run has changed an object,
the second one finds that object in the wrong state.
"""

import datetime

from oslo_utils import timeutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import objects
from nova_groupext import quota
from nova_groupext.objects import drafts
from nova_groupext.objects import move_transitions
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from tests import fixtures
from tests import groups
from tests.unit.objects import base
from tests.unit.objects import test_drafts
from tests.unit.objects import test_group
from tests.unit.objects import test_releases
from tests.unit.objects import test_swaps
from tests.unit.objects import test_transitions

HOUR = datetime.timedelta(hours=1)


class AbortedTransactions:
    """A mixin that aborts each transaction of a test case once."""

    is_aborting = False

    def create(self, **values):
        """Start the aborts with the first group: the tables exist then."""
        if not self.is_aborting:
            self.is_aborting = True
            self.useFixture(fixtures.DeadlockOnCommit())
        return super().create(**values)


class TestGroupExpiry(AbortedTransactions, test_releases.TestExpiry):
    pass


class TestRelease(AbortedTransactions, test_releases.TestRelease):
    pass


class TestExtension(AbortedTransactions, test_group.TestExtension):
    pass


class TestGroup(AbortedTransactions, test_group.TestGroup):
    pass


class TestMember(AbortedTransactions, test_group.TestMember):
    pass


class TestDraft(AbortedTransactions, test_drafts.TestDraft):
    pass


class TestRedefine(AbortedTransactions, test_drafts.TestRedefine):
    pass


class TestStatus(AbortedTransactions, test_transitions.TestStatus):
    pass


class TestReserve(AbortedTransactions, test_transitions.TestReserve):
    pass


class TestEndHold(AbortedTransactions, test_transitions.TestEndHold):
    pass


class TestPrepared(AbortedTransactions, test_swaps.TestPrepared):
    pass


class TestCommit(AbortedTransactions, test_swaps.TestCommit):
    pass


class TestCompensate(AbortedTransactions, test_swaps.TestCompensate):
    pass


class TestSwapExpiry(AbortedTransactions, test_swaps.TestExpiry):
    pass


class TestObjects(AbortedTransactions, base.HeldGroupTestCase):
    """The object of the caller equals the stored one."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group(timeutils.utcnow() + HOUR)
        self.member = self.group.members[0]

    def stored(self):
        return self.get(self.group).members[0]

    def test_reserved_member_equals_the_stored_one(self):
        servers = {uuids.server: self.member_and_hold(self.member)}

        self.assertTrue(redeems.reserve(self.context, servers))

        for member in (self.member, self.stored()):
            self.assertEqual(
                ('REDEEMING', uuids.server),
                (member.status, member.server_uuid),
            )

    def test_revised_group_equals_the_stored_one(self):
        draft = groups.unstored()

        drafts.store(self.context, self.group, draft)

        self.assertEqual(
            self.get(self.group).generation, self.group.generation
        )
        self.assertEqual('PLANNING', self.get(draft).status)

    def test_redefined_group_equals_the_stored_one(self):
        group = self.create(client_token='other')
        group.change(self.context, states.Group.REFUSED, fault='none')

        drafts.replace_definition(self.context, group, groups.unstored())

        stored = self.get(group)
        for name in ('status', 'generation', 'fault'):
            self.assertEqual(getattr(stored, name), getattr(group, name))

    def test_hold_of_a_moved_server_equals_the_stored_one(self):
        self.redeem(self.member)
        hold = objects.VRTHold.find_by_member(self.context, self.member.id)
        placement = groups.placement(uuids.host, 1)

        self.assertTrue(
            move_transitions.store_location(
                self.context, self.stored(), hold, placement
            )
        )

        [moved] = objects.VRTHold.list_by_uuids(self.context, [hold.uuid])
        for each in (moved, hold):
            self.assertEqual(placement.allocations, each.allocations)
            self.assertEqual(placement.node, each.node)

    def test_move_has_the_id_of_the_stored_one(self):
        self.redeem(self.member)
        move = objects.VRTMove(
            group_id=self.group.id,
            member_id=self.member.id,
            server_uuid=uuids.server,
            host='host',
            node='node',
        )

        self.assertTrue(move_transitions.start_move(self.context, move))

        [stored] = objects.VRTMove.by_member(self.context, [self.member.id])[
            self.member.id
        ]
        self.assertEqual(stored.id, move.id)

    def test_group_created_under_its_project_lock_equals_the_stored(self):
        group = groups.unstored()

        quota.with_project_lock(
            self.context, 'project', lambda: group.create(self.context)
        )

        self.assertEqual(
            self.get(group).obj_to_primitive(), group.obj_to_primitive()
        )
