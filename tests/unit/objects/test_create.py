# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/objects/create.py``."""

import fixtures
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.member_set import Matching
from tests.unit.objects import base
from tests.unit.objects import creating

Status = states.Create
MATCHING = Matching({'m': 'm1'})

INSERT = 'nova_groupext.db.api.insert'


class TestCreates(creating.CreateCase):
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


class TestRefusals(creating.CreateCase):
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


def _faults(ended):
    return {uuid: each.fault for uuid, each in ended.items()}
