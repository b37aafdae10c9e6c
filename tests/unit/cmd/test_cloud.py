# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-cloud: its arguments and missing modules."""

import contextlib
import io
import pathlib

import fixtures
from oslotest import base

from nova_groupext.cmd import cloud


def run(*args):
    """Return (exit status, text on standard error) of the command."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        status = cloud.main(args)
    return status, err.getvalue()


class TestArguments(base.BaseTestCase):
    def refusal(self, *args):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            exc = self.assertRaises(SystemExit, cloud.main, args)
        self.assertEqual(2, exc.code)
        return err.getvalue()

    def test_invalid_port_is_refused(self):
        for port in ('65536', '-1', 'http'):
            self.assertIn('from 0 to 65535', self.refusal(f'--port={port}'))

    def test_invalid_number_of_hosts_is_refused(self):
        for hosts in ('0', '-1', 'many', '101', '9' * 5000):
            self.assertIn('from 1 to 100', self.refusal(f'--hosts={hosts}'))


class TestMissingModules(base.BaseTestCase):
    def command(self, source):
        """Replace the module that the command loads by one of this source."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'stand_in.py').write_text(source)
        self.useFixture(fixtures.MonkeyPatch('sys.path', [str(folder)]))
        self.useFixture(fixtures.MockPatchObject(cloud, 'COMMAND', 'stand_in'))

    def test_missing_dependency_is_one_line_with_the_extra(self):
        self.command('from not_installed import wsgi')

        self.assertEqual(
            (
                1,
                'nova-groupext-cloud: not_installed is not installed; pip '
                "install 'nova-groupext[cloud]' installs it.\n",
            ),
            run(),
        )

    def test_missing_module_of_the_cloud_itself_is_raised(self):
        self.command('import nova_groupext.cloud.nowhere')

        self.assertRaises(ModuleNotFoundError, run)
