# SPDX-License-Identifier: Apache-2.0
"""Is a transaction that the database breaks off run again?"""

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
from tests import groups
from tests.services import databases
from tests.services import servers


class Deadlocks:
    """Ours waits for another transaction, and that one for ours."""

    # Makes the other one wait, so that it is ours which gives way.
    PATIENCE = 'SELECT 1'

    def setUp(self):
        super().setUp()
        self.deadlocks = []
        self.ours_waits = threading.Event()

    def test_who_is_broken_off_by_a_deadlock_writes_again(self):
        requester = context.get_admin_context()
        group = groups.described()
        group.create(requester)
        holds = groups.holds(requester, group)
        lease = groups.lease(requester, group)
        with (
            engine.get_engine().connect() as other,
            futures.ThreadPoolExecutor(1) as pool,
        ):
            other.exec_driver_sql(self.PATIENCE)
            other.execute(sa.update(models.Member).values(stem='other'))
            self.listen()
            held = pool.submit(
                transitions.hold,
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
            {(states.Member.HELD, 'other')},
            {(member.status, member.stem) for member in stored.members},
        )
        self.assertEqual(1, len(self.deadlocks), self.deadlocks)

    def test_nobody_works_on_a_group_that_is_forgotten(self):
        requester = context.get_admin_context()
        group = groups.described()
        group.create(requester)
        group.destroy(requester)

        self.assertRaises(
            exception.GroupNotFound,
            objects.VRTLease.acquire,
            *(requester, group.id, 'me', 'operation', 60),
        )

    def test_a_group_that_is_forgotten_gets_no_hold(self):
        requester = context.get_admin_context()
        group = groups.described()
        group.create(requester)
        [hold, *_others] = groups.holds(requester, group)
        for each in objects.VRTHold.list_by_group(requester, group.id):
            objects.VRTHold.retire(requester, [each])
            each.release(requester)
        objects.VRTHold.orphan(requester, group.id)
        group.destroy(requester)

        self.assertRaises(
            exception.GroupNotFound, hold.again().create, requester
        )

    def wait_for_other(self):
        """Who waits last finds the deadlock: any order will do."""

    def listen(self):
        """Hear when ours comes to the members, and of deadlocks."""

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
    """Who has written least gives way; ours has written one row by then."""

    SERVER = servers.MARIADB


class TestOnPostgreSQL(Deadlocks, databases.DatabaseTestCase):
    """Who first looks whether there is a deadlock gives way."""

    SERVER = servers.POSTGRESQL
    PATIENCE = "SET LOCAL deadlock_timeout = '1min'"
    WAITERS = (
        'SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) '
        'WHERE NOT granted AND datname = current_database()'
    )

    def wait_for_other(self):
        """Ours looks once, a second after it began: the other waits by then.

        Each look has a connection of its own: in a transaction the answer
        stays the same.
        """
        for _look in range(600):
            with engine.get_engine().connect() as looking:
                if looking.scalar(sa.text(self.WAITERS)):
                    return
            time.sleep(0.05)
