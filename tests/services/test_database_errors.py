# SPDX-License-Identifier: Apache-2.0
"""Classification of database errors, and retries after passing ones."""

import contextlib
import socket
from unittest import mock

import fixtures
from nova import context as nova_context
from nova import exception as nova_exc
from nova.objects import request_spec
from oslo_db.sqlalchemy import enginefacade
from oslotest import base
import sqlalchemy as sa
import webob.exc

from nova_groupext import member_ref
from nova_groupext import objects
from nova_groupext.api import resource
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import database_errors
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.move import resize
from nova_groupext.scheduler.redeem import redeem_path
from tests import groups
from tests.services import databases
from tests.services import deployment
from tests.services import servers

# MariaDB's numbers of too many connections, a read-only server (two kinds of
# it), one that shuts down, a full table, and an account's limit.
NUMBERS = (1040, 1290, 1836, 1053, 1114, 1226)

POINTED = member_ref.MemberRef('group', 'a')

KILL = {
    servers.MARIADB: ('SELECT CONNECTION_ID()', 'KILL {}'),
    servers.POSTGRESQL: (
        'SELECT pg_backend_pid()',
        'SELECT pg_terminate_backend({})',
    ),
}


@contextlib.contextmanager
def hidden(table):
    """Make a table unreadable for a while."""
    _rename(table, f'{table}_away')
    try:
        yield
    finally:
        _rename(f'{table}_away', table)


def _rename(old, new):
    with engine.get_engine().begin() as connection:
        connection.execute(sa.text(f'ALTER TABLE {old} RENAME TO {new}'))


@databases.on(servers.MARIADB, servers.POSTGRESQL)
class LostConnections:
    """Connections that the database ends during a transaction."""

    def setUp(self):
        super().setUp()
        self.context = nova_context.get_admin_context()
        self.group = groups.unstored()
        self.group.create(self.context)

    def kill(self, event, statement=''):
        """Kill the connection once, at an event or statement of it."""
        ask, kill = KILL[self.SERVER]
        kills = [kill]

        def killer(connection, *others):
            if not kills or (
                statement and not others[1].startswith(statement)
            ):
                return
            kill = kills.pop()
            number = connection.connection.cursor()
            number.execute(ask)
            self.SERVER.execute(kill.format(*number.fetchone()))

        sa.event.listen(engine.get_engine(), event, killer)

    def test_read_on_a_lost_connection_is_retried(self):
        self.kill('before_cursor_execute', 'SELECT')

        found = objects.VRTGroup.get(self.context, self.group.uuid)

        self.assertEqual(self.group.uuid, found.uuid)

    def test_write_on_a_lost_connection_is_retried(self):
        self.kill('before_cursor_execute', 'UPDATE vrt_groups')

        self.group.change(self.context, states.Group.PLANNED)

        found = objects.VRTGroup.get(self.context, self.group.uuid)
        self.assertEqual(states.Group.PLANNED, found.status)

    def test_retried_transaction_is_committed_once(self):
        self.kill('before_cursor_execute', 'INSERT INTO vrt_members')
        group = groups.unstored()

        group.create(self.context)

        self.assertEqual(2, db.count(self.context, models.Group))
        self.assertEqual(
            len(group.members),
            len(objects.VRTGroup.get(self.context, group.uuid).members),
        )

    def test_commit_on_a_lost_connection_has_an_unknown_outcome(self):
        """The commit may have succeeded: a retry could find its change."""
        self.kill('commit')

        self.assertRaises(
            database_errors.OutcomeUnknown,
            self.group.change,
            *(self.context, states.Group.PLANNED),
        )

        found = objects.VRTGroup.get(self.context, self.group.uuid)
        self.assertEqual(states.Group.PLANNING, found.status)


