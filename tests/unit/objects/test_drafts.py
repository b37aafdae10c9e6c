# SPDX-License-Identifier: Apache-2.0
"""Drafts and new definitions of stored groups."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import definitions
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from tests import groups
from tests.unit.objects import base

Member = states.Member
Group = states.Group
FORMER = {'flavor_id': 'former'}


class TestDraft(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()

    def test_draft_equals_its_group_but_for_states(self):
        excluded_nodes = {'master': ['node']}
        draft = drafts.replacement_of(self.group, excluded_nodes)

        drafts.store(self.context, self.group, draft)

        stored = objects.VRTGroup.get(self.context, draft.uuid)
        self.assertEqual(excluded_nodes, stored.excluded_nodes)
        for one, other in zip(self.group.members, stored.members, strict=True):
            self.assertEqual(Member.TENTATIVE, other.status)
            for name in ('path', 'member_set', 'resolved_request'):
                self.assertEqual(getattr(one, name), getattr(other, name))
        for group in (self.group, stored):
            self.assertEqual(['workers'], group.subgroups)
            self.assertEqual(
                ['affinity', 'spread'],
                sorted(each.type for each in group.policies),
            )
            [relationship] = group.relationships
            self.assertEqual(1, len(relationship.policies))

    def describe_before(self, request):
        """Give the held members a request of their own; return the group."""
        for member in self.group.members:
            member.update_row(self.context, server_request=request)
        return self.get(self.group)

    def test_hold_for_a_former_request_stays_one_in_a_replacement(self):
        group = self.describe_before(FORMER)
        draft = drafts.replacement_of(group, {})
        drafts.store(self.context, group, draft)

        definitions.exchange(self.context, group, draft)

        self.assertEqual(
            [FORMER] * len(group.members), self.server_requests(group)
        )

    def test_hold_for_a_former_request_is_one_as_described_in_a_revision(self):
        group = self.describe_before(FORMER)
        draft = groups.unstored()
        drafts.store(self.context, group, draft)

        definitions.exchange(self.context, group, draft)

        self.assertEqual(
            [None] * len(group.members), self.server_requests(group)
        )

    def server_requests(self, group):
        return [each.server_request for each in self.get(group).members]

    def test_second_draft_of_a_group_conflicts(self):
        drafts.store(
            self.context,
            self.group,
            drafts.replacement_of(self.group, {}),
        )

        self.assertRaises(
            exception.GroupStateConflict,
            drafts.store,
            *(
                self.context,
                self.group,
                drafts.replacement_of(self.group, {}),
            ),
        )

    def test_deleted_group_gets_no_draft(self):
        self.group.mark_deleted(self.context)
        deleted = objects.VRTGroup.get(self.context, self.group.uuid)

        self.assertRaises(
            exception.GenerationConflict,
            drafts.store,
            *(self.context, deleted, drafts.replacement_of(deleted, {})),
        )
        self.assertFalse(deleted.has_draft(self.context))

    def store_over(self, **earlier):
        first = drafts.replacement_of(self.group, {})
        drafts.store(self.context, self.group, first)
        first.update_row(self.context, **earlier)
        second = drafts.replacement_of(self.group, None)
        drafts.store(self.context, self.group, second)
        return first

    def test_draft_for_creates_gives_way_until_its_swap_begins(self):
        first = self.store_over(is_for_creates=True)

        deleted = objects.VRTGroup.get(self.context, first.uuid)
        self.assertEqual(Group.RELEASING, deleted.status)
        self.group = self.create_held_group()
        self.assertRaises(
            exception.GroupGrowing,
            *(self.store_over,),
            is_for_creates=True,
            is_binding=True,
        )

    def shown(self):
        """Return the uuid of the draft that counts."""
        by_group = objects.VRTGroup.drafts_by_group
        [draft] = by_group(self.context, [self.group.id]).values()
        return draft.uuid

    def decided(self, draft):
        drafts.store(self.context, self.group, draft)
        draft.change(self.context, Group.REFUSED)
        return draft.uuid

    def test_refused_revision_is_shown_until_the_next_one(self):
        requested = self.decided(groups.unstored())
        placing = drafts.replacement_of(self.group, {})
        drafts.store(self.context, self.group, placing)
        self.assertEqual(placing.uuid, self.shown())

        placing.change(self.context, Group.REFUSED)
        self.assertEqual(requested, self.shown())
        self.decided(drafts.replacement_of(self.group, {}))
        self.assertEqual(requested, self.shown())

        self.assertEqual(self.decided(groups.unstored()), self.shown())
        of_group = objects.VRTGroup.drafts_of(self.context, [self.group.id])
        self.assertEqual(1, len(of_group))

    def test_draft_that_a_planner_deletes_meanwhile_is_no_error(self):
        self.decided(drafts.replacement_of(self.group, {}))
        delete = objects.VRTGroup.mark_deleted

        def delete_twice(*args):
            delete(*args)
            delete(*args)

        self.patch(objects.VRTGroup, 'mark_deleted', delete_twice)

        self.assertEqual(self.decided(groups.unstored()), self.shown())


class TestRedefine(base.GroupTestCase):
    """A group without holds gets a new definition."""

    def setUp(self):
        super().setUp()
        self.group = self.create()
        self.group.change(self.context, Group.PLANNED)
        self.draft = groups.unstored()
        self.draft.members[0].server_uuid = uuids.server
        drafts.store(self.context, self.group, self.draft)

    def redefine(self):
        new = groups.unstored(name='new')
        drafts.replace_definition(self.context, self.get(self.group), new)

    def test_redefinition_conflicts_with_a_draft_in_planning(self):
        self.assertRaises(exception.GroupStateConflict, self.redefine)

        self.assertEqual('analytics', self.get(self.group).name)

    def test_redefinition_hides_a_refused_draft(self):
        self.draft.change(self.context, Group.REFUSED)

        self.redefine()

        self.assertEqual('new', self.get(self.group).name)
        self.assertEqual(
            {}, objects.VRTGroup.drafts_by_group(self.context, [self.group.id])
        )
