# SPDX-License-Identifier: Apache-2.0
"""Groups and their members in the database."""

import datetime

from oslo_db import exception as db_exc

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import topology
from tests import fixtures
from tests import groups
from tests.unit.objects import base

Member = states.Member
Group = states.Group


class TestGroup(base.GroupTestCase):
    def test_stored_topology_equals_the_description(self):
        group = self.get(self.create())

        self.assertEqual(
            groups.TOPOLOGY,
            topology.compose(group, lambda each: each.description),
        )

    def test_new_group_is_planning(self):
        group = self.create()

        self.assertEqual((Group.PLANNING, 1), (group.status, group.generation))

    def test_second_group_with_a_client_token_is_a_duplicate(self):
        self.create(client_token='token')

        self.assertRaises(
            db_exc.DBDuplicateEntry, self.create, client_token='token'
        )
        self.create(client_token='token', project_id='other')

    def test_concurrent_change_of_one_generation_conflicts(self):
        group = self.create()
        stale = self.get(group)
        group.change(self.context, Group.PLANNED)

        self.assertRaises(
            exception.GenerationConflict,
            stale.change,
            self.context,
            Group.REFUSED,
        )
        self.assertEqual(
            (Group.PLANNED, 2), (self.get(group).status, group.generation)
        )

    def test_invalid_change_of_state_is_refused(self):
        group = self.create()

        self.assertRaises(
            exception.GenerationConflict,
            group.change,
            self.context,
            Group.ACTIVE,
        )

    def test_paths_are_case_sensitive(self):
        group = self.create(
            **groups.single_members(['db', 'DB']), relationships=[]
        )

        self.assertEqual(['db', 'DB'], [m.path for m in group.members])

    def test_lists_have_pages_of_one_projects_groups(self):
        first, second = self.create(), self.create()
        self.create(project_id='other')

        def page(**filters):
            found = objects.VRTGroup.list(
                self.context, project_id='project', **filters
            )
            return [each.uuid for each in found]

        self.assertEqual([first.uuid, second.uuid], page())
        self.assertEqual([first.uuid], page(limit=1))
        self.assertEqual([second.uuid], page(marker=(first.uuid, None)))
        self.assertEqual([], page(name='nothing'))

    def test_a_deleted_group_is_in_no_list(self):
        group = self.create()
        group.mark_deleted(self.context)

        self.assertEqual([], objects.VRTGroup.list(self.context))

    def test_stale_object_of_a_group_can_be_deleted(self):
        group = self.create()
        stale = self.get(group)
        group.change(self.context, Group.REFUSED)

        stale.mark_deleted(self.context)

        self.assertEqual(Group.RELEASING, self.get(group).status)
        self.assertRaises(
            exception.GroupNotFound, group.mark_deleted, self.context
        )

    def test_invalid_uuid_is_not_found_without_a_query(self):
        models.Base.metadata.drop_all(engine.get_engine())

        for name in ('', 'a\0', '7f3a9d0c'):
            self.assertRaises(
                exception.GroupNotFound,
                objects.VRTGroup.get,
                self.context,
                name,
            )

    def test_destroying_a_group_leaves_no_row(self):
        group = self.create()

        group.purge(self.context)

        self.assertEqual({}, fixtures.row_counts())


class TestMember(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create()

    def get_member(self, path, project_id='project'):
        return objects.VRTMember.get_by_path(
            self.context, self.group.uuid, path, project_id=project_id
        )

    def test_second_reservation_of_a_member_conflicts(self):
        self.get_member('master').change(self.context, Member.HELD)
        one, other = self.get_member('master'), self.get_member('master')
        one.change(self.context, Member.REDEEMING, server_uuid=self.group.uuid)

        self.assertRaises(
            exception.MemberStateConflict,
            other.change,
            self.context,
            Member.REDEEMING,
        )
        self.assertEqual(
            self.group.uuid, self.get_member('master').server_uuid
        )

    def test_member_of_another_project_is_not_found(self):
        self.assertRaises(
            exception.MemberNotFound, self.get_member, 'master', 'other'
        )

    def paths(self, name, project_id='project'):
        found = objects.VRTMember.list_by_path(
            self.context, self.group.uuid, name, project_id=project_id
        )
        return [member.path for member in found]

    def test_path_matches_a_member_a_member_set_or_a_subgroup(self):
        both = ['workers/worker-0', 'workers/worker-1']
        for name, expected in (
            ('master', ['master']),
            ('workers/worker-1', ['workers/worker-1']),
            ('workers/worker', both),
            ('workers', both),
        ):
            self.assertEqual(expected, self.paths(name), name)

    def test_path_without_members_is_not_found(self):
        for name in ('Workers', 'worker', 'work', 'workers/', '%', '/'):
            self.assertRaises(exception.MemberNotFound, self.paths, name)
        self.assertRaises(
            exception.MemberNotFound, self.paths, 'workers', 'other'
        )

    def test_empty_path_has_all_members(self):
        self.assertEqual(3, len(self.paths('')))

    def test_member_of_a_deleted_group_is_not_found(self):
        self.group.mark_deleted(self.context)

        self.assertRaises(exception.MemberNotFound, self.get_member, 'master')

    def test_expiry_of_a_member_of_a_purged_group_is_not_found(self):
        group = self.create()
        member = objects.VRTMember.find_by_id(
            self.context, group.members[0].id
        )
        member.status = Member.HELD
        group.purge(self.context)

        self.assertRaises(exception.GroupNotFound, member.redeem_obstacle)


class TestExtension(base.ExpiringGroupTestCase):
    def refusal(self):
        error = self.assertRaises(exception.GroupStateConflict, self.extend)
        return error.format_message().partition(' is ')[2]

    def test_extension_counts_from_now(self):
        self.pass_seconds(30)
        generation = self.get(self.group).generation

        self.extend(100)

        group = self.get(self.group)
        self.assertEqual(
            base.NOON + datetime.timedelta(seconds=130), group.expires_at
        )
        self.assertEqual(generation + 1, group.generation)

    def test_extension_of_an_expired_group_is_refused(self):
        self.pass_seconds(60)

        self.assertEqual(
            'HELD: it expired at 2026-11-01T12:01:00Z; its holds are being '
            'released',
            self.refusal(),
        )
        self.expire()
        self.assertEqual(
            'RELEASED: it has no held members; it expired at '
            '2026-11-01T12:01:00Z',
            self.refusal(),
        )

    def test_late_extension_by_a_stale_object_is_refused(self):
        """Its clock is before the end, its transaction after the expiry."""
        stale = self.get(self.group)
        self.pass_seconds(60)
        self.expire()
        self.pass_seconds(-1)

        self.assertRaises(
            exception.GroupStateConflict, stale.extend, self.context, 60
        )

        self.assertEqual(Group.RELEASED, self.get(self.group).status)

    def test_group_with_redeeming_members_is_extended(self):
        for member in self.group.members:
            member.change(self.context, Member.REDEEMING)

        self.extend()

    def test_extension_of_a_group_without_holds_is_refused(self):
        self.redeem(*self.group.members)

        self.assertEqual('ACTIVE: it has no held members', self.refusal())
