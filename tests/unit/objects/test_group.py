# SPDX-License-Identifier: Apache-2.0
"""Groups and their members in the database."""

import datetime

from nova import context
from oslo_db import exception as db_exc
from oslo_utils import fixture as utils_fixture
from oslo_utils import timeutils
from oslotest import base

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import topology
from tests import fixtures
from tests import groups

Member = states.Member
Group = states.Group
NOON = datetime.datetime(2026, 11, 1, 12)


class GroupCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.context = context.get_admin_context()

    def create(self, **values):
        group = groups.described(**values)
        group.create(self.context)
        return group

    def get(self, group):
        return objects.VRTGroup.get(self.context, group.uuid)

    def move(self, group, *statuses):
        """Bring every member to a status, step by step."""
        for member in group.members:
            for status in statuses:
                member.change(self.context, status)


class TestGroup(GroupCase):
    def test_the_topology_comes_back_as_it_was_described(self):
        group = self.get(self.create())

        self.assertEqual(
            groups.TOPOLOGY,
            topology.compose(group, lambda member: member.description),
        )

    def test_a_new_group_is_being_planned(self):
        group = self.create()

        self.assertEqual((Group.PLANNING, 1), (group.status, group.generation))

    def test_a_client_token_makes_one_group_of_a_project(self):
        self.create(client_token='token')

        self.assertRaises(
            db_exc.DBDuplicateEntry, self.create, client_token='token'
        )
        self.create(client_token='token', project_id='other')

    def test_of_two_changes_from_the_same_state_one_wins(self):
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

    def test_a_change_that_does_not_exist_is_refused(self):
        group = self.create()

        self.assertRaises(
            exception.GenerationConflict,
            group.change,
            self.context,
            Group.ACTIVE,
        )

    def test_paths_tell_upper_and_lower_case_apart(self):
        group = self.create(
            members=[
                groups.member('db', 'db', {}),
                groups.member('DB', 'DB', {}),
            ],
            relationships=[],
        )

        self.assertEqual(['db', 'DB'], [m.path for m in group.members])

    def test_lists_show_a_project_its_own_in_pages(self):
        first, second = self.create(), self.create()
        self.create(project_id='other')

        def page(**filters):
            found = objects.VRTGroup.list(
                self.context, project_id='project', **filters
            )
            return [each.uuid for each in found]

        self.assertEqual([first.uuid, second.uuid], page())
        self.assertEqual([first.uuid], page(limit=1))
        self.assertEqual([second.uuid], page(marker=first.uuid))
        self.assertEqual([], page(name='nothing'))

    def test_a_deleted_group_is_in_no_list(self):
        group = self.create()
        group.change(self.context, Group.RELEASING)

        self.assertEqual([], objects.VRTGroup.list(self.context))

    def test_what_is_no_uuid_is_not_looked_up(self):
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

        group.destroy(self.context)

        self.assertEqual({}, fixtures.rows())


class TestSettle(GroupCase):
    """What a held group becomes is decided by its members."""

    def setUp(self):
        super().setUp()
        self.group = self.create()
        self.move(self.group, Member.HELD)
        self.group.change(self.context, Group.HELD)

    def settle(self):
        objects.VRTGroup.settle(self.context, self.group.id)
        return self.get(self.group).status

    def test_it_stays_held_while_one_member_is_held(self):
        self.redeem(*self.group.members[:2])

        self.assertEqual(Group.HELD, self.settle())

    def test_it_is_active_when_the_rest_are_servers_or_released(self):
        self.redeem(*self.group.members[:2])
        self.group.members[2].change(self.context, Member.RELEASED)

        self.assertEqual(Group.ACTIVE, self.settle())

    def test_it_is_released_when_no_member_is_a_server(self):
        self.move(self.group, Member.RELEASED)

        self.assertEqual(Group.RELEASED, self.settle())

    def test_what_nobody_settled_is_settled_later(self):
        self.redeem(*self.group.members)
        before = self.get(self.group).generation

        for _round in range(2):
            objects.VRTGroup.settle_all(self.context)

        group = self.get(self.group)
        self.assertEqual(Group.ACTIVE, group.status)
        self.assertEqual(before + 1, group.generation)

    def redeem(self, *members):
        for member in members:
            member.change(self.context, Member.REDEEMING)
            member.change(self.context, Member.ACTIVE)


