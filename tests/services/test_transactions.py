# SPDX-License-Identifier: Apache-2.0
"""Is a transaction that the database breaks off run again?"""

from concurrent import futures
import time

from nova import context
from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from tests import groups
from tests.services import databases
from tests.services import servers


class Deadlocks:
    """Ours waits for another transaction, which then waits for ours."""

    # Tells whether anybody in this database waits for a lock.
    WAITING = ''

    def test_who_is_broken_off_by_a_deadlock_writes_again(self):
        requester = context.get_admin_context()
        group = groups.described()
        group.create(requester)
        holds = groups.holds(requester, group)
        with (
            engine.get_engine().connect() as other,
            futures.ThreadPoolExecutor(1) as pool,
        ):
            # More rows than ours has written by then: ours gives way.
            other.execute(sa.update(models.Member).values(fault='other'))
            held = pool.submit(
                group.hold_members,
                context.get_admin_context(),
                holds,
                timeutils.utcnow(),
            )
            self.wait_for_lock()
            other.execute(sa.update(models.Group).values(fault='other'))
            other.commit()
            held.result()

        stored = group.get(requester, group.uuid)
        self.assertEqual(
            (states.Group.HELD, 'other'), (stored.status, stored.fault)
        )
        self.assertEqual(
            {(states.Member.HELD, 'other')},
            {(member.status, member.fault) for member in stored.members},
        )
        self.assertEqual(1, len(self.deadlocks), self.deadlocks)

    def setUp(self):
        super().setUp()
        self.deadlocks = []
        sa.event.listen(engine.get_engine(), 'handle_error', self.count)

    def count(self, error):
        if isinstance(error.chained_exception, db_exc.DBDeadlock):
            self.deadlocks.append(error.chained_exception)

    def wait_for_lock(self):
        with engine.get_engine().connect() as observer:
            while not observer.scalar(sa.text(self.WAITING)):
                observer.rollback()
                time.sleep(0.05)


class TestOnMariaDB(Deadlocks, databases.DatabaseTestCase):
    SERVER = servers.MARIADB
    WAITING = """
        SELECT count(*) FROM information_schema.innodb_trx
        JOIN information_schema.processlist ON id = trx_mysql_thread_id
        WHERE db = DATABASE() AND trx_state = 'LOCK WAIT'
    """


class TestOnPostgreSQL(Deadlocks, databases.DatabaseTestCase):
    SERVER = servers.POSTGRESQL
    WAITING = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
    """
