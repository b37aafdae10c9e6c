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
    """Runs the command with a configuration of the test's own."""

    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.addCleanup(self.forget)

    def forget(self):
        """Leave the process as a new one would be."""
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
        """Return what the operator is told, without a traceback."""
        status, out, err = self.run_it(*args, **kwargs)
        self.assertEqual((1, ''), (status, out))
        self.assertNotIn('Traceback', err)
        return err

    def mistake_in_a_shell(self, *args, config=None):
        """Return the last line of what the operator is told."""
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

    def test_sync_makes_the_key_of_domains_unless_there_is_one(self):
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

    def test_a_revision_that_is_none(self):
        self.assertIn('1234', self.mistake('db', 'sync', '1234'))

    def test_no_database_is_configured(self):
        for command in (('db', 'sync'), ('db', 'version')):
            told = self.mistake(*command, database='')

            self.assertIn('[vrt_database]connection', told)
            self.assertIn('[api_database]connection', told)
            self.assertIn('--config-file', told)

    def test_nothing_of_nova_is_configured(self):
        self.run_it('db', 'sync')

        # A process of its own: these initialize all of Nova.
        stats = self.mistake_in_a_shell('holds', 'stats', config='/dev/null')
        audit = self.mistake_in_a_shell('holds', 'audit')

        self.assertIn('[api_database]connection', stats)
        self.assertIn('--config-file', stats)
        self.assertIn('[placement]', audit)
        self.assertIn('auth_type', audit)
        self.assertIn('--config-file', audit)

    def test_tables_that_were_never_made(self):
        self.run_it('db', 'version')

        told = self.mistake_in_a_shell('holds', 'stats')

        self.assertIn('Run "nova-groupext-manage db sync"', told)

    def test_commands_that_are_not_whole(self):
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

    def test_a_database_that_does_not_answer(self):
        self.mistake(
            'db',
            'version',
            database='connection = sqlite:///{}/nowhere/vrt.sqlite\n'
            'max_retries = 0',
        )

    def test_a_database_without_its_driver(self):
        self.assertIn(
            'driver_that_is_not_there',
            self.mistake(
                'db',
                'version',
                database='connection = mysql+driver_that_is_not_there://x/y',
            ),
        )

    def test_a_url_that_is_none(self):
        self.assertIn(
            'URL', self.mistake('db', 'sync', database='connection = nonsense')
        )

    def test_a_configuration_that_is_not_there(self):
        self.assertIn(
            'nope.conf', self.mistake('--config-file=nope.conf', 'db', 'sync')
        )
