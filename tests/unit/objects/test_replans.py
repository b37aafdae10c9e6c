# SPDX-License-Identifier: Apache-2.0
"""What may become of members that are placed anew."""

import datetime

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import exchanges
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import fixtures
from tests import groups
from tests.unit.objects import base

Member = states.Member
Group = states.Group
Hold = states.Hold
NOON = datetime.datetime(2026, 11, 1, 12)
SOON = NOON + datetime.timedelta(seconds=60)
LATER = NOON + datetime.timedelta(hours=1)


class ReplanCase(base.HeldCase):
    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.first, self.second, self.third = self.group.members

    def hold_of(self, member):
        return objects.VRTHold.get_by_member(self.context, member.id)

    def written(self, member):
        hold = objects.VRTHold.of(member, groups.seat(uuids.host, 1))
        return objects.VRTHold.create_all(self.context, [hold])

    def exchange(self, written, leaving=(), is_replan=True):
        exchange = exchanges.Exchange(written, leaving, [], NOON, is_replan)
        return exchanges.exchange_holds(self.context, self.group, exchange)

    def fail(self, *members):
        for member in members:
            self.end(member, Hold.LEAVING, Member.FAILED)

    def member(self, number=0):
        return self.get(self.group).members[number]


class TestExchange(ReplanCase):
    def test_who_has_failed_is_held(self):
        self.fail(self.first)

        self.assertTrue(self.exchange(self.written(self.first)))

        self.assertEqual(Member.HELD, self.member().status)

    def test_where_all_have_failed_the_group_is_held_again(self):
        self.fail(self.first, self.second, self.third)
        self.assertEqual(Group.RELEASED, self.get(self.group).status)
        written = self.written(self.first)

        self.assertFalse(self.exchange(written, is_replan=False))
        self.assertTrue(self.exchange(written))

        self.assertEqual(Group.HELD, self.get(self.group).status)

    def test_who_was_released_is_not_held(self):
        old = self.hold_of(self.first)
        written = self.written(self.first)
        transitions.give_up(self.context, self.group, [self.first])

        self.assertFalse(self.exchange(written))
        self.assertFalse(self.exchange(written, [old]))

        self.assertEqual(Member.RELEASED, self.member().status)

    def test_to_who_was_held_its_server_may_still_be_on_the_way(self):
        """Else whoever boots the group creates another one."""
        self.first.change(
            self.context, Member.HELD, server_uuid=uuids.on_its_way
        )
        old = self.hold_of(self.first)

        for is_replan in (True, False):
            [new] = self.written(self.first)
            self.assertTrue(self.exchange([new], [old], is_replan))
            old = self.hold_of(self.first)

            self.assertEqual(uuids.on_its_way, self.member().server_uuid)

    def test_of_who_has_failed_the_server_is_forgotten(self):
        self.first.change(self.context, Member.HELD, server_uuid=uuids.failed)
        self.fail(self.first)

        self.assertTrue(self.exchange(self.written(self.first)))

        self.assertIsNone(self.member().server_uuid)


class TestExpiry(base.HeldCase):
    """A group may be extended while it is planned around what it has."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock(NOON))

    def exchanged(self, group, expires_at, is_replan=False):
        """Return until when a group is held after an exchange."""
        exchange = exchanges.Exchange([], [], [], expires_at, is_replan)
        self.assertTrue(
            exchanges.exchange_holds(self.context, group, exchange)
        )
        return self.get(group).expires_at

    def test_nothing_of_an_extension_is_lost(self):
        for is_replan, expires_at in ((True, None), (False, SOON)):
            group = self.held(SOON)
            group.extend(self.context, 3600)

            self.assertEqual(
                LATER, self.exchanged(group, expires_at, is_replan)
            )

    def test_a_replan_leaves_a_group_that_expires_sooner_as_it_is(self):
        group = self.held(LATER)
        group.extend(self.context, 60)

        self.assertEqual(SOON, self.exchanged(group, None, is_replan=True))

    def test_a_revision_is_held_as_long_as_a_new_group(self):
        for before in (None, SOON):
            self.assertEqual(LATER, self.exchanged(self.held(before), LATER))


class TestAgain(ReplanCase):
    def test_a_draft_describes_the_group_as_it_is(self):
        elsewhere = {'master': ['node']}
        draft = revisions.again(self.group, elsewhere)

        revisions.start(self.context, self.group, draft)

        stored = objects.VRTGroup.get(self.context, draft.uuid)
        self.assertEqual(elsewhere, stored.elsewhere)
        for one, other in zip(self.group.members, stored.members, strict=True):
            self.assertEqual(Member.TENTATIVE, other.status)
            for name in ('path', 'stem', 'description', 'request'):
                self.assertEqual(getattr(one, name), getattr(other, name))
        for group in (self.group, stored):
            self.assertEqual(['workers'], group.subgroups)
            self.assertEqual(
                ['affinity', 'spread'],
                sorted(each.type for each in group.policies),
            )
            [relationship] = group.relationships
            self.assertEqual(1, len(relationship.policies))

    def test_there_is_one_at_a_time(self):
        revisions.start(
            self.context, self.group, revisions.again(self.group, {})
        )

        self.assertRaises(
            exception.GroupStateConflict,
            revisions.start,
            *(self.context, self.group, revisions.again(self.group, {})),
        )


class TestRedefine(base.GroupCase):
    """A group of which nothing is held is described anew."""

    def setUp(self):
        super().setUp()
        self.group = self.create()
        self.group.change(self.context, Group.PLANNED)
        self.draft = groups.described()
        self.draft.members[0].server_uuid = uuids.server
        revisions.start(self.context, self.group, self.draft)

    def redefine(self):
        new = groups.described(name='new')
        revisions.redefine(self.context, self.get(self.group), new)

    def test_a_draft_that_is_being_planned_is_in_the_way(self):
        self.assertRaises(exception.GroupStateConflict, self.redefine)

        self.assertEqual('analytics', self.get(self.group).name)

    def test_one_that_came_to_nothing_is_seen_no_more(self):
        self.draft.change(self.context, Group.REFUSED)

        self.redefine()

        self.assertEqual('new', self.get(self.group).name)
        self.assertEqual(
            {}, objects.VRTGroup.drafts_of(self.context, [self.group.id])
        )
