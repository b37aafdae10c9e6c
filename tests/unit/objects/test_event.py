# SPDX-License-Identifier: Apache-2.0
"""Events of a group: the last ones are stored with their requesters."""

import logging

import fixtures
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import event as events
from tests.unit.objects import base


class TestEvents(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()

    def stored_events(self):
        found = objects.VRTEvent.by_group(self.context, [self.group.id])
        return found.get(self.group.id, [])

    def test_event_of_a_request_has_its_requester(self):
        objects.VRTEvent.record_request(self.context, self.group.id, 'replan')

        [event] = self.stored_events()

        self.assertEqual('replan', event.name)
        self.assertEqual(
            (
                self.context.request_id,
                self.context.user_id,
                self.context.project_id,
            ),
            (event.request_id, event.user_id, event.project_id),
        )
        self.assertIsNotNone(event.created_at)

    def test_event_of_a_planner_has_no_requester(self):
        objects.VRTEvent.record_change(
            self.context, self.group.id, 'undecided', 'It took too long.'
        )

        [event] = self.stored_events()

        self.assertEqual('It took too long.', event.message)
        self.assertEqual(
            (None, None, None),
            (event.request_id, event.user_id, event.project_id),
        )

    def test_last_events_are_kept_newest_first(self):
        for number in range(events.MAX_EVENTS + 3):
            objects.VRTEvent.record_change(
                self.context, self.group.id, f'e-{number}'
            )

        names = [event.name for event in self.stored_events()]

        wanted = range(events.MAX_EVENTS + 2, 2, -1)
        self.assertEqual([f'e-{number}' for number in wanted], names)

    def test_events_are_deleted_with_their_group(self):
        objects.VRTEvent.record_request(self.context, self.group.id, 'create')

        self.delete(self.group)

        self.assertEqual(0, db.count(self.context, models.Event))

    def test_event_of_a_deleted_group_is_logged_without_traceback(self):
        gone = db_exc.DBReferenceError('vrt_events', 'key', 'id', 'vrt_groups')
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        with fixtures.MockPatchObject(db, 'insert', side_effect=gone):
            objects.VRTEvent.record_request(
                self.context, self.group.id, 'create'
            )

        self.assertIn('Event create was not stored', log.output)
        self.assertNotIn('Traceback', log.output)

    def test_database_error_is_not_raised(self):
        with fixtures.MockPatchObject(
            db, 'insert', side_effect=db_exc.DBConnectionError
        ):
            objects.VRTEvent.record_request(
                self.context, self.group.id, 'create'
            )

        self.assertEqual([], self.stored_events())