class TestExpiry(GroupCase):
    """A held group of three is extended or expires, as a whole."""

    def setUp(self):
        super().setUp()
        self.useFixture(utils_fixture.TimeFixture(NOON))
        self.group = self.create()
        self.group.hold_members(
            self.context,
            groups.holds(self.context, self.group),
            NOON + datetime.timedelta(seconds=60),
        )
        self.group = self.get(self.group)

    def pass_seconds(self, seconds):
        timeutils.advance_time_seconds(seconds)

    def expired(self):
        found = objects.VRTGroup.list_expired(self.context, timeutils.utcnow())
        return [group.uuid for group in found]

    def state(self):
        group = self.get(self.group)
        return group.status, *(member.status for member in group.members)

    def holds(self):
        found = objects.VRTHold.list_by_group(self.context, self.group.id)
        return [hold.status for hold in found]

    def extend(self, seconds=60):
        self.get(self.group).extend(self.context, seconds)

    def refusal(self):
        error = self.assertRaises(exception.GroupStateConflict, self.extend)
        return error.format_message().partition(' is ')[2]

    def test_it_is_held_until_its_time_is_over(self):
        self.pass_seconds(59)
        self.assertEqual([], self.expired())
        self.assertFalse(self.group.expire(self.context))
        self.assertEqual((Group.HELD, *[Member.HELD] * 3), self.state())

        self.pass_seconds(1)

        self.assertEqual([self.group.uuid], self.expired())
        self.assertTrue(self.group.expire(self.context))
        self.assertEqual([], self.expired())
        self.assertEqual(
            (Group.RELEASED, *[Member.RELEASED] * 3), self.state()
        )
        self.assertEqual(['LEAVING'] * 3, self.holds())

    def test_its_members_say_why_they_are_released(self):
        self.pass_seconds(60)
        self.group.expire(self.context)

        self.assertEqual(
            {'its group expired at 2026-11-01T12:01:00Z'},
            {member.fault for member in self.get(self.group).members},
        )

    def test_what_is_a_server_or_becomes_one_stays(self):
        first, second, _third = self.group.members
        first.change(self.context, Member.REDEEMING)
        first.change(self.context, Member.ACTIVE)
        second.change(self.context, Member.REDEEMING)
        self.pass_seconds(60)

        self.group.expire(self.context)

        self.assertEqual(
            (Group.HELD, Member.ACTIVE, Member.REDEEMING, Member.RELEASED),
            self.state(),
        )
        self.assertEqual(['HELD', 'HELD', 'LEAVING'], self.holds())

    def test_who_has_failed_keeps_its_fault(self):
        self.group.members[0].change(
            self.context, Member.FAILED, fault='its host has burnt down'
        )
        self.pass_seconds(60)

        self.group.expire(self.context)

        failed, *_others = self.get(self.group).members
        self.assertEqual(
            (Member.FAILED, 'its host has burnt down'),
            (failed.status, failed.fault),
        )

    def test_extending_counts_from_now(self):
        self.pass_seconds(30)
        generation = self.get(self.group).generation

        self.extend(100)

        group = self.get(self.group)
        self.assertEqual(
            NOON + datetime.timedelta(seconds=130), group.expires_at
        )
        self.assertEqual(generation + 1, group.generation)

    def test_who_was_extended_in_time_does_not_expire(self):
        """The reaper has found the group just before it was extended."""
        self.pass_seconds(59)
        self.extend()
        self.pass_seconds(1)

        self.assertFalse(self.group.expire(self.context))

        self.assertEqual((Group.HELD, *[Member.HELD] * 3), self.state())

    def test_who_has_expired_is_not_extended(self):
        self.pass_seconds(60)

        self.assertEqual(
            'HELD: it expired at 2026-11-01T12:01:00Z', self.refusal()
        )
        self.group.expire(self.context)
        self.assertEqual('RELEASED: nothing of it is held', self.refusal())

    def test_an_extension_that_comes_late_changes_nothing(self):
        """Its clock was before the end, its turn after the expiry."""
        stale = self.get(self.group)
        self.pass_seconds(60)
        self.group.expire(self.context)
        self.pass_seconds(-1)

        self.assertRaises(
            exception.GroupStateConflict, stale.extend, self.context, 60
        )

        self.assertEqual(
            (Group.RELEASED, *[Member.RELEASED] * 3), self.state()
        )

    def test_members_that_are_being_created_are_extended(self):
        for member in self.group.members:
            member.change(self.context, Member.REDEEMING)
        objects.VRTGroup.settle(self.context, self.group.id)

        self.extend()

    def test_what_holds_nothing_is_not_extended(self):
        for member in self.group.members:
            member.change(self.context, Member.REDEEMING)
            member.change(self.context, Member.ACTIVE)
        objects.VRTGroup.settle(self.context, self.group.id)

        self.assertEqual('ACTIVE: nothing of it is held', self.refusal())

    def test_a_hold_is_good_until_its_group_expires(self):
        def obstacles():
            by_path = objects.VRTMember.get_by_path(
                self.context, self.group.uuid, 'master', project_id='project'
            )
            by_id = objects.VRTMember.find_by_id(self.context, by_path.id)
            return {each.why_not_redeemable() for each in (by_path, by_id)}

        self.assertEqual({None}, obstacles())
        self.pass_seconds(60)
        told = 'its group expired at 2026-11-01T12:01:00Z'
        self.assertEqual({told}, obstacles())
        self.group.expire(self.context)
        self.assertEqual({told}, obstacles())


