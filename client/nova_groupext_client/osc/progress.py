# SPDX-License-Identifier: Apache-2.0
"""A line on the terminal that tells how far a group is."""

import collections
import shutil
import time


class Line:
    """Rewritten in place while a block runs, and gone at its end.

    Nothing is written to what is no terminal.
    """

    def __init__(self, stream):
        """Prepare it.

        :param stream: text stream, standard error
        """
        self._stream = stream
        self._longest = 0

    def __enter__(self):
        self._start = time.monotonic()
        return self

    def __exit__(self, *error):
        if self._longest:
            self._put('')
            self._put('')

    def show(self, group):
        """Tell of a VrtGroup."""
        if self._stream.isatty():
            seconds = time.monotonic() - self._start
            self._put(f'{seconds:.0f} s, {_text(group)}')

    def _put(self, text):
        text = text[: shutil.get_terminal_size().columns - 1]
        self._longest = max(self._longest, len(text))
        self._stream.write(f'\r{text:{self._longest}}\r')
        self._stream.flush()


def _text(group):
    states = collections.Counter(m['status'] for m in group.members)
    counts = ', '.join(f'{n} {state}' for state, n in states.items())
    status = group.status
    if group.revision:
        status += f', revision {group.revision["status"]}'
    return f'{group.name}: {status} ({counts})'
