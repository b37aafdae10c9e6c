# SPDX-License-Identifier: Apache-2.0
"""Progress line on the terminal for one group."""

import collections
import shutil
import time


class Line:
    """A line that is rewritten in a ``with`` block and cleared at its end.

    A stream that is no terminal gets no output.
    """

    def __init__(self, stream):
        """Initialise the line.

        :param stream: text stream, such as standard error
        """
        self._stream = stream
        self._max_length = 0

    def __enter__(self):
        self._start = time.monotonic()
        return self

    def __exit__(self, *error):
        if self._max_length:
            self._write('')
            self._write('')

    def show(self, group):
        """Show elapsed seconds, status and member counts of a VrtGroup."""
        if self._stream.isatty():
            seconds = time.monotonic() - self._start
            self._write(f'{seconds:.0f} s, {_text(group)}')

    def _write(self, text):
        text = text[: shutil.get_terminal_size().columns - 1]
        self._max_length = max(self._max_length, len(text))
        self._stream.write(f'\r{text:{self._max_length}}\r')
        self._stream.flush()


def _text(group):
    states = collections.Counter(m['status'] for m in group.members)
    counts = ', '.join(f'{n} {state}' for state, n in states.items())
    status = group.status
    if group.revision:
        status += f', revision {group.revision["status"]}'
    return f'{group.name}: {status} ({counts})'
