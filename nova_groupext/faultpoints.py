# SPDX-License-Identifier: Apache-2.0
"""Fault injection points, named after the write that they surround.

There is one point before and one after each named write. They do nothing
unless a test has set `trap`, which kills the process or lets another event
happen first.
"""

import contextlib

#: Called with 'before WRITE' or 'after WRITE'; only tests set it.
trap = None


@contextlib.contextmanager
def around(write):
    """Pass the points before and after a write that succeeds."""
    _reach(f'before {write}')
    yield
    _reach(f'after {write}')


def _reach(point):
    if trap is not None:
        trap(point)
