# SPDX-License-Identifier: Apache-2.0
"""Placeholders of exclusive hosts: committed, replaced and released."""

from collections.abc import Sequence

from nova.context import RequestContext

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold


def commit(
    context: RequestContext,
    group: VRTGroup,
    placeholder_holds: Sequence[VRTHold],
) -> list[int] | None:
    """Commit placeholders of a group that may have holds.

    :param placeholder_holds: in state WRITING; a planner that took the group
        over has ended them
    :returns: None when they were not committed
    """
    return db.compare_and_set_all(
        context,
        Change(
            models.Group,
            sql_conditions.may_have_holds(group.id),
            transitions.UNCHANGED,
            1,
        ),
        VRTHold.change_to_held(placeholder_holds),
    )


def replace(
    context: RequestContext,
    group_id: int,
    old: Sequence[VRTHold],
    new: Sequence[VRTHold],
) -> list[VRTHold] | None:
    """Replace placeholders while their group may have holds.

    The caller's transaction has the group's row lock.

    :param old: those to release
    :param new: those to insert
    :returns: inserted holds; None when the group may have no holds
    """
    may_have_holds = sql_conditions.may_have_holds(group_id)
    if not db.count(context, models.Group, *may_have_holds):
        return None
    release(context, old)
    return VRTHold.create_all(context, new)


def release(context: RequestContext, placeholders: Sequence[VRTHold]) -> None:
    """Release placeholders that are obsolete or missing in Placement."""
    releasing = {'status': states.Hold.RELEASING}
    VRTHold.change(context, placeholders, states.Hold.HELD, **releasing)