class TestMember(GroupCase):
    def setUp(self):
        super().setUp()
        self.group = self.create()

    def get_member(self, path, project_id='project'):
        return objects.VRTMember.get_by_path(
            self.context, self.group.uuid, path, project_id=project_id
        )

    def test_of_two_servers_one_reserves_the_member(self):
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

    def test_another_project_does_not_find_it(self):
        self.assertRaises(
            exception.MemberNotFound, self.get_member, 'master', 'other'
        )

    def test_nobody_finds_it_once_its_group_is_deleted(self):
        self.group.change(self.context, Group.RELEASING)

        self.assertRaises(exception.MemberNotFound, self.get_member, 'master')


class TestIntent(GroupCase):
    def setUp(self):
        super().setUp()
        self.group = self.create()

    def acquire(self):
        return objects.VRTIntent.acquire(
            self.context, self.group, objects.VRTIntent.PLAN, 'me', 60
        )

    def test_one_at_a_time_works_on_a_group(self):
        intent = self.acquire()
        self.addCleanup(setattr, objects.intent, 'PATIENCE', 20)
        objects.intent.PATIENCE = 1

        self.assertRaises(exception.GroupBusy, self.acquire)
        intent.fulfil(self.context)
        self.acquire()

    def test_who_died_is_replaced_when_the_lease_ran_out(self):
        timeutils.set_time_override()
        self.addCleanup(timeutils.clear_time_override)
        self.acquire()
        timeutils.advance_time_seconds(61)

        self.acquire()

    def test_who_is_late_does_not_end_the_work_of_the_next(self):
        timeutils.set_time_override()
        self.addCleanup(timeutils.clear_time_override)
        late = self.acquire()
        timeutils.advance_time_seconds(61)
        self.acquire()

        late.fulfil(self.context)

        self.assertEqual(1, fixtures.rows()['vrt_intents'])
