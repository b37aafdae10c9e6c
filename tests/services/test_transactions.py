# SPDX-License-Identifier: Apache-2.0
"""Transactions that the database aborts, and rows of purged groups."""

from concurrent import futures
import threading
import time

from nova import context
from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects import watched_holds
from tests import groups
from tests.services import databases
from tests.services import servers


class Deadlocks:
    """Two transactions that wait for each other."""

    # Makes the other transaction wait, so that the database aborts ours.
    PATIENCE = 'SELECT 1'

    def setUp(self):
        super().setUp()
        self.deadlocks = []
        self.ours_waits = threading.Event()

    def test_transaction_aborted_by_a_deadlock_is_retried(self):
        requester = context.get_admin_context()
        group = groups.unstored()
        group.create(requester)
        holds = groups.create_holds(requester, group)
        lease = groups.acquire_lease(requester, group)
        with (
            engine.get_engine().connect() as other,
            futures.ThreadPoolExecutor(1) as pool,
        ):
            other.exec_driver_sql(self.PATIENCE)
            # MariaDB aborts the transaction that has changed less.
            for number in range(8):
                other.execute(
                    sa.update(models.Member).values(
                        replacement_attempts=number
                    )
                )
            self.listen()
            held = pool.submit(
                transitions.hold_group,
                context.get_admin_context(),
                *(lease, group, holds, timeutils.utcnow()),
            )
            self.ours_waits.wait(60)
            other.execute(sa.update(models.Group).values(description='other'))
            other.commit()
            held.result()

        stored = group.get(requester, group.uuid)
        self.assertEqual(
            (states.Group.HELD, 'other'), (stored.status, stored.description)
        )
        self.assertEqual(
            {(states.Member.HELD, 7)},
            {(m.status, m.replacement_attempts) for m in stored.members},
        )
        self.assertEqual(1, len(self.deadlocks), self.deadlocks)

    def test_lease_of_a_purged_group_is_not_found(self):
        requester = context.get_admin_context()
        group = groups.unstored()
        group.create(requester)
        group.purge(requester)

        self.assertRaises(
            exception.GroupNotFound,
            objects.VRTLease.acquire,
            *(requester, group.id, 'me', 'operation', 60),
        )

    def test_hold_of_a_purged_group_is_not_created(self):
        requester = context.get_admin_context()
        group = groups.unstored()
        group.create(requester)
        [hold, *_others] = groups.create_holds(requester, group)
        for each in objects.VRTHold.list_by_group(requester, group.id):
            objects.VRTHold.abandon(requester, [each])
            objects.VRTHold.release_all(requester, [each])
        watched_holds.detach_tombstones(requester, group.id)
        group.purge(requester)

        self.assertRaises(
            exception.GroupNotFound, hold.duplicate().create, requester
        )

    def wait_for_other(self):
        """Return at once: any order of the waits is a deadlock."""

    def listen(self):
        """Record when our transaction updates members, and deadlocks."""

        def before(_connection, _cursor, statement, *_others):
            is_members = statement.startswith('UPDATE vrt_members')
            if is_members and not self.ours_waits.is_set():
                self.ours_waits.set()
                self.wait_for_other()

        def broken_off(error):
            if isinstance(error.chained_exception, db_exc.DBDeadlock):
                self.deadlocks.append(error.chained_exception)

        ours = engine.get_engine()
        sa.event.listen(ours, 'before_cursor_execute', before)
        sa.event.listen(ours, 'handle_error', broken_off)


class TestOnMariaDB(Deadlocks, databases.DatabaseTestCase):
    """MariaDB aborts the transaction with fewer rows: ours has one."""

    SERVER = servers.MARIADB


class TestOnPostgreSQL(Deadlocks, databases.DatabaseTestCase):
    """PostgreSQL aborts the transaction that first detects the deadlock."""

    SERVER = servers.POSTGRESQL
    PATIENCE = "SET LOCAL deadlock_timeout = '1min'"
    WAITERS = (
        'SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) '
        'WHERE NOT granted AND datname = current_database()'
    )

    def wait_for_other(self):
        """Wait for the other transaction's lock before ours checks for one.

        Each poll has a connection of its own: in a transaction the answer
        stays the same.
        """
        for _look in range(600):
            with engine.get_engine().connect() as looking:
                if looking.scalar(sa.text(self.WAITERS)):
                    return
            time.sleep(0.05)
