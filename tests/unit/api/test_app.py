# SPDX-License-Identifier: Apache-2.0
"""Routes of groups and of other packages in Nova's router."""

import configparser
from importlib import metadata
import os
import pathlib
import subprocess
import sys

import fixtures
from nova.api.openstack.compute import routes
from oslo_config import cfg
from oslo_utils import importutils
from oslotest import base

from nova_groupext.api import app
from nova_groupext.conf import CONF

SAMPLE = pathlib.Path('etc/nova-groupext/api-paste.ini')
SHOW_PATHS = """\
from nova_groupext.api import app
print([path for path, _methods in app.extension_routes()])
"""


class TestRoutes(base.BaseTestCase):
    def test_routes_of_groups_are_an_extension(self):
        paths = [path for path, _methods in app.extension_routes()]

        self.assertEqual('/os-vrt-groups', paths[0])

    def test_router_with_invalid_options_is_refused(self):
        folder = self.useFixture(fixtures.TempDir()).path
        file = pathlib.Path(folder, 'nova.conf')
        file.write_text('[vrt]\ntopology_levels = host:rack\n')
        CONF(['--config-file', str(file)], project='nova')
        self.addCleanup(CONF.reset)

        error = self.assertRaises(cfg.Error, app.APIRouter)

        self.assertIn('[vrt]topology_levels is invalid', str(error))

    def test_extension_routes_hide_no_nova_route(self):
        novas = {path for path, _methods in routes.ROUTE_LIST}

        self.assertFalse(
            novas & {path for path, _methods in app.extension_routes()}
        )

    def test_entry_point_of_another_package_adds_routes(self):
        """The package has a dist-info folder, enough for an entry point."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'third_party.py').write_text("ROUTES = (('/theirs', {}),)\n")
        installed = folder / 'third_party-1.0.dist-info'
        installed.mkdir()
        (installed / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n'
        )
        (installed / 'entry_points.txt').write_text(
            f'[{app.NAMESPACE}]\ntheirs = third_party:ROUTES\n'
        )

        output = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', SHOW_PATHS],
            env={
                **os.environ,
                'PYTHONPATH': str(folder),
                'XDG_CACHE_HOME': str(folder),
            },
            capture_output=True,
            check=True,
            text=True,
        ).stdout

        self.assertIn("'/theirs'", output)
        self.assertIn("'/os-vrt-groups'", output)


class TestSamplePasteFile(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.sample = _read(SAMPLE)
        shipped = next(
            file
            for file in metadata.files('nova')
            if file.name == 'api-paste.ini'
        )
        self.shipped = _read(shipped.locate())

    def test_sample_adds_one_filter_to_novas_pipelines(self):
        for version in ('v21', 'v21_legacy_v2_compatible'):
            section = f'composite:openstack_compute_api_{version}'
            *before, app_name = self.shipped[section]['keystone'].split()

            self.assertEqual(
                [*before, 'vrt_hints', app_name],
                self.sample[section]['keystone'].split(),
            )

    def test_factories_named_in_the_sample_exist(self):
        for section, key in (
            ('filter:vrt_hints', 'paste.filter_factory'),
            ('app:osapi_compute_app_v21', 'paste.app_factory'),
        ):
            where = self.sample[section][key].replace(':', '.')
            owner, _, method = where.rpartition('.')
            self.assertTrue(
                callable(getattr(importutils.import_class(owner), method))
            )


def _read(path):
    paste = configparser.RawConfigParser()
    paste.read(path)
    return paste
