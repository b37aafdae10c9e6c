# SPDX-License-Identifier: Apache-2.0
"""The rows of a swap: holds that end, and their successors.

The owner of the group's lease prepares and commits a swap in one transaction
each. The Placement request in between is in scheduler/protocol/swap.py.
"""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import enum
import itertools
from typing import Self
from typing import TypeVar

from nova.context import RequestContext

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease

_Result = TypeVar('_Result')


class Side(enum.Enum):
    """The side on which a swap has ended."""

    # The successors own the new capacity.
    APPLIED = enum.auto()
    # The successors own the old capacity.
    COMPENSATED = enum.auto()


@dataclasses.dataclass(frozen=True)
class Swap:
    """Unfinished holds of a group and its draft.

    :ivar old_holds: holds that one request empties
    :ivar successors: holds that it or its compensation fills
    :ivar separate: holds that were filled by requests of their own
    :ivar ending: holds that end as soon as the swap is made
    :ivar adopted: holds of servers to adopt; they end if the swap is
        compensated
    """

    old_holds: Sequence[VRTHold]
    successors: Sequence[VRTHold]
    separate: Sequence[VRTHold] = ()
    ending: Sequence[VRTHold] = ()
    adopted: Sequence[VRTHold] = ()

    @classmethod
    def load(cls, context: RequestContext, group_id: int) -> Self | None:
        """Return the stored swap of a group; None without open holds."""
        rows = VRTHold.list_open(context, group_id)
        if not rows:
            return None
        pending = [r for r in rows if r.status == states.Hold.WRITING]
        return cls(
            old_holds=[r for r in rows if r.status == states.Hold.EXCHANGING],
            successors=[r for r in pending if r.if_compensated is not None],
            separate=[r for r in pending if r.if_compensated is None],
            ending=[r for r in rows if r.ends_with_swap],
            adopted=[r for r in rows if r.status == states.Hold.REDEEMED],
        )

    @property
    def is_prepared(self) -> bool:
        return bool(self.old_holds)

    def new_holds(self) -> list[VRTHold]:
        """Return the holds that become HELD when the swap is made."""
        return [r for r in (*self.successors, *self.separate) if r.allocations]

    def as_compensated(self) -> list[VRTHold]:
        """Return the holds that its successors are after a compensation."""
        holds = [each.as_compensated() for each in self.successors]
        return [hold for hold in holds if hold is not None]

    def holds_after(self, side: Side) -> list[VRTHold]:
        """Return the holds that may become HELD when it ends on a side."""
        is_applied = side == Side.APPLIED
        return self.new_holds() if is_applied else self.as_compensated()


EMPTY = Swap(old_holds=[], successors=[])


def pair_successors(
    old_holds: Sequence[VRTHold], rows: Sequence[VRTHold]
) -> list[VRTHold]:
    """Make holds the successors of others; add successors where needed.

    Each old hold has one successor, of any member. So the swap or its
    compensation, whichever arrives first, fills a consumer, and the other one
    is refused.

    :param old_holds: holds that are to be exchanged
    :param rows: holds, not stored yet
    :returns: successors, at least as many as ``old_holds``
    """
    successors = []
    for old, row in itertools.zip_longest(old_holds, rows):
        if row is None:
            successors.append(old.fallback())
        else:
            row.set_predecessor(old)
            successors.append(row)
    return successors


def prepare(
    context: RequestContext,
    lease: VRTLease,
    old_holds: Sequence[VRTHold],
    ending: Sequence[VRTHold] = (),
) -> None:
    """Set holds to EXCHANGING, and mark others to end with the swap.

    The caller's transaction has the group's row lock.

    :param old_holds: holds that a swap is to empty
    :param ending: holds that end when it is made
    :raises: GenerationConflict when one of them has changed state
    """
    for holds, values in (
        (old_holds, {'status': states.Hold.EXCHANGING}),
        (ending, {'ends_with_swap': True}),
    ):
        if holds and VRTHold.update_rows(
            context,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status.in_({hold.status for hold in holds}),
            sql_conditions.stays_after_swap(),
            **values,
        ) != len(holds):
            raise exception.GenerationConflict(group=lease.group_id)


def with_lease(
    context: RequestContext, lease: VRTLease, work: Callable[[], _Result]
) -> _Result:
    """Run work in a transaction that renews the lease.

    :param work: called perhaps more than once
    :raises: GroupBusy when another planner has taken the group over,
        GroupNotFound when the group was deleted
    """

    def renew_and_work() -> tuple[bool, _Result]:
        lease.renew(context)
        return True, work()

    locked = db.with_row_lock(
        context, models.Group, renew_and_work, id=lease.group_id
    )
    if locked is None:
        raise exception.GroupNotFound(group=lease.group_id)
    _is_done, result = locked
    return result
