# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-manage, as an operator types it."""

import contextlib
import io

import fixtures
from oslotest import base

from nova_groupext.cmd import manage
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import migration


class TestManage(base.BaseTestCase):
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
        name = f'{self.folder}/nova.conf'
        with open(name, 'w') as file:
            file.write(f'[vrt_database]\n{database.format(self.folder)}\n')
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = manage.main(['--config-file', name, *args])
        return status, out.getvalue().strip(), err.getvalue()

    def test_sync_brings_the_tables_to_the_newest_version(self):
        self.assertEqual((0, 'none', ''), self.run_it('db', 'version'))
        self.assertEqual(0, self.run_it('db', 'sync')[0])
        self.assertEqual(
            (0, migration.head(), ''), self.run_it('db', 'version')
        )

    def test_a_revision_that_is_none(self):
        self.assertIn('1234', self.mistake('db', 'sync', '1234'))

    def test_no_database_is_configured(self):
        self.assertIn('connection', self.mistake('db', 'sync', database=''))

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

    def mistake(self, *args, **kwargs):
        """Return what the operator is told, without a traceback."""
        status, out, err = self.run_it(*args, **kwargs)
        self.assertEqual((1, ''), (status, out))
        self.assertNotIn('Traceback', err)
        return err
