# SPDX-License-Identifier: Apache-2.0
"""Progress line on the terminal for one group."""

from __future__ import annotations

import collections
import shutil
import time
import typing

if typing.TYPE_CHECKING:
    # Types only: see the package.
    from nova_groupext_client import api_types


class Line:
    """A line that is rewritten in a ``with`` block and cleared at its end.

    A stream that is no terminal gets no output.
    """

    def __init__(self, stream: typing.TextIO) -> None:
        self._stream = stream
        self._max_length = 0

    def __enter__(self) -> typing.Self:
        self._start = time.monotonic()
        return self

    def __exit__(self, *error: object) -> None:
        if self._max_length:
            self._write('')
            self._write('')

    def show(self, group: api_types.Group) -> None:
        """Show elapsed seconds, status and member counts of a group."""
        if self._stream.isatty():
            seconds = time.monotonic() - self._start
            self._write(f'{seconds:.0f} s, {_text(group)}')

    def _write(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        self._max_length = max(self._max_length, len(text))
        self._stream.write(f'\r{text:{self._max_length}}\r')
        self._stream.flush()


def _text(group: api_types.Group) -> str:
    states = collections.Counter(m['status'] for m in group.members)
    counts = ', '.join(f'{n} {state}' for state, n in states.items())
    status = group.status
    if group.revision:
        status += f', revision {group.revision["status"]}'
    return f'{group.name}: {status} ({counts})'
