# SPDX-License-Identifier: Apache-2.0
"""Names for the instants at which a process may die.

Before and after every write to Placement, and every write to the database
that decides who owns capacity, there is a point. Nothing happens there, but
for a test that has set a trap: it kills the process.
"""

import contextlib

#: What is written at the points, in the order of a member's life.
WRITES = (
    'group.create',
    'group.change',
    'group.extend',
    'group.delete',
    'group.forget',
    'lease.acquire',
    'lease.release',
    'plan.create',
    'hold.write_down',
    'hold.post',
    'hold.commit',
    'hold.retire',
    'redeem.reserve',
    'redeem.swap',
    'redeem.close',
    'swap.apply',
    'swap.compensate',
    'swap.commit',
    'swap.turn_back',
    'again.prepare',
    'back.prepare',
    'back.post',
    'moving.write_down',
    'moving.claim',
    'moving.follow',
    'adopt.point',
    'revise.start',
    'revise.prepare',
    'revise.commit',
    'release.expire',
    'release.mark',
    'release.end',
    'release.post',
    'release.point',
    'release.forget',
    'fill.write_down',
    'fill.commit',
    'fill.dismiss',
)

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
