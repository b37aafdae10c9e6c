# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/current/present_group.py``."""

import fixtures
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.current import present_group
from tests import groups
from tests.unit.objects import base


class TestPresentGroup(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(
                present_group, '_definitions', present_group._Definitions()
            )
        )
        self.group = groups.unstored()
        self.group.create(self.context)

    def state(self, group=None):
        return objects.VRTGroup.find_state(
            self.context, (group or self.group).id
        )

    def read(self):
        return present_group.read(self.context, self.state())

    def count_reads(self):
        """Return the list that the later reads of a whole group go to."""
        read, get = [], objects.VRTGroup.get

        def note(context, uuid):
            read.append(uuid)
            return get(context, uuid)

        self.useFixture(
            fixtures.MockPatchObject(objects.VRTGroup, 'get', note)
        )
        return read

    def test_topology_is_that_of_the_whole_group(self):
        whole = objects.VRTGroup.get(self.context, self.group.uuid)

        self.assertEqual(definition.read(whole), definition.read(self.read()))

    def test_definition_is_read_once(self):
        read = self.count_reads()

        self.read()
        self.read()

        self.assertEqual([self.group.uuid], read)

    def test_next_definition_is_read_again(self):
        self.read()
        self.group.update_row(self.context, definition_generation=2)
        read = self.count_reads()

        self.read()

        self.assertEqual([self.group.uuid], read)

    def test_members_are_those_of_now(self):
        self.read()
        last = self.group.members[-1]
        objects.VRTMember.update_rows(
            self.context, models.Member.id == last.id, path='workers/other'
        )

        self.assertEqual(
            ['master', 'workers/worker-0', 'workers/other'],
            [member.path for member in self.read().members],
        )

    def test_set_that_was_left_out_stays_while_it_has_members(self):
        leaving = models.MemberSet.path == 'workers/worker'
        objects.VRTMemberSet.update_rows(
            self.context, leaving, is_left_out=True
        )
        self.assertEqual(2, len(self.read().member_sets))
        db.delete(
            self.context,
            models.Member,
            models.Member.member_set == 'workers/worker',
        )

        self.assertEqual(
            ['master'], [each.path for each in self.read().member_sets]
        )

    def test_few_definitions_are_kept(self):
        self.useFixture(
            fixtures.MockPatchObject(present_group, 'CACHE_SIZE', 1)
        )
        other = groups.unstored()
        other.create(self.context)
        self.read()
        present_group.read(self.context, self.state(other))
        read = self.count_reads()

        self.read()

        self.assertEqual([self.group.uuid], read)

    def test_group_that_was_purged_is_an_error(self):
        state = self.state()._replace(uuid=uuidutils.generate_uuid())

        self.assertRaises(
            *(exception.GroupNotFound, present_group.read),
            *(self.context, state),
        )
