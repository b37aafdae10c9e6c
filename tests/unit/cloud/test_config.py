# SPDX-License-Identifier: Apache-2.0
"""Configuration files of the try-out cloud."""

import configparser
import pathlib
import tempfile

from oslotest import base
import yaml

from nova_groupext.cloud import components
from nova_groupext.cloud import config
from nova_groupext.cloud import databases
from nova_groupext.cloud import with_groups

URL = 'http://127.0.0.1:1'


class TestWrite(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        path = self.enterContext(tempfile.TemporaryDirectory())
        self.state = pathlib.Path(path)

    def write(self, **exchanged):
        config.write(
            self.state,
            URL,
            databases.urls(self.state),
            components.Parts(**exchanged),
        )

    def paste(self):
        read = configparser.RawConfigParser()
        read.read(self.state / 'api-paste.ini')
        return read

    def pipeline(self, version):
        section = f'composite:openstack_compute_api_{version}'
        return self.paste()[section]['keystone'].split()

    def test_stock_pipeline_ends_as_shipped(self):
        self.write()

        for version in ('v21', 'v21_legacy_v2_compatible'):
            pipeline = self.pipeline(version)
            self.assertEqual('osapi_compute_app_v21', pipeline[-1])
            self.assertLess(
                pipeline.index('authtoken'), pipeline.index('keystonecontext')
            )

    def test_filters_come_in_order_before_the_router(self):
        self.write(filters=(('one', 'a:b'), ('two', 'c:d')))

        end = ['one', 'two', 'osapi_compute_app_v21']
        self.assertEqual(end, self.pipeline('v21')[-3:])
        self.assertEqual(end, self.pipeline('v21_legacy_v2_compatible')[-3:])
        section = self.paste()['filter:two']
        self.assertEqual('c:d', section['paste.filter_factory'])

    def test_router_is_replaced(self):
        self.write(router='a.b:c')

        section = self.paste()['app:osapi_compute_app_v21']
        self.assertEqual('a.b:c', section['paste.app_factory'])

    def test_config_is_appended(self):
        self.write(config='[mine]\nyes = 1\n')

        written = (self.state / 'nova.conf').read_text()
        self.assertTrue(written.rstrip().endswith('[mine]\nyes = 1'))

    def test_clouds_are_of_different_projects(self):
        self.write()

        read = yaml.safe_load((self.state / 'clouds.yaml').read_text())
        projects = {
            name: cloud['auth']['project_name']
            for name, cloud in read['clouds'].items()
        }
        self.assertEqual(
            {
                'vrt-admin': 'admin',
                'vrt-demo': 'demo',
                'vrt-other': 'other',
                'vrt-demo-manager': 'demo',
                'vrt-demo-reader': 'demo',
            },
            projects,
        )


class TestDefaults(base.BaseTestCase):
    def test_only_required_options_and_the_interval_are_set(self):
        """All other options have the defaults that operators get."""
        read = configparser.RawConfigParser(strict=False)
        read.read_string(with_groups.HOLISTIC.config)

        self.assertEqual({'topology_levels', 'reap_interval'}, {*read['vrt']})
        self.assertEqual({'filter_scheduler', 'vrt'}, {*read.sections()})
