# SPDX-License-Identifier: Apache-2.0
"""Output of the demo, and checks of its claims."""

import os
import re
import sys
import textwrap
import time

WIDTH = 96
TIMEOUT_SECONDS = 60
COLOURS = {
    'bold': '1',
    'dim': '2',
    'red': '31',
    'green': '32',
    'yellow': '33',
    'cyan': '36',
}


class FalseClaim(Exception):
    """False claim of the demo."""


class Screen:
    """A plain terminal, at most WIDTH columns wide.

    Colours are used on a terminal only, and not if ``NO_COLOR`` is set.
    """

    def __init__(self, out=sys.stdout):
        out.reconfigure(line_buffering=True, errors='replace')
        self._out = out
        self._started = time.monotonic()
        self._has_colours = out.isatty() and not os.environ.get('NO_COLOR')

    def _paint(self, colour, text):
        if not self._has_colours:
            return text
        return f'\033[{COLOURS[colour]}m{text}\033[0m'

    def line(self, text=''):
        self._out.write(f'{text}\n')

    def step(self, number, title):
        seconds = f' {time.monotonic() - self._started:.0f} s'
        head = f'━━ {number} ━━ {title} '
        rule = '━' * (WIDTH - len(head) - len(seconds))
        self.line()
        self.line(self._paint('bold', head + rule) + seconds)
        self.line()

    def say(self, text):
        """Print a paragraph, with new line breaks."""
        self.line(textwrap.fill(' '.join(text.split()), WIDTH))
        self.line()

    def code(self, text):
        """Print code or data with its own line breaks."""
        for line in text.splitlines():
            self.line(self._paint('cyan', f'    {line}'))
        self.line()

    def quote(self, who, text):
        """Print an answer of a service literally, with new line breaks."""
        for line in textwrap.wrap(f'{who}: {text.strip()}', WIDTH - 4):
            self.line(self._paint('yellow', f'    {line}'))

    def picture(self, lines, colours):
        """Print lines and colour some characters.

        :param colours: {character: colour}
        """
        for line in lines:
            self.line(
                re.sub(
                    '|'.join(f'{each}+' for each in colours),
                    lambda run: self._paint(colours[run[0][0]], run[0]),
                    line,
                )
            )
        self.line()

    def table(self, head, rows):
        """Print a table; integers in the first row align a column right."""
        cells = [[str(cell) for cell in row] for row in (head, *rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        marks = ['>' if isinstance(cell, int) else '<' for cell in rows[0]]
        for number, row in enumerate(cells):
            line = '   '.join(
                f'{cell:{mark}{width}}'
                for cell, mark, width in zip(row, marks, widths, strict=True)
            )
            line = line.rstrip()
            self.line('  ' + (line if number else self._paint('bold', line)))
        self.line()

    def check(self, claim, is_true, evidence=None):
        """Print a true claim; raise FalseClaim with ``found`` for others."""
        if not is_true:
            raise FalseClaim(
                f'{claim}\n  found: {evidence}' if evidence else claim
            )
        self.line(f'  {self._paint("green", "✓")} {claim}')

    def end(self, text):
        self.line()
        self.line(self._paint('green', text))

    def report_false_claim(self, exc):
        self.line(self._paint('red', f'  ✗ NOT AS TOLD: {exc}'))


def wait_for(what, get, is_done):
    """Poll until an answer is good and return it; time out with FalseClaim."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not is_done(answer := get()):
        if time.monotonic() > deadline:
            raise FalseClaim(f'{what}, in vain\n  found: {answer}')
        time.sleep(0.1)
    return answer
