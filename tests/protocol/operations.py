# SPDX-License-Identifier: Apache-2.0
"""The operations of the protocol, and what there has to be for each.

Each is done by a process of its own: a scheduler, an API, a planner.
"""

from collections.abc import Callable
import dataclasses

from tests.protocol import world

Fate = world.Fate


@dataclasses.dataclass(frozen=True)
class Operation:
    """One of them.

    :ivar work: called with a World
    :ivar prepare: called with a World before a run begins, or None
    :ivar is_held: whether the group is held before that
    """

    work: Callable
    prepare: Callable | None = None
    is_held: bool = True


def _release(here):
    here.life.give_up(here.uuid, 'm-0')
    here.life.release(here.uuid)


def _reap(here):
    here.life.reap(0)


def _shelve(here):
    here.run_server('m-2')
    here.shelve_server('m-2')
    here.life.reap(0)


OPERATIONS = {
    'hold': Operation(lambda w: w.life.plan(w.uuid), is_held=False),
    'redeem': Operation(lambda w: w.redeem('m-0', 'one')),
    'redeem again': Operation(lambda w: w.redeem('m-0', 'one')),
    'redeem another': Operation(lambda w: w.redeem('m-0', 'another')),
    'redeem two': Operation(lambda w: w.redeem_all('m', ['two', 'three'])),
    'revise': Operation(lambda w: w.plan_draft(), prepare=lambda w: w.draft()),
    'release': Operation(_release),
    'delete': Operation(lambda w: w.life.delete(w.uuid)),
    # Another planner, when all leases have ended: perhaps one has only paused.
    'take over': Operation(lambda w: w.life.reap()),
    'take back': Operation(
        _reap, prepare=lambda w: w.end_server('m-1', Fate.UNSCHEDULED)
    ),
    'follow': Operation(
        _reap, prepare=lambda w: w.end_server('m-1', Fate.DELETED)
    ),
    'move': Operation(
        lambda w: w.move_server('m-2'),
        prepare=lambda w: w.run_server('m-2'),
    ),
    'shelve': Operation(_shelve, prepare=lambda w: w.run_server('m-2')),
    'unshelve': Operation(lambda w: w.move_server('m-2'), prepare=_shelve),
    'resize': Operation(
        lambda w: w.resize_server('m-2'), prepare=lambda w: w.grow('m-2')
    ),
    'hold again': Operation(_reap, prepare=lambda w: w.lose_hold('m-0')),
    # The last one: nothing can be prepared in a group that has expired.
    'expire': Operation(_reap, prepare=lambda w: w.life.expire(w.uuid)),
}
