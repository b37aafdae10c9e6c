# SPDX-License-Identifier: Apache-2.0
"""Watched holds: requests that were sent long before may still fill them.

The reaper checks them at times that get longer, see release_holds.py of the
protocol. The row of a hold that has ended stays until then, and for a while
as a tombstone.
"""

import collections
from collections.abc import Iterable
from typing import TYPE_CHECKING
from typing import Any

from nova.context import RequestContext

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import states

if TYPE_CHECKING:
    from nova_groupext.objects.hold import VRTHold

# Seconds after which the reaper checks whether a late request has filled a
# watched hold
CHECK_DELAYS = (120, 600, 3600, 86400)


def watch_values() -> dict[str, Any]:
    """Return the column values of a hold that is watched from now on."""
    return {'watched_at': clock.now(), 'checks': 0}


def is_due() -> list[Condition]:
    """Return the conditions, one for each check, that it is due."""
    return [
        (models.Hold.checks == number)
        & (models.Hold.watched_at < clock.now(-seconds))
        for number, seconds in enumerate(CHECK_DELAYS)
    ]


def begin_check(
    context: RequestContext, hold: 'VRTHold', seconds: int
) -> bool:
    """Begin a check that may fill the hold's consumer.

    :param seconds: for which another process that has begun one may send
        requests
    :returns: False while another process may do so
    """
    began_at = models.Hold.check_began_at
    return bool(
        hold.update_row(
            context,
            models.Hold.checks == hold.checks,
            began_at.is_(None) | (began_at < clock.now(-seconds)),
            check_began_at=clock.now(),
            updated_at=models.Hold.updated_at,
        )
    )


def count_checks(context: RequestContext, holds: Iterable['VRTHold']) -> None:
    """Count a check of watched holds, of all at once."""
    by_checks = collections.defaultdict(list)
    for hold in holds:
        by_checks[hold.checks].append(hold.id)
    for number, ids in by_checks.items():
        is_last = number + 1 == len(CHECK_DELAYS)
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id.in_(ids),
            models.Hold.checks == number,
            checks=number + 1,
            check_began_at=None,
            watched_at=None if is_last else models.Hold.watched_at,
            # The start of the holds' state must not change.
            updated_at=models.Hold.updated_at,
        )


def mark_lost(context: RequestContext, hold: 'VRTHold') -> None:
    """Mark a hold as lost: Placement does not show its consumer."""
    hold.update_row(context, lost=True, **watch_values())


def detach_tombstones(context: RequestContext, group_id: int) -> None:
    """Detach the holds that have ended from a group, so it can be deleted.

    REDEEMED holds end here, watched: their servers may still fail.
    """
    is_of_group = models.Hold.group_id == group_id
    db.compare_and_set(
        context,
        models.Hold,
        is_of_group,
        models.Hold.status == states.Hold.REDEEMED,
        status=states.Hold.RELEASED,
        **watch_values(),
    )
    db.compare_and_set(
        context,
        models.Hold,
        is_of_group,
        models.Hold.status == states.Hold.RELEASED,
        group_id=None,
        member_id=None,
        resize_member_id=None,
    )


def purge_tombstones(context: RequestContext, seconds: int) -> None:
    """Delete tombstones older than some seconds and no longer watched."""
    db.purge(
        context,
        models.Hold,
        models.Hold.status == states.Hold.RELEASED,
        models.Hold.watched_at.is_(None),
        models.Hold.updated_at < clock.now(-seconds),
    )
