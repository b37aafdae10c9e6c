# SPDX-License-Identifier: Apache-2.0
"""Names for the instants at which a process may die.

Before and after what is written at these instants there is a point. Nothing
happens there, but for a test that has set a trap: it kills the process, or
lets something else happen first.
"""

import contextlib

#: Called with 'before ...' or 'after ...' a write; set by tests only.
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
