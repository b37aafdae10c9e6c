# SPDX-License-Identifier: Apache-2.0
"""The Tempest plugin in its own environment, as operators install it."""

import testtools

from tests.packages import archives
from tests.packages import distributions
from tests.packages import environment

PLUGIN = distributions.PLUGIN


class TestPluginAlone(testtools.TestCase):
    def check(self, kind):
        alone = self.useFixture(environment.Environment())
        alone.install(
            archives.KINDS[kind](PLUGIN), constraints=environment.CONSTRAINTS
        )
        alone.run('pip', 'check')
        others = {each.name for each in distributions.ALL} - {PLUGIN.name}
        self.assertEqual(set(), others & alone.versions().keys())
        self.assertEqual(PLUGIN.entry_points, alone.load_entry_points(PLUGIN))
        self.assertIn(
            'nova_groupext_tempest_plugin',
            alone.run('tempest', 'list-plugins'),
        )

    def test_wheel_is_a_plugin_of_tempest(self):
        self.check('wheel')

    def test_sdist_is_a_plugin_of_tempest(self):
        self.check('sdist')
