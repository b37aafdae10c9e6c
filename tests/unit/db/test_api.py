# SPDX-License-Identifier: Apache-2.0
"""Retries of transactions that the database aborts."""

import fixtures as mock
from nova import context
from oslo_db import exception as db_exc
from oslotest import base
import sqlalchemy as sa

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.objects import states
from tests import fixtures
from tests import groups


class TestAbortedTransactions(base.BaseTestCase):
    """The database aborts transactions at their commit."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.context = context.get_admin_context()
        self.useFixture(mock.MockPatch('time.sleep'))

    def abort_commits(self, times):
        breaks = iter(range(times))

        def on_commit(_connection):
            if next(breaks, None) is not None:
                raise db_exc.DBDeadlock

        sa.event.listen(engine.get_engine(), 'commit', on_commit)

    def create(self):
        group = groups.unstored()
        group.create(self.context)
        return group

    def test_a_group_is_created_once_with_all_its_parts(self):
        self.abort_commits(2)

        self.create()

        self.assertEqual(
            {
                'vrt_groups': 1,
                'vrt_subgroups': 1,
                'vrt_member_sets': 2,
                'vrt_members': 3,
                'vrt_policies': 3,
                'vrt_relationships': 1,
            },
            fixtures.row_counts(),
        )

    def test_a_group_is_deleted_with_all_its_parts(self):
        group = self.create()
        self.abort_commits(2)

        group.purge(self.context)

        self.assertEqual({}, fixtures.row_counts())

    def test_holds_are_created_once(self):
        group = self.create()
        self.abort_commits(2)

        holds = groups.create_holds(self.context, group)

        stored = objects.VRTHold.list_by_group(self.context, group.id)
        self.assertEqual(
            [hold.obj_to_primitive() for hold in holds],
            [hold.obj_to_primitive() for hold in stored],
        )

    def test_a_change_is_made_once(self):
        group = self.create()
        self.abort_commits(2)

        group.change(self.context, states.Group.PLANNED)

        self.assertEqual(2, group.get(self.context, group.uuid).generation)

    def test_several_changes_are_made_once(self):
        group = self.create()
        holds = groups.create_holds(self.context, group)
        self.abort_commits(2)

        groups.hold_all(self.context, group, holds, None)

        stored = group.get(self.context, group.uuid)
        self.assertEqual(
            (2, states.Member.HELD),
            (stored.generation, stored.members[0].status),
        )

    def test_work_under_a_row_lock_is_retried_as_a_whole(self):
        self.abort_commits(2)
        groups_made = []

        def work():
            groups_made.append(self.create())
            if len(groups_made) == 1:
                # The transaction is over: the rest of it has to wait.
                raise db_exc.DBDeadlock
            return objects.VRTGroup.count(self.context, 'project')

        db.insert_if_missing(
            self.context, models.ProjectLock, project_id='project'
        )
        counted = db.with_row_lock(
            self.context, models.ProjectLock, work, project_id='project'
        )

        self.assertEqual(1, counted)
        self.assertEqual(1, fixtures.row_counts()['vrt_groups'])
        self.assertEqual(1, fixtures.row_counts()['vrt_project_locks'])

    def test_row_lock_does_not_change_updated_at(self):
        group = self.create()

        db.with_row_lock(self.context, models.Group, lambda: None, id=group.id)

        self.assertIsNone(
            db.find_one(
                self.context, models.Group, models.Group.id == group.id
            ).updated_at
        )

    def test_row_lock_increments_the_counter_of_the_row(self):
        """Galera's other nodes see no lock, only rows that were written."""
        group = self.create()
        db.insert_if_missing(
            self.context, models.ProjectLock, project_id='project'
        )

        for _time in range(2):
            for model, key in (
                (models.Group, {'id': group.id}),
                (models.ProjectLock, {'project_id': 'project'}),
            ):
                db.with_row_lock(self.context, model, lambda: None, **key)

        for model in (models.Group, models.ProjectLock):
            self.assertEqual(2, db.find_one(self.context, model).counter)

    def test_statement_inside_a_row_lock_is_not_retried(self):
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

    def test_transaction_that_is_always_aborted_is_an_error(self):
        group = self.create()
        self.abort_commits(1000)

        self.assertRaises(
            db_exc.DBDeadlock,
            group.change,
            self.context,
            states.Group.PLANNED,
        )
        self.assertEqual(1, group.get(self.context, group.uuid).generation)


class TestCompareAndSetAll(base.BaseTestCase):
    """Two groups, of which the second has another status than expected."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.context = context.get_admin_context()
        self.groups = [groups.unstored() for _each in range(2)]
        for each in self.groups:
            each.create(self.context)

    def change(self, *statuses):
        """Change groups that have these statuses, one row of each."""
        return db.compare_and_set_all(
            self.context,
            *(
                Change(
                    models.Group,
                    (models.Group.id == each.id, models.Group.status == old),
                    {'status': states.Group.ERROR},
                    1,
                )
                for each, old in zip(self.groups, statuses, strict=True)
            ),
        )

    def statuses(self):
        stored = objects.VRTGroup.list(self.context)
        return sorted(each.status for each in stored)

    def test_all_rows_are_changed_if_each_matches(self):
        counts = self.change(states.Group.PLANNING, states.Group.PLANNING)

        self.assertEqual([1, 1], counts)
        self.assertEqual(['ERROR', 'ERROR'], self.statuses())

    def test_no_row_is_changed_if_one_does_not_match(self):
        counts = self.change(states.Group.PLANNING, states.Group.HELD)

        self.assertIsNone(counts)
        self.assertEqual(['PLANNING', 'PLANNING'], self.statuses())
