# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-manage, as an operator types it."""

import contextlib
import io
import sqlite3
import subprocess
import sys

import fixtures
from oslotest import base

from nova_groupext.cmd import manage
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import migration


class ManageCase(base.BaseTestCase):
    """A base class that runs the command with its own configuration."""

    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.addCleanup(self.forget)

    def forget(self):
        """Reset configuration and engines, as in a new process."""
        CONF.reset()
        engine.reset()

    def run_it(self, *args, database='connection = sqlite:///{}/vrt.sqlite'):
        """Return (exit status, standard output, standard error)."""
        self.forget()
        name = self.write(database.format(self.folder))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = manage.main(['--config-file', name, *args])
        return status, out.getvalue().strip(), err.getvalue()

    def write(self, options):
        """Write the configuration, and return the name of its file."""
        name = f'{self.folder}/nova.conf'
        with open(name, 'w') as file:
            file.write(f'[vrt_database]\n{options}\n')
        return name

    def mistake(self, *args, **kwargs):
        """Return the error message of a command that fails."""
        status, out, err = self.run_it(*args, **kwargs)
        self.assertEqual((1, ''), (status, out))
        self.assertNotIn('Traceback', err)
        return err

    def mistake_in_a_shell(self, *args, config=None):
        """Return the last line of a failing process's error message."""
        file = config or f'{self.folder}/nova.conf'
        ended = subprocess.run(
            [
                *(sys.executable, '-m', manage.__name__),
                *('--config-file', file),
                *args,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual((1, ''), (ended.returncode, ended.stdout))
        self.assertNotIn('Traceback', ended.stderr)
        return ended.stderr.splitlines()[-1]


class TestManage(ManageCase):
    def test_sync_brings_the_tables_to_the_newest_version(self):
        self.assertEqual((0, 'none', ''), self.run_it('db', 'version'))
        self.assertEqual(0, self.run_it('db', 'sync')[0])
        self.assertEqual(
            (0, migration.head(), ''), self.run_it('db', 'version')
        )

    def test_sync_creates_the_domain_key_only_if_missing(self):
        def keys():
            with sqlite3.connect(f'{self.folder}/vrt.sqlite') as connection:
                return [*connection.execute('SELECT value FROM vrt_keys')]

        database = 'connection = sqlite:///{}/vrt.sqlite\n'
        own = f'{database}[vrt]\ndomain_key = {"a" * 32}'
        self.assertEqual(0, self.run_it('db', 'sync', database=own)[0])
        self.assertEqual([], keys())

        self.assertEqual(0, self.run_it('db', 'sync')[0])
        [made] = keys()
        self.assertEqual(0, self.run_it('db', 'sync')[0])

        self.assertEqual([made], keys())

    def test_unknown_revision_is_refused(self):
        self.assertIn('1234', self.mistake('db', 'sync', '1234'))

    def test_missing_connection_option_is_named(self):
        for command in (('db', 'sync'), ('db', 'version')):
            message = self.mistake(*command, database='')

            self.assertIn('[vrt_database]connection', message)
            self.assertIn('[api_database]connection', message)
            self.assertIn('--config-file', message)

    def test_missing_options_of_nova_are_named(self):
        self.run_it('db', 'sync')

        # A process of its own: these initialize all of Nova.
        stats = self.mistake_in_a_shell('holds', 'stats', config='/dev/null')
        audit = self.mistake_in_a_shell('holds', 'audit')

        self.assertIn('[api_database]connection', stats)
        self.assertIn('--config-file', stats)
        self.assertIn('[placement]', audit)
        self.assertIn('auth_type', audit)
        self.assertIn('--config-file', audit)

    def test_missing_tables_are_reported_with_the_remedy(self):
        self.run_it('db', 'version')

        message = self.mistake_in_a_shell('holds', 'stats')

        self.assertIn('Run "nova-groupext-manage db sync"', message)

    def test_incomplete_command_is_refused_with_its_choices(self):
        for args, choices in (
            ((), '{db,holds,planners}'),
            (('db',), '{sync,version}'),
            (('holds',), '{audit,heal,stats}'),
        ):
            err = io.StringIO()
            with contextlib.redirect_stderr(err):
                exc = self.assertRaises(SystemExit, manage.main, args)

            self.assertEqual(2, exc.code)
            self.assertIn(f'are required: {choices}', err.getvalue())

    def test_unreachable_database_is_reported_without_traceback(self):
        self.mistake(
            'db',
            'version',
            database='connection = sqlite:///{}/nowhere/vrt.sqlite\n'
            'max_retries = 0',
        )

    def test_wrong_parameter_of_the_connection_names_the_option(self):
        database = (
            'connection = mysql+pymysql://nova:secret@db/nova\n'
            'connection_parameters = nosuch=1'
        )

        for verb in ('version', 'sync'):
            error = self.mistake('db', verb, database=database)

            self.assertIn('[vrt_database]connection_parameters', error)
            self.assertIn('nosuch', error)

    def test_missing_database_driver_is_named(self):
        self.assertIn(
            'driver_that_is_not_there',
            self.mistake(
                'db',
                'version',
                database='connection = mysql+driver_that_is_not_there://x/y',
            ),
        )

    def test_invalid_database_url_is_reported(self):
        for url in ('nonsense', 'mysql+pymysql://nova:secret@db:33o6/nova'):
            mistake = self.mistake(
                'db', 'sync', database=f'connection = {url}'
            )

            self.assertIn('URL', mistake)
            self.assertNotIn('secret', mistake)

    def test_missing_configuration_file_is_named(self):
        self.assertIn(
            'nope.conf', self.mistake('--config-file=nope.conf', 'db', 'sync')
        )
