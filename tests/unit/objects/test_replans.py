# SPDX-License-Identifier: Apache-2.0
"""What a group is described with anew, by planners or by its owner."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from tests import groups
from tests.unit.objects import base

Member = states.Member
Group = states.Group


class TestAgain(base.HeldCase):
    def setUp(self):
        super().setUp()
        self.group = self.held()

    def test_a_draft_describes_the_group_as_it_is(self):
        excluded_hosts = {'master': ['node']}
        draft = revisions.again(self.group, excluded_hosts)

        revisions.start(self.context, self.group, draft)

        stored = objects.VRTGroup.get(self.context, draft.uuid)
        self.assertEqual(excluded_hosts, stored.excluded_hosts)
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
