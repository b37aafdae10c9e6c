# SPDX-License-Identifier: Apache-2.0
"""Progress line on the terminal during a long search."""

import contextlib
import os
import threading
import time

# Seconds before the first output, and between two updates.
_DELAY = 0.5
_EVERY = 0.2


class Line:
    """Context manager that shows a progress line and erases it at exit.

    It writes nothing if the stream is no terminal.
    """

    def __init__(self, stream, members):
        """Initialise the line without writing it.

        :param stream: text stream, standard error
        :param members: number of members to be placed
        """
        self._stream = stream
        self._members = members
        self._answer = None
        self._is_over = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)

    def __enter__(self):
        self._start = time.monotonic()
        if self._stream.isatty():
            self._writer.start()
        return self

    def __exit__(self, *error):
        self._is_over.set()
        if self._writer.ident is not None:
            self._writer.join()

    def show(self, answer):
        """Set the best answer so far, which the next update shows.

        :param answer: answer.Answer
        """
        self._answer = answer

    def _write(self):
        longest = 0
        wait = _DELAY
        # The search goes on if the terminal is closed.
        with contextlib.suppress(OSError):
            while not self._is_over.wait(wait):
                wait = _EVERY
                text = self._text()[: _width(self._stream) - 1]
                longest = max(longest, len(text))
                self._put(f'\r{text:{longest}}')
            if longest:
                self._put(f'\r{"":{longest}}\r')

    def _put(self, text):
        self._stream.write(text)
        self._stream.flush()

    def _text(self):
        seconds = f'{time.monotonic() - self._start:.1f} s'
        best = self._answer
        if best is None or best.cost is None:
            return f'{seconds}, no plan for {self._members} members yet'
        return (
            f'{seconds}, {best.stats["stage"]}: {len(best.placement)} of '
            f'{self._members} members placed, cost {best.cost["soft"]:g}, '
            f'lower bound {best.cost["bound"]:g}'
        )


def _width(stream):
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or 80
    return 80
