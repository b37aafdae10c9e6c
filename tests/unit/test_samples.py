# SPDX-License-Identifier: Apache-2.0
"""The generated samples of configuration and policy are up to date."""

import pathlib

import fixtures
from oslo_config import cfg
from oslo_config import generator as config_generator
from oslo_policy import generator as policy_generator
from oslotest import base

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / 'etc/nova-groupext'
CONFIG = FOLDER / 'nova-groupext-config-generator.conf'
POLICY = FOLDER / 'nova-groupext-policy-generator.conf'


def output_file(settings):
    """Return the path that a generator's configuration file names."""
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('output_file'))
    conf([f'--config-file={settings}'], default_config_dirs=[])
    return ROOT / conf.output_file


class TestSamples(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.generated = pathlib.Path(folder) / 'sample'

    def args(self, settings):
        """Return arguments of a generator; the last one counts."""
        return [
            f'--config-file={settings}',
            f'--output-file={self.generated}',
        ]

    def assert_current(self, settings):
        sample = output_file(settings)
        self.assertEqual(
            self.generated.read_text(),
            sample.read_text(),
            f'{sample.name} is old; {settings.name} has the command to run.',
        )

    def test_configuration_has_every_option(self):
        config_generator.main(self.args(CONFIG))

        self.assert_current(CONFIG)

    def test_configuration_has_only_sections_of_groups(self):
        sections = [
            line
            for line in output_file(CONFIG).read_text().splitlines()
            if line.startswith('[')
        ]

        # The generator writes the first one whether it has options or not.
        self.assertEqual(['[DEFAULT]', '[vrt]', '[vrt_database]'], sections)

    def test_policy_has_every_rule(self):
        policy_generator.generate_sample(self.args(POLICY))

        self.assert_current(POLICY)
