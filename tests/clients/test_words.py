# SPDX-License-Identifier: Apache-2.0
"""Does what the commands say read well?"""

from importlib import metadata

from oslotest import base

COMMANDS = metadata.entry_points(group='openstack.vrt.v1')


class TestWords(base.BaseTestCase):
    def test_help_of_several_paragraphs_is_of_whole_sentences(self):
        for each in COMMANDS:
            first, *more = each.load().__doc__.split('\n\n')
            if more:
                self.assertEqual('.', first[-1], each.name)
