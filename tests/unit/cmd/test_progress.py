# SPDX-License-Identifier: Apache-2.0
"""The progress line of nova-groupext-plan."""

import io
import time

import fixtures
from oslotest import base

from nova_groupext.cmd import progress
from nova_groupext.solver.model import answers


class Terminal(io.StringIO):
    """A terminal of 80 columns."""

    def isatty(self):
        return True

    def wait_for(self, text):
        for _ in range(1000):
            if text in self.getvalue():
                return
            time.sleep(0.01)
        raise AssertionError(f'{text!r} not in {self.getvalue()!r}')

    def screen(self):
        """Return the text that remains visible."""
        line = ''
        for text in self.getvalue().split('\r'):
            line = text + line[len(text) :]
        return line.rstrip(' ')


class ClosedTerminal(Terminal):
    """A terminal that was closed."""

    def write(self, text):
        raise OSError('it hung up')


PLACED = answers.Answer(
    'placed',
    placement={'a': 'h', 'b': 'h'},
    cost={'soft': 3.5, 'bound': 1.0, 'preference': 0.0},
    stats={'stage': 'cost'},
)


class TestLine(base.BaseTestCase):
    def _be_quick(self):
        for name in ('_DELAY', '_EVERY'):
            self.useFixture(fixtures.MockPatchObject(progress, name, 0.001))

    def test_line_shows_time_members_and_cost(self):
        self._be_quick()
        terminal = Terminal()
        with progress.Line(terminal, 3) as line:
            terminal.wait_for(' s, no plan for 3 members yet')
            line.show(PLACED)
            terminal.wait_for(
                ' s, cost: 2 of 3 members placed, cost 3.5, lower bound 1'
            )
        self.assertEqual('', terminal.screen())
        self.assertNotIn('\n', terminal.getvalue())

    def test_immediate_decision_shows_no_line(self):
        terminal = Terminal()
        with progress.Line(terminal, 3) as line:
            line.show(PLACED)
        self.assertEqual('', terminal.getvalue())

    def test_stream_that_is_no_terminal_stays_empty(self):
        self._be_quick()
        stream = io.StringIO()
        with progress.Line(stream, 3) as line:
            line.show(PLACED)
            time.sleep(0.05)
        self.assertEqual('', stream.getvalue())

    def test_line_is_cleared_after_an_error(self):
        self._be_quick()
        terminal = Terminal()

        def fail():
            with progress.Line(terminal, 3):
                terminal.wait_for('no plan')
                raise KeyboardInterrupt

        self.assertRaises(KeyboardInterrupt, fail)
        self.assertEqual('', terminal.screen())

    def test_closed_terminal_does_not_stop_the_command(self):
        self._be_quick()
        with progress.Line(ClosedTerminal(), 3) as line:
            time.sleep(0.05)
            line.show(PLACED)
