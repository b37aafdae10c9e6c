# SPDX-License-Identifier: Apache-2.0
"""nova-groupext in its own environment, with the try-out cloud."""

import configparser
import json
import pathlib
import re
import shutil
import signal
import subprocess

import fixtures
import testtools

from tests.packages import archives
from tests.packages import distributions
from tests.packages import environment

SERVICES = distributions.SERVICES
STOP_SECONDS = 60
UNITS = 'share/nova-groupext/systemd'


def install(alone, kind, extra=''):
    """Install the client and the services, with constraints."""
    build = archives.KINDS[kind]
    alone.install(
        build(distributions.CLIENT),
        f'{build(SERVICES)}{extra}',
        constraints=environment.CONSTRAINTS,
    )
    alone.run('pip', 'check')


class TestSdists(testtools.TestCase):
    def test_entry_points_load(self):
        alone = self.useFixture(environment.Environment())
        install(alone, 'sdist')

        self.assertEqual(
            SERVICES.entry_points, alone.load_entry_points(SERVICES)
        )


class TestWheels(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.alone = environment.Environment()
        cls.addClassCleanup(cls.alone.cleanUp)
        cls.alone.setUp()
        install(cls.alone, 'wheel')
        cls.without_extra = cls.alone.versions()
        install(cls.alone, 'wheel', '[cloud]')

    def test_entry_points_load(self):
        self.assertEqual(
            SERVICES.entry_points, self.alone.load_entry_points(SERVICES)
        )

    def test_extra_changes_no_version(self):
        self.assertNotIn('openstack-placement', self.without_extra)
        after = self.alone.versions()

        kept = {name: after.get(name) for name in self.without_extra}

        self.assertEqual(self.without_extra, kept)
        self.assertIn('openstack-placement', after)

    def test_try_out_cloud_serves_groups(self):
        running = self.alone.start('nova-groupext-cloud', '--hosts=1')
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        clouds = self.clouds_of(running)

        output = self.alone.run(
            *('openstack', '--os-cloud=vrt-demo', 'vrt', 'capabilities'),
            *('show', '--format=json', '--column=scopes'),
            OS_CLIENT_CONFIG_FILE=clouds,
        )

        self.assertEqual(
            {'scopes': ['host', 'rack', 'zone']}, json.loads(output)
        )
        running.send_signal(signal.SIGTERM)
        self.assertEqual(0, running.wait(STOP_SECONDS))

    def units(self):
        """Return the paths of the installed unit files."""
        return list((self.alone.venv / UNITS).iterdir())

    def clouds_of(self, running):
        """Return the path of a try-out cloud's clouds.yaml, once it runs."""
        output = ''
        for line in running.stdout:
            output += line
            if 'Ctrl-C' in line:
                return re.search('OS_CLIENT_CONFIG_FILE=(.*)', output).group(1)
        self.fail(output + running.stderr.read())

    def test_unit_files_pass_systemd(self):
        """systemd-analyze only warns of wrong directives."""
        verify = shutil.which('systemd-analyze')
        if verify is None:
            self.skipTest('systemd-analyze is not installed')
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = f'ExecStart={self.alone.venv}/bin/'
        for unit in self.units():
            text = unit.read_text().replace('ExecStart=', path)
            (folder / unit.name).write_text(text)

        done = subprocess.run(
            [verify, 'verify', '--man=no', *folder.iterdir()],
            capture_output=True,
            text=True,
        )

        self.assertEqual((0, ''), (done.returncode, done.stderr))

    def test_unit_file_starts_the_command_of_its_name(self):
        self.assertEqual(2, len(self.units()))
        for unit in self.units():
            parser = configparser.ConfigParser()
            parser.read(unit)
            self.assertEqual(unit.stem, parser['Service']['ExecStart'])
            self.assertIn(
                ('console_scripts', unit.stem), SERVICES.entry_points
            )
