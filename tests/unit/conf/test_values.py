# SPDX-License-Identifier: Apache-2.0
"""Values of our options that are refused when a service starts."""

import tempfile

from oslo_config import cfg
from oslotest import base

from nova_groupext.conf import database
from nova_groupext.conf import values
from nova_groupext.conf import vrt


def read(*lines):
    """Return a configuration with these lines in section ``[vrt]``."""
    conf = cfg.ConfigOpts()
    for group, options in database.list_opts().items():
        conf.register_opts(options, group.name)
    vrt.register_opts(conf)
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as file:
        file.write('\n'.join(('[vrt]', *lines)))
        file.flush()
        conf(['--config-file', file.name])
    return conf


class TestValues(base.BaseTestCase):
    def test_defaults_are_valid(self):
        values.check(read())

    def test_all_invalid_values_are_named(self):
        conf = read('planner_workers = 0', 'heartbeat_interval = soon')

        error = self.assertRaises(cfg.Error, values.check, conf)

        self.assertIn(
            '[vrt]planner_workers is invalid: Should be greater than or equal '
            'to 1. [vrt]heartbeat_interval is invalid: ',
            str(error),
        )

    def test_invalid_value_of_a_database_option_is_named(self):
        [text] = values.find_invalid(
            read('[vrt_database]', 'max_pool_size = many')
        )

        self.assertIn('[vrt_database]max_pool_size is invalid', text)

    def test_secret_value_is_not_shown(self):
        secret = 'abcdefgh' * 32

        [text] = values.find_invalid(read(f'domain_key = {secret}'))

        self.assertIn('[vrt]domain_key', text)
        self.assertNotIn('abcdefgh', text)


class TestTopologyLevels(base.BaseTestCase):
    def test_levels_are_between_host_and_zone(self):
        conf = read('topology_levels = rack:rack, row:the:row')

        self.assertEqual(['host', 'rack', 'row', 'zone'], vrt.levels(conf))
        self.assertEqual(
            {'rack': 'rack', 'row': 'the:row'}, vrt.aggregate_keys(conf)
        )

    def test_wrong_list_is_refused_with_its_reason(self):
        for value, reason in (
            ('rack:rack, rack:foo', '"rack" is listed 2 times'),
            ('rack:rack, rack:rack', '"rack" is listed 2 times'),
            ('host:x', '"host" is always a level'),
            ('rack:rack, zone:x', '"zone" is always a level'),
            ('rack', '"rack" is not of the form level:key'),
            ('rack:', '"rack:" is not of the form level:key'),
            ('rack:a b', '"rack:a b" is not of the form level:key'),
            ('1:rack', '"1:rack" is not of the form level:key'),
        ):
            with self.subTest(value=value):
                [text] = values.find_invalid(
                    read(f'topology_levels = {value}')
                )

                self.assertIn('[vrt]topology_levels is invalid', text)
                self.assertIn(reason, text)
