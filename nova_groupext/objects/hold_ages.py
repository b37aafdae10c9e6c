# SPDX-License-Identifier: Apache-2.0
"""Since when capacity is held, when a revision gives it to another hold.

``[vrt]max_hold_lifetime`` limits how long a tenant holds capacity without a
server. So a hold that begins or grows in the swap in which another one ends
or shrinks is as old as that one. Otherwise the tenant could hold the same
capacity for ever: by other names, by other amounts, or as a reservation.

Capacity that is free in between has no age: anybody can get it. So the age
ends when a member is released, and when it fails because its hold was lost. A
tenant gains nothing from such a failure that a release would not give.
"""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import TypeAlias

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Time
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember

#: Column of a hold with the id of the member that it is for, and that id.
_Owner: TypeAlias = tuple[str, int]

#: Amounts by resource class, of each owner.
_AmountsByOwner: TypeAlias = Mapping[_Owner, collections.Counter[str]]

# A hold's column with the id of its member, and the member's column with the
# start of such a hold. Placeholders have no start.
_STARTS = {
    'member_id': models.Member.held_since,
    'resize_member_id': models.Member.reservation_since,
}


def store(context: RequestContext, swap: swaps.Swap) -> None:
    """Store the start of the holds that begin or grow in a swap.

    :param swap: the swap that was made, before its rows are updated
    """
    before = _amounts_by_owner((*swap.old_holds, *swap.ending))
    after = _amounts_by_owner(swap.new_holds())
    takers = _owners_of_more(after, before)
    new = _ids_by_column(owner for owner in takers if owner not in before)
    if reserved := new.get('resize_member_id'):
        # The row has the start of an earlier reservation.
        _set_start(context, 'resize_member_id', reserved, clock.now())
    oldest = _oldest_start(context, _owners_of_more(before, after))
    if oldest is not None:
        _make_as_old(context, takers, oldest)


def _amounts_by_owner(holds: Iterable[VRTHold]) -> _AmountsByOwner:
    """Return the amounts of holds, added up by owner."""
    amounts = collections.defaultdict(collections.Counter)
    for hold in holds:
        for column in _STARTS:
            member_id = getattr(hold, column)
            if member_id is not None:
                for each in hold.allocations.values():
                    amounts[column, member_id].update(each['resources'])
    return amounts


def _owners_of_more(
    amounts: _AmountsByOwner, others: _AmountsByOwner
) -> list[_Owner]:
    """Return the owners whose amounts exceed their other ones."""
    none = collections.Counter()
    return [each for each in amounts if amounts[each] - others.get(each, none)]


def _oldest_start(
    context: RequestContext, owners: Iterable[_Owner]
) -> datetime.datetime | None:
    """Return the oldest start of these owners' holds, or None."""
    starts = [
        since
        for column, ids in _ids_by_column(owners).items()
        for (since,) in db.find_columns(
            context,
            [_STARTS[column]],
            models.Member,
            models.Member.id.in_(ids),
        )
        if since is not None
    ]
    return min(starts, default=None)


def _make_as_old(
    context: RequestContext, owners: Iterable[_Owner], since: datetime.datetime
) -> None:
    for column, ids in _ids_by_column(owners).items():
        start = _STARTS[column]
        older = sa.case((start < since, start), else_=since)
        _set_start(context, column, ids, older)


def _set_start(
    context: RequestContext, column: str, ids: Sequence[int], value: Time
) -> None:
    values = {_STARTS[column].key: value}
    VRTMember.update_rows(context, models.Member.id.in_(ids), **values)


def _ids_by_column(owners: Iterable[_Owner]) -> dict[str, list[int]]:
    ids = collections.defaultdict(list)
    for column, member_id in owners:
        ids[column].append(member_id)
    return ids
