# SPDX-License-Identifier: Apache-2.0
"""Are the last things that happened to a group remembered, and told apart?"""

import logging

import fixtures
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import event as events
from tests.unit.objects import base


class TestEvents(base.HeldCase):
    def setUp(self):
        super().setUp()
        self.group = self.held()

    def told(self):
        found = objects.VRTEvent.of_groups(self.context, [self.group.id])
        return found.get(self.group.id, [])

    def test_a_request_is_remembered_with_who_has_made_it(self):
        objects.VRTEvent.asked(self.context, self.group.id, 'replan')

        [event] = self.told()

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

    def test_what_planners_do_is_not_said_to_be_a_users(self):
        objects.VRTEvent.happened(
            self.context, self.group.id, 'undecided', 'It took too long.'
        )

        [event] = self.told()

        self.assertEqual('It took too long.', event.message)
        self.assertEqual(
            (None, None, None),
            (event.request_id, event.user_id, event.project_id),
        )

    def test_the_last_ones_are_kept_the_newest_first(self):
        for number in range(events.KEPT + 3):
            objects.VRTEvent.happened(
                self.context, self.group.id, f'e-{number}'
            )

        names = [event.name for event in self.told()]

        wanted = range(events.KEPT + 2, 2, -1)
        self.assertEqual([f'e-{number}' for number in wanted], names)

    def test_they_are_forgotten_with_their_group(self):
        objects.VRTEvent.asked(self.context, self.group.id, 'create')

        self.forget(self.group)

        self.assertEqual(0, db.count(self.context, models.Event))

    def test_a_group_that_is_forgotten_meanwhile_is_no_trouble(self):
        gone = db_exc.DBReferenceError('vrt_events', 'key', 'id', 'vrt_groups')
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        with fixtures.MockPatchObject(db, 'insert', side_effect=gone):
            objects.VRTEvent.asked(self.context, self.group.id, 'create')

        self.assertIn('forgotten before event create', log.output)
        self.assertNotIn('Traceback', log.output)

    def test_trouble_with_the_database_is_nobody_elses(self):
        with fixtures.MockPatchObject(
            db, 'insert', side_effect=db_exc.DBConnectionError
        ):
            objects.VRTEvent.asked(self.context, self.group.id, 'create')

        self.assertEqual([], self.told())
