# SPDX-License-Identifier: Apache-2.0
"""Fault injection points, named after the write that they surround.

There is one point before and one after each named write. They do nothing
unless a test has set `handler`, which kills the process or lets another event
happen first.
"""

import contextlib

#: Called with 'before WRITE' or 'after WRITE'; only tests set it.
handler = None


@contextlib.contextmanager
def around(write):
    """Pass the points before and after a write that succeeds."""
    _call_handler(f'before {write}')
    yield
    _call_handler(f'after {write}')


def _call_handler(point):
    if handler is not None:
        handler(point)
