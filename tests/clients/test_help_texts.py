# SPDX-License-Identifier: Apache-2.0
"""Help texts of the commands."""

from importlib import metadata

from oslotest import base

COMMANDS = metadata.entry_points(group='openstack.vrt.v1')


class TestHelpTexts(base.BaseTestCase):
    def test_help_of_several_paragraphs_has_whole_sentences(self):
        for each in COMMANDS:
            first, *more = each.load().__doc__.split('\n\n')
            if more:
                self.assertEqual('.', first[-1], each.name)
