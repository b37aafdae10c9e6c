# SPDX-License-Identifier: Apache-2.0
"""The operations of the protocol, and what there has to be for each.

Each is done by a process of its own: a scheduler, an API, a planner. Of what a
planner does by itself each operation is one step of the reaper: a whole round
is many of them, one after the other.
"""

from collections.abc import Callable
import dataclasses

from oslo_utils import timeutils

from nova_groupext.scheduler import planner
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.reap import reaper
from tests.protocol import doors
from tests.protocol import world
from tests.services import life

ServerOutcome = world.ServerOutcome


@dataclasses.dataclass(frozen=True)
class Operation:
    """One of them.

    :ivar work: called with a World
    :ivar prepare: called with a World before a run begins, or None
    :ivar is_held: whether the group is held before that
    :ivar meets: names of the operations that it is paired with; all by
        default. It meets the others by chance
    :ivar is_alone: whether the group has its hosts to itself
    :ivar drafts: whether it prepares a draft: a group has one at a time, so
        that it is paired with no other that does
    """

    work: Callable
    prepare: Callable | None = None
    is_held: bool = True
    meets: tuple | None = None
    is_alone: bool = False
    drafts: bool = False


def _release(here):
    here.life.give_up(here.uuid, 'm-0')
    here.life.release(here.uuid)


def _give_up(here):
    here.life.give_up(here.uuid, 'm-0')
    reaper.empty(here.life.context, here.life.ledger())


def _do(here, step):
    """Do one step of the reaper, as a planner does."""
    own = here.life
    planner.run_step(step, own.context, own.ledger(), own.leases())


def _follow(here):
    _do(here, follow.follow_servers)


def _hold_again(here):
    _do(here, follow.follow_holds)


def _expire(here):
    reaper.expire(here.life.context)
    reaper.empty(here.life.context, here.life.ledger())


def _take_over(here):
    """Let another planner come when all leases have ended."""
    here.touch(writes={doors.TIME})
    timeutils.advance_time_seconds(life.LATER)
    other = here.life.planner()
    other.beat(here.life.context)
    for member in reaper.list_stuck_redeems(here.life.context):
        planner.run_step(
            reaper.resolve_redeem,
            here.life.context,
            here.life.ledger(),
            member,
        )
    other.serve_waiting(here.life.context)


def _shelve(here):
    here.run_server('m-2')
    here.shelve_server('m-2')
    _follow(here)


OPERATIONS = {
    'hold': Operation(lambda w: w.life.plan(w.uuid), is_held=False),
    'redeem': Operation(lambda w: w.redeem('m-0', 'one')),
    # To all others they are what the first one is.
    'redeem again': Operation(
        lambda w: w.redeem('m-0', 'one'), meets=('redeem',)
    ),
    'redeem another': Operation(
        lambda w: w.redeem('m-0', 'another'), meets=('redeem',)
    ),
    'redeem two': Operation(lambda w: w.redeem_all('m', ['two', 'three'])),
    'revise': Operation(
        lambda w: w.plan_draft(), prepare=lambda w: w.draft(), drafts=True
    ),
    'describe': Operation(lambda w: w.draft()),
    'drop': Operation(
        lambda w: w.plan_draft(),
        prepare=lambda w: w.draft_dropping(),
        drafts=True,
    ),
    'release': Operation(_release),
    'delete': Operation(lambda w: w.life.delete(w.uuid)),
    # Perhaps the one that had the leases has only paused.
    'take over': Operation(_take_over),
    'take back': Operation(
        _follow,
        prepare=lambda w: w.end_server('m-1', ServerOutcome.UNSCHEDULED),
    ),
    'follow': Operation(
        _follow, prepare=lambda w: w.end_server('m-1', ServerOutcome.DELETED)
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
    'adopt': Operation(
        lambda w: w.plan_draft(),
        prepare=lambda w: w.draft_adopting(),
        drafts=True,
    ),
    'adopt and swap': Operation(
        lambda w: w.plan_draft(),
        prepare=lambda w: w.draft_adopting(**{'m-0': w.narrow, 'm-2': w.wide}),
        drafts=True,
    ),
    'move adopted': Operation(
        lambda w: w.move_outsider(),
        prepare=lambda w: w.draft_adopting(),
        meets=('adopt', 'adopt and swap', 'take over', 'delete'),
    ),
    'hold again': Operation(_hold_again, prepare=lambda w: w.lose_hold('m-0')),
    # Too long to explore all orders of its steps.
    'reap': Operation(lambda w: w.life.reap(), meets=()),
    # The last one: nothing can be prepared in a group that has expired.
    'expire': Operation(_expire, prepare=lambda w: w.life.expire(w.uuid)),
}

# Of those above what may have to do with placeholders.
_ALSO_ALONE = (
    *('hold', 'redeem', 'redeem two', 'revise', 'release', 'delete'),
    *('take over', 'take back', 'follow', 'hold again'),
)

# Whether placeholders keep strangers away meanwhile. What ends by itself is
# looked at, and filled, in rounds of their own.
ALONE = {
    **{name: OPERATIONS[name] for name in _ALSO_ALONE},
    'keep': Operation(lambda w: w.life.keep()),
    'give up': Operation(_give_up),
    'delete server': Operation(
        lambda w: w.delete_server('m-1'),
        prepare=lambda w: w.end_server('m-1', ServerOutcome.UNSCHEDULED),
    ),
    'add capacity': Operation(lambda w: w.add_capacity()),
    'stranger': Operation(lambda w: w.come()),
    'expire': OPERATIONS['expire'],
}

OPERATIONS |= {
    f'alone, {name}': dataclasses.replace(each, is_alone=True)
    for name, each in ALONE.items()
}


def is_pair(one, other):
    """Check whether two operations are explored together."""
    both = [OPERATIONS[one], OPERATIONS[other]]
    names = (other, one)
    if both[0].is_alone != both[1].is_alone:
        return False
    if one != other and all(each.drafts for each in both):
        return False
    return (
        all(each.is_held for each in both)
        or not any(each.prepare for each in both)
    ) and all(
        each.meets is None or name in each.meets
        for each, name in zip(both, names, strict=True)
    )
