# SPDX-License-Identifier: Apache-2.0
"""Progress bars of deployments."""

import io

from oslotest import base

from nova_groupext_client.deploy import member_states
from nova_groupext_client.deploy import progress

HELD = member_states.State.HELD
ACTIVE = member_states.State.ACTIVE


class Terminal(io.StringIO):
    def isatty(self):
        return True


def members(**counts):
    """Return members, ``count`` in each state."""
    return [
        member_states.Member(f'{name}-{number}', member_states.State[name])
        for name, count in counts.items()
        for number in range(count)
    ]


class TestBars(base.BaseTestCase):
    def test_bar_length_is_proportional_to_the_members(self):
        self.assertEqual(
            [
                'held     [##        ]  3/12\n',
                'active   [#######   ]  9/12\n',
            ],
            progress.bars({HELD: 3, ACTIVE: 9}, 28),
        )
        self.assertEqual(
            ['active   [##########] 1/1\n'], progress.bars({ACTIVE: 1}, 26)
        )

    def test_bars_fit_into_any_width(self):
        for width in range(100):
            for line in progress.bars({HELD: 1, ACTIVE: 999}, width):
                self.assertLess(len(line), max(width, 23) + 1)

    def test_terminal_output_is_overwritten(self):
        stream = Terminal()
        shown = progress.Bars(stream)

        shown.show(members(HELD=2))
        shown.show(members(HELD=1, ACTIVE=1))
        shown.show(members(ACTIVE=2))

        first, second, third = stream.getvalue().split('\x1b[J')
        self.assertTrue(first.endswith('2/2\n\x1b[1A'), first)
        self.assertTrue(second.endswith('1/2\n\x1b[2A'), second)
        self.assertEqual(1, third.count('\n'))

    def test_file_has_a_line_for_each_change(self):
        stream = io.StringIO()
        shown = progress.Bars(stream)

        for now in ({'HELD': 2}, {'HELD': 2}, {'HELD': 1, 'ACTIVE': 1}):
            shown.show(members(**now))

        self.assertEqual('2 held\n1 held, 1 active\n', stream.getvalue())
