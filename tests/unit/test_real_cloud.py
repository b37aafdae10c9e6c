# SPDX-License-Identifier: Apache-2.0
"""Changes that the install page asks for, as the real cloud makes them."""

import configparser
import pathlib
import shutil

import fixtures
from oslotest import base

from nova_groupext.cloud import config as try_out
from tests.real_cloud import config
from tests.real_cloud import install_page

PIPELINES = (
    'composite:openstack_compute_api_v21',
    'composite:openstack_compute_api_v21_legacy_v2_compatible',
)


class TestInstallPage(base.BaseTestCase):
    def test_blocks_are_those_of_their_sections(self):
        for section, name in (
            ('Configure Nova', '[filter_scheduler]'),
            ('Change the paste file', '[filter:vrt_hints]'),
            ('Configure Placement', '[placement]'),
        ):
            self.assertIn(name, install_page.block(section).splitlines())

    def test_missing_section_is_an_error(self):
        self.assertRaises(LookupError, install_page.block, 'Install')
        self.assertRaises(LookupError, install_page.block, 'No section')


class TestPaste(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = folder / 'api-paste.ini'
        shutil.copy(try_out.shipped_paste(), self.file)
        self.stock = self.read()

    def read(self):
        parser = configparser.RawConfigParser()
        parser.optionxform = str
        parser.read(self.file)
        return parser

    def test_pipelines_gain_our_filter_before_the_application(self):
        config.edit_paste(
            self.file, install_page.block('Change the paste file')
        )

        paste = self.read()
        for name in PIPELINES:
            stock = self.stock[name]['keystone'].split()
            self.assertEqual(
                [*stock[:-1], 'vrt_hints', stock[-1]],
                paste[name]['keystone'].split(),
            )
        self.assertEqual(
            {*self.stock.sections(), 'filter:vrt_hints'}, {*paste.sections()}
        )

    def test_pipeline_that_begins_otherwise_is_an_error(self):
        block = f'[{PIPELINES[0]}]\nkeystone = other ... keystonecontext x'

        self.assertRaises(ValueError, config.edit_paste, self.file, block)
