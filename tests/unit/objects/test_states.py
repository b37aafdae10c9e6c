# SPDX-License-Identifier: Apache-2.0
"""The documented states of a hold, compared with the program's."""

import pathlib
import re

from oslotest import base

from nova_groupext.objects import states

PAGE = 'doc/source/contributor/protocol.rst'
ROOT = pathlib.Path(__file__).parents[3]


class TestProtocolPage(base.BaseTestCase):
    def test_page_has_every_state_and_the_next_ones(self):
        text = ROOT.joinpath(PAGE).read_text('utf-8')
        [table] = re.findall(
            r'The states of a hold\n=+\n(.*?)\n=+\n', text, re.S
        )
        rows = re.findall(
            r'\* - ``(\w+)``\n     - .*?\n     - (.*?)(?=\n   \*|\n\n)',
            table,
            re.S,
        )

        self.assertEqual(
            {
                state.value: {each.value for each in targets}
                for state, targets in states.HOLD_CHANGES.items()
            },
            {
                state: set(re.findall('``([A-Z]+)``', following))
                for state, following in rows
            },
        )