class TestErrorNumbers(databases.DatabaseTestCase):
    """Errors of MariaDB that oslo.db does not translate."""

    SERVER = servers.MARIADB

    def failing(self):
        """Yield functions that make MariaDB raise one of the errors each."""
        session = engine.get_engine()
        for number in NUMBERS:
            with session.begin() as connection:
                connection.exec_driver_sql(
                    f'CREATE OR REPLACE FUNCTION fail() RETURNS INT '
                    f"BEGIN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO={number}, "
                    "MESSAGE_TEXT='staged'; RETURN 1; END"
                )

            def fail():
                with session.connect() as connection:
                    connection.exec_driver_sql('SELECT fail()')

            yield fail
        yield lambda: session.connect().exec_driver_sql('SELECT * FROM gone')

    def test_api_request_fails_with_service_unavailable(self):
        for fail in self.failing():
            error = self.assertRaises(
                webob.exc.HTTPServiceUnavailable,
                resource.translate_errors(fail),
            )
            self.assertIn('database of VRT groups', error.explanation)

    def test_redeem_fails_with_the_reason(self):
        for fail in self.failing():
            with (
                self.assertRaisesRegex(nova_exc.NoValidHost, 'not available'),
                redeem_path.as_no_valid_host('a'),
            ):
                fail()

    def test_reaper_step_is_skipped(self):
        for fail in self.failing():
            with availability.skip_unavailable('A part'):
                fail()


class TestRefusedConnections(base.BaseTestCase):
    def test_refused_connection_is_a_passing_database_error(self):
        port = free_port()
        for kind in ('mysql+pymysql', 'postgresql+psycopg2'):
            facade = enginefacade.transaction_context()
            facade.configure(
                connection=f'{kind}://nobody@127.0.0.1:{port}/nothing',
                max_retries=0,
            )
            with (
                self.assertRaises(database_errors.ANY) as caught,
                facade.reader.using(nova_context.get_admin_context()) as asked,
            ):
                asked.execute(sa.select(1))
            self.assertTrue(
                database_errors.is_transient(caught.exception), kind
            )

    def test_query_to_a_server_that_is_away_fails_within_seconds(self):
        """A move of a member makes some of these, and goes on."""
        self.addCleanup(engine.reset)
        slept = []
        self.useFixture(fixtures.MonkeyPatch('time.sleep', slept.append))
        CONF.set_override(
            *(
                'connection',
                f'mysql+pymysql://nobody@127.0.0.1:{free_port()}/',
            ),
            'vrt_database',
        )
        self.addCleanup(CONF.clear_override, 'connection', 'vrt_database')
        engine.configure()

        self.assertRaises(
            database_errors.ANY,
            *(db.count, nova_context.get_admin_context(), models.Group),
        )

        self.assertLess(sum(slept), 30)


def free_port():
    """Return a port at which nothing listens."""
    with socket.socket() as closed:
        closed.bind(('127.0.0.1', 0))
        return closed.getsockname()[1]


@databases.on(servers.MARIADB, servers.POSTGRESQL)
class HiddenTables:
    """Moves of members while our tables cannot be read."""

    def setUp(self):
        super().setUp()
        self.context = nova_context.get_admin_context()
        self.enterContext(hidden('vrt_groups'))
        self.enterContext(hidden('vrt_holds'))

    def test_move_is_allowed_to_all_hosts_of_nova(self):
        hosts = [object()]

        destinations.refresh_group(self.context, None, POINTED, 'server')
        allowed = destinations.allowed_hosts(
            self.context, POINTED, self.spec(), hosts
        )

        self.assertEqual(hosts, allowed)

    def test_resize_uses_no_reservation(self):
        self.assertIsNone(
            resize.find_reservation(self.context, self.spec(), None)
        )

    def test_move_is_claimed_without_a_move_record(self):
        move = mock.Mock(spec=destinations.Move)
        move.start.side_effect = lambda context, _location: (
            objects.VRTGroup.get(context, 'a')
        )
        request = mock.Mock(move=move)

        self.assertTrue(
            destinations.claim(self.context, request, lambda: True)
        )

    @staticmethod
    def spec():
        return request_spec.RequestSpec(
            instance_uuid='server', scheduler_hints={}
        )


class TestAfterTheSwap(deployment.DeploymentTestCase):
    """A redeem whose tables fail after the server has the capacity."""

    SERVER = servers.MARIADB

    def test_server_is_built_and_the_reaper_records_it(self):
        uuid = self.deployment.hold_group([self.deployment.make_provider(1)])
        tables = contextlib.ExitStack()
        self.call_at(
            'after redeem.transfer',
            lambda: tables.enter_context(hidden('vrt_holds')),
        )

        with tables:
            server = self.deployment.redeem(uuid, 'm-0')

        self.assertIn(server, self.deployment.allocations())
        self.assertEqual({'REDEEMING': 1}, self.deployment.status_counts(uuid))
        self.deployment.reap()
        self.assertEqual({'ACTIVE': 1}, self.deployment.status_counts(uuid))
        self.assert_at_rest()
