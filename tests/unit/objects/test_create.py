# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/objects/create.py``."""

import fixtures
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.membership import settle_group
from nova_groupext.objects import create as creates
from nova_groupext.objects import drafts
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member_set import Matching
from tests import groups
from tests.unit.objects import base

Status = states.Create
MATCHING = Matching({'m': 'm1'})

INSERT = 'nova_groupext.db.api.insert'


class CreateCase(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()

    def start(
        self,
        *servers,
        group=None,
        seconds=60,
        limit=9,
        of_project=9,
        kind='m1',
    ):
        return VRTCreate.start(
            *(
                self.context,
                group or self.group,
                'workers/worker',
                Matching({'m': kind}),
            ),
            servers or (uuids.server,),
            seconds=seconds,
            limit=limit,
            project_limit=of_project,
        )

    def current(self, create):
        return VRTCreate.find_by_id(self.context, create.id)

    def list_open(self):
        return [
            each.id
            for each in VRTCreate.list_open(self.context, self.group.id)
        ]


class TestCreates(CreateCase):
    def test_open_creates_are_listed_oldest_first(self):
        first, second = self.start(), self.start()
        self.start(seconds=-1)
        self.start(group=self.create())

        self.assertEqual([first.id, second.id], self.list_open())

    def test_too_many_open_creates_of_all_projects_are_refused(self):
        self.start(group=self.create(project_id='other'), limit=1)

        self.assertRaises(exception.TooManyWaiting, self.start, limit=1)

    def test_too_many_open_creates_of_a_project_are_refused(self):
        self.start(group=self.create(project_id='other'))
        self.start(of_project=1)

        self.assertRaises(exception.TooManyWaiting, self.start, of_project=1)

    def test_creates_stored_at_the_same_time_are_limited(self):
        insert = db.insert

        def insert_second(*args, **values):
            self.useFixture(fixtures.MonkeyPatch(INSERT, insert))
            self.start(limit=1)
            insert(*args, **values)

        self.useFixture(fixtures.MonkeyPatch(INSERT, insert_second))

        self.assertRaises(exception.TooManyWaiting, self.start, limit=1)
        self.assertEqual(1, len(self.list_open()))

    def test_create_whose_time_is_over_does_not_count(self):
        self.start(seconds=-1)

        self.assertIsNotNone(self.start(limit=1))

    def test_open_create_is_given_up(self):
        create = self.start()

        self.assertTrue(create.give_up(self.context))

        self.assertIsNone(self.current(create))

    def test_placed_create_is_not_given_up(self):
        create = self.start()
        create.update_row(self.context, status=Status.PLACED)

        self.assertFalse(create.give_up(self.context))

        self.assertIsNotNone(self.current(create))

    def test_ended_creates_are_found_by_their_uuids(self):
        refused, still_open, removed = (self.start() for _each in range(3))
        refused.fail(self.context, 'why')
        removed.remove(self.context)

        ended = VRTCreate.list_ended(
            self.context, [refused.uuid, still_open.uuid, removed.uuid]
        )

        self.assertIsNone(ended.pop(removed.uuid))
        self.assertEqual({refused.uuid: 'why'}, _faults(ended))

    def test_creates_are_purged_when_their_time_is_over(self):
        create, old = self.start(), self.start(seconds=-1)

        VRTCreate.purge(self.context)

        self.assertIsNone(self.current(old))
        self.assertIsNotNone(self.current(create))


class TestRefusals(CreateCase):
    def setUp(self):
        super().setUp()
        self.start(uuids.one, uuids.two).refuse(
            self.context, self.group, 'full', has_successors=False
        )

    def find(
        self,
        number=2,
        hint='workers/worker',
        like='m',
        has_successors=False,
        kind='m1',
    ):
        found = VRTCreate.find_refused(
            *(
                self.context,
                self.get(self.group),
                hint,
                Matching({like: kind}),
                number,
            ),
            has_successors=has_successors,
        )
        return found and found.fault

    def test_as_many_servers_or_more_are_refused_again(self):
        self.assertEqual(
            [None, 'full', 'full'], [self.find(n) for n in (1, 2, 3)]
        )

    def test_other_hint_is_not_refused(self):
        self.assertIsNone(self.find(hint='workers'))

    def test_other_description_is_not_refused(self):
        self.assertIsNone(self.find(like='other'))

    def test_former_description_is_not_refused(self):
        self.assertIsNone(self.find(kind='m0'))

    def test_successors_are_refused_apart(self):
        self.assertIsNone(self.find(has_successors=True))

    def test_changed_group_is_asked_again(self):
        self.group.update_description(self.context, {'name': 'other'})

        self.assertIsNone(self.find())

    def test_draft_for_other_creates_keeps_the_refusal(self):
        for is_for_creates, fault in ((True, 'full'), (False, None)):
            group = self.get(self.group)
            draft = drafts.replacement_of(group, {})
            draft.is_for_creates = is_for_creates
            drafts.store(self.context, group, draft)

            self.assertEqual(fault, self.find())

    def test_refusal_of_another_group_is_not_repeated(self):
        other = self.create_held_group()

        self.assertIsNone(
            VRTCreate.find_refused(
                *(self.context, other, 'workers/worker', MATCHING, 2),
                has_successors=False,
            )
        )

    def test_refusal_ends_after_its_time(self):
        VRTCreate.update_rows(
            self.context,
            models.Create.status == Status.REFUSED,
            ends_at=base.NOON,
        )

        self.assertIsNone(self.find())

    def test_failed_create_is_asked_again(self):
        group = self.create()
        self.start(group=group).fail(self.context, 'slow')

        self.assertIsNone(
            VRTCreate.find_refused(
                *(self.context, group, 'workers/worker', MATCHING, 1),
                has_successors=False,
            )
        )


class TestReserving(CreateCase):
    """A create for which a draft has placed two members."""

    def setUp(self):
        super().setUp()
        self.create_ = self.start(uuids.one, uuids.two)
        self.paths = ['workers/worker-0', 'workers/worker-1']
        members = dict(zip((uuids.one, uuids.two), self.paths, strict=True))
        self.create_.choose(self.context, members, draft_id=7)
        self.draft = VRTGroup(
            id=7,
            uuid=uuids.draft,
            is_for_creates=True,
            excluded_nodes={path: [] for path in self.paths},
        )

    def reserve(self):
        creates.reserve_placed(self.context, self.group.id, self.draft)

    def are_open(self):
        return creates.are_open(self.context, self.draft)

    def reserved(self):
        return [
            member.reserved_for
            for member in self.get(self.group).members
            if member.path in self.paths
        ]

    def change_member(self, **values):
        member = self.get(self.group).members[1]
        member.update_row(self.context, **values)

    def test_members_are_reserved_for_their_servers(self):
        self.assertTrue(self.are_open())

        self.reserve()

        self.assertEqual([uuids.one, uuids.two], self.reserved())
        self.assertEqual(Status.PLACED, self.current(self.create_).status)

    def test_nothing_is_reserved_if_a_member_is_reserved_already(self):
        self.change_member(reserved_for=uuids.other)

        self.reserve()

        self.assertEqual([uuids.other, uuids.draft], self.reserved())
        self.assertEqual(Status.OPEN, self.current(self.create_).status)

    def test_nothing_is_reserved_if_a_member_is_not_held(self):
        self.change_member(status=states.Member.FAILED)

        self.reserve()

        self.assertEqual([None, uuids.draft], self.reserved())
        self.assertEqual(Status.OPEN, self.current(self.create_).status)

    def test_members_of_a_create_that_was_given_up_are_surplus(self):
        self.create_.give_up(self.context)
        self.assertFalse(self.are_open())

        self.reserve()

        self.assertEqual([uuids.draft] * 2, self.reserved())
        self.assertEqual(
            [self.group.id], settle_group.list_groups(self.context)
        )

    def test_draft_of_an_ended_create_is_not_open(self):
        self.create_.update_row(self.context, ends_at=base.NOON)

        self.assertFalse(self.are_open())

    def test_other_drafts_need_no_creates(self):
        self.create_.give_up(self.context)
        self.draft.is_for_creates = False

        self.assertTrue(self.are_open())
        self.reserve()
        self.assertEqual([None, None], self.reserved())

    def test_held_members_are_reserved_under_a_lease(self):
        lease = groups.acquire_lease(self.context, self.group)

        creates.reserve_held(self.context, lease, self.current(self.create_))

        self.assertEqual([uuids.one, uuids.two], self.reserved())

    def test_held_members_are_not_reserved_after_the_lease_was_lost(self):
        lease = groups.acquire_lease(self.context, self.group)
        lease.release(self.context)

        self.assertRaises(
            exception.GroupBusy,
            *(creates.reserve_held, self.context, lease),
            self.current(self.create_),
        )

        self.assertEqual([None, None], self.reserved())

    def test_withdrawn_create_frees_its_members(self):
        self.reserve()
        other = self.get(self.group).members[0]
        other.update_row(self.context, reserved_for=uuids.other)

        self.create_.withdraw(self.context)

        self.assertIsNone(self.current(self.create_))
        reserved = [m.reserved_for for m in self.get(self.group).members]
        self.assertEqual([uuids.other, None, None], reserved[:3])

    def test_reserved_member_is_redeemed_by_its_server_alone(self):
        self.reserve()

        [_master, member, _other] = self.get(self.group).members

        self.assertIn('waits for it', member.redeem_obstacle())
        self.assertEqual(uuids.one, member.own_server)

    def redeem(self, server, member):
        [hold] = [
            each
            for each in VRTHold.list_by_group(self.context, self.group.id)
            if each.member_id == member.id
        ]
        return redeems.reserve(self.context, {server: (member, hold)})

    def test_member_that_was_reserved_meanwhile_is_no_other_servers(self):
        """Another scheduler has read it before, when it was free."""
        free = self.get(self.group).members[1]
        self.reserve()

        self.assertFalse(self.redeem(uuids.other, free))

        self.assertEqual([uuids.one, uuids.two], self.reserved())
        self.assertTrue(self.redeem(uuids.one, free))

    def test_members_of_other_groups_are_not_reserved(self):
        other = self.create_held_group()

        self.reserve()

        self.assertEqual(
            {None}, {each.reserved_for for each in self.get(other).members}
        )

    def test_only_members_of_the_draft_are_reserved(self):
        self.reserve()

        master = self.get(self.group).members[0]
        self.assertIsNone(master.reserved_for)

    def test_create_whose_time_is_over_is_not_placed(self):
        self.create_.update_row(self.context, ends_at=base.NOON)

        self.reserve()

        self.assertEqual([uuids.draft] * 2, self.reserved())
        self.assertEqual(0, creates.count_servers(self.context, self.draft))

    def test_held_members_are_not_reserved_when_the_time_is_over(self):
        lease = groups.acquire_lease(self.context, self.group)
        self.create_.update_row(self.context, ends_at=base.NOON)

        creates.reserve_held(self.context, lease, self.current(self.create_))

        self.assertEqual([None, None], self.reserved())

    def test_draft_of_which_one_create_was_given_up_is_not_open(self):
        other = self.start(uuids.three)
        other.choose(
            self.context, {uuids.three: 'master'}, draft_id=self.draft.id
        )
        self.draft.excluded_nodes['master'] = []
        self.assertTrue(self.are_open())

        other.give_up(self.context)

        self.assertFalse(self.are_open())

    def test_placed_create_does_not_change_any_more(self):
        self.reserve()

        self.create_.fail(self.context, 'late')
        self.create_.choose(self.context, {uuids.one: 'master'}, draft_id=8)

        current = self.current(self.create_)
        self.assertEqual(Status.PLACED, current.status)
        self.assertNotIn('master', (current.members or {}).values())


def _faults(ended):
    return {uuid: each.fault for uuid, each in ended.items()}
