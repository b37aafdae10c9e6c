# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-client in its own environment, as a user installs it."""

import testtools

from tests.packages import archives
from tests.packages import distributions
from tests.packages import environment

CLIENT = distributions.CLIENT


class TestClientAlone(testtools.TestCase):
    def install(self, kind, extras=''):
        """Install an archive of the client and check the environment."""
        self.alone.install(
            f'{archives.KINDS[kind](CLIENT)}{extras}',
            constraints=environment.CONSTRAINTS,
        )
        self.alone.run('pip', 'check')

    def check(self, kind):
        self.alone = self.useFixture(environment.Environment())
        self.install(kind)
        self.check_without_extras()
        before = self.alone.versions()
        self.install(kind, '[cli,novaclient]')
        self.assertLessEqual(before.items(), self.alone.versions().items())
        self.check_with_extras()

    def check_without_extras(self):
        self.assertNotIn('nova', self.alone.versions())
        self.assertEqual(
            CLIENT.entry_points_without_extras,
            self.alone.load_entry_points(CLIENT, but=CLIENT.optional),
        )

    def check_with_extras(self):
        self.assertEqual(
            CLIENT.entry_points, self.alone.load_entry_points(CLIENT)
        )
        usage = self.alone.run('openstack', 'help', 'vrt', 'group', 'create')
        self.assertIn('usage: openstack vrt group create', usage)

    def test_wheel_gives_the_commands(self):
        self.check('wheel')

    def test_sdist_gives_the_commands(self):
        self.check('sdist')
