# SPDX-License-Identifier: Apache-2.0
"""Is what the database breaks off written again, as a whole and once?"""

import fixtures as mock
from nova import context
from oslo_db import exception as db_exc
from oslotest import base
import sqlalchemy as sa

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from tests import fixtures
from tests import groups


class TestBrokenOff(base.BaseTestCase):
    """The database breaks transactions off when they are to be committed."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.context = context.get_admin_context()
        self.useFixture(mock.MockPatch('time.sleep'))

    def break_off(self, times):
        breaks = iter(range(times))

        def on_commit(_connection):
            if next(breaks, None) is not None:
                raise db_exc.DBDeadlock

        sa.event.listen(engine.get_engine(), 'commit', on_commit)

    def create(self):
        group = groups.described()
        group.create(self.context)
        return group

    def test_a_group_is_created_once_with_all_its_parts(self):
        self.break_off(2)

        self.create()

        self.assertEqual(
            {
                'vrt_groups': 1,
                'vrt_subgroups': 1,
                'vrt_members': 3,
                'vrt_policies': 3,
                'vrt_relationships': 1,
            },
            fixtures.rows(),
        )

    def test_a_group_is_deleted_with_all_its_parts(self):
        group = self.create()
        self.break_off(2)

        group.destroy(self.context)

        self.assertEqual({}, fixtures.rows())

    def test_holds_are_created_once(self):
        group = self.create()
        self.break_off(2)

        holds = groups.holds(self.context, group)

        stored = objects.VRTHold.list_by_group(self.context, group.id)
        self.assertEqual(
            [hold.obj_to_primitive() for hold in holds],
            [hold.obj_to_primitive() for hold in stored],
        )

    def test_a_change_is_made_once(self):
        group = self.create()
        self.break_off(2)

        group.change(self.context, states.Group.PLANNED)

        self.assertEqual(2, group.get(self.context, group.uuid).generation)

    def test_several_changes_are_made_once(self):
        group = self.create()
        holds = groups.holds(self.context, group)
        self.break_off(2)

        groups.hold(self.context, group, holds, None)

        stored = group.get(self.context, group.uuid)
        self.assertEqual(
            (2, states.Member.HELD),
            (stored.generation, stored.members[0].status),
        )

    def test_what_is_done_under_a_lock_is_done_again_as_a_whole(self):
        self.break_off(2)
        groups_made = []

        def work():
            groups_made.append(self.create())
            if len(groups_made) == 1:
                # The transaction is over: the rest of it has to wait.
                raise db_exc.DBDeadlock
            return objects.VRTGroup.count(self.context, 'project')

        db.insert_if_missing(
            self.context, models.Project, project_id='project'
        )
        counted = db.with_row_lock(
            self.context, models.Project, work, project_id='project'
        )

        self.assertEqual(1, counted)
        self.assertEqual(1, fixtures.rows()['vrt_groups'])
        self.assertEqual(1, fixtures.rows()['vrt_projects'])

    def test_a_row_that_is_locked_is_not_told_to_be_changed(self):
        group = self.create()

        db.with_row_lock(self.context, models.Group, lambda: None, id=group.id)

        self.assertIsNone(
            db.find_one(
                self.context, models.Group, models.Group.id == group.id
            ).updated_at
        )

    def test_a_row_that_is_locked_is_changed_for_all_nodes_of_a_cluster(self):
        """Galera's other nodes see no lock: what changed they compare."""
        group = self.create()
        db.insert_if_missing(
            self.context, models.Project, project_id='project'
        )

        for _time in range(2):
            for model, key in (
                (models.Group, {'id': group.id}),
                (models.Project, {'project_id': 'project'}),
            ):
                db.with_row_lock(self.context, model, lambda: None, **key)

        for model in (models.Group, models.Project):
            self.assertEqual(2, db.find_one(self.context, model).counter)

    def test_nothing_is_run_again_inside_a_lock(self):
        calls = []

        def statement(*_args):
            calls.append(None)
            raise db_exc.DBDeadlock

        def work():
            self.useFixture(
                mock.MockPatchObject(db.engine, 'writer', statement)
            )
            group.change(self.context, states.Group.PLANNED)

        group = self.create()

        self.assertRaises(
            db_exc.DBDeadlock,
            db.with_row_lock.__wrapped__,
            self.context,
            models.Group,
            work,
            id=group.id,
        )
        self.assertEqual(1, len(calls))

    def test_what_is_broken_off_again_and_again_is_an_error(self):
        group = self.create()
        self.break_off(1000)

        self.assertRaises(
            db_exc.DBDeadlock,
            group.change,
            self.context,
            states.Group.PLANNED,
        )
        self.assertEqual(1, group.get(self.context, group.uuid).generation)
