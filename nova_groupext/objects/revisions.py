# SPDX-License-Identifier: Apache-2.0
"""Revisions: a draft becomes the definition of its group.

1. *prepare*, one transaction: the successors are stored, every check is made.
2. The swap in Placement: scheduler/protocol/swap.py.
3. *commit*, one transaction: the definitions, members and plans of group and
   draft are exchanged, and the draft is deleted with the parts that the
   revision drops. *compensate* restores the state before 1 instead.
"""

from collections.abc import Callable
from collections.abc import Collection
import contextlib
import dataclasses

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import adoptions
from nova_groupext.objects import create_reservations
from nova_groupext.objects import definitions
from nova_groupext.objects import drafts
from nova_groupext.objects import hold_ages
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects import swaps
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.plan import VRTPlan


def prepare(
    context: RequestContext,
    lease: VRTLease,
    group: VRTGroup,
    draft: VRTGroup,
    swap: swaps.Swap,
    check: Callable[[], None],
) -> swaps.Swap:
    """Prepare a draft, so that it takes effect as soon as its swap is made.

    Every check is made here, because the commit cannot fail.

    :param swap: its successors are not stored yet
    :param check: raises an error to prevent the commit; called while no other
        transaction changes the group
    :returns: the prepared swap
    :raises: GenerationConflict when anything has changed meanwhile, GroupBusy
        when another planner has taken the group over
    """

    def work() -> list[VRTHold]:
        check()
        _check_unchanged(context, group, draft, swap)
        swaps.prepare(context, lease, swap.old_holds, swap.ending)
        created = VRTHold.create_all(context, swap.successors)
        drafts.mark_binding(context, draft)
        return created

    created = swaps.with_lease(context, lease, work)
    return dataclasses.replace(swap, successors=created)


def commit(
    context: RequestContext,
    lease: VRTLease,
    group: VRTGroup,
    draft: VRTGroup,
    swap: swaps.Swap,
    check: Callable[[], None] | None = None,
    lost: Collection[str] = (),
    *,
    is_watched: bool = False,
) -> None:
    """Make the draft's definition, plan and holds the group's.

    :param swap: the swap that was made
    :param check: see prepare(); None after prepare(): then only the loss of
        the lease makes a commit fail
    :param lost: see swap_results.store(), also for is_watched
    :raises: GenerationConflict, GroupBusy
    """

    def work() -> None:
        if check is not None:
            check()
            _check_unchanged(context, group, draft, swap)
            swaps.prepare(context, lease, (), swap.ending)
        hold_ages.store(context, swap)
        _exchange_definitions(context, group, draft)
        adoptions.assign_servers(context, group, draft, swap.adopted)
        swap_results.store(
            *(context, group.id, swap, swaps.Side.APPLIED, lost),
            member_statuses=drafts.replaceable_statuses(draft),
            is_watched=is_watched,
        )
        create_reservations.reserve_placed(context, group.id, draft)
        _reset_members_without_holds(context, group)
        _end_draft(context, draft)

    swaps.with_lease(context, lease, work)


def _exchange_definitions(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> None:
    """Give a group the definition and the plan of its draft."""
    plan = VRTPlan.find_newest(context, draft.id)
    definitions.exchange(context, group, draft)
    definitions.assign_to_group(context, models.Plan, [plan.id], group)
    _set_group_held(context, group)
    if draft.is_requested:
        _extend_lifetime(context, group)


def _end_draft(context: RequestContext, draft: VRTGroup) -> None:
    draft.update_row(context, is_binding=False)
    # A draft that is gone was deleted with its group.
    with contextlib.suppress(exception.GroupNotFound):
        draft.obj_clone().mark_deleted(context)


def compensate(
    context: RequestContext,
    lease: VRTLease,
    draft: VRTGroup,
    swap: swaps.Swap,
    lost: Collection[str],
) -> None:
    """Restore the state before a swap was prepared.

    :param lost: see swap_results.store()
    """

    def work() -> None:
        swap_results.store(
            *(context, lease.group_id, swap, swaps.Side.COMPENSATED, lost),
            member_statuses=drafts.replaceable_statuses(draft),
            is_watched=True,
        )
        draft.update_row(context, is_binding=False)

    with faultpoints.around('revise.compensate'):
        swaps.with_lease(context, lease, work)


def _check_unchanged(
    context: RequestContext, group: VRTGroup, draft: VRTGroup, swap: swaps.Swap
) -> None:
    """Check that the draft can still be committed.

    :raises: GenerationConflict
    """
    ids = {each.member_id for each in swap.new_holds()} - {None}
    members = VRTMember.list_by_ids(context, ids)
    replaceable = [
        member
        for member in members
        if member.status in drafts.replaceable_statuses(draft)
    ]
    if (
        len(replaceable) != len(ids)
        or not _is_planning(context, draft)
        or not _may_revise(context, group, draft)
        or not _may_drop(context, group, draft)
        or not adoptions.may_adopt(context, group, draft)
        or adoptions.has_moves(context, swap)
        or not create_reservations.are_open(context, draft)
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _is_planning(context: RequestContext, draft: VRTGroup) -> bool:
    """Check that no other draft has taken the place of this one."""
    row = VRTGroup.find_by_id(context, draft.id)
    return row is not None and row.status == states.Group.PLANNING


def _may_revise(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> bool:
    """Check whether a group has holds, or is unchanged and gets its first.

    A draft of a planner needs a replaceable group instead.
    """
    row = VRTGroup.find_by_id(context, group.id)
    if not draft.is_requested:
        return row.status in states.GROUP_REPLACEABLE
    is_same = (row.status, row.generation) == (group.status, group.generation)
    return row.status in states.GROUP_WITH_HOLDS or (
        is_same and row.status in states.GROUP_WITHOUT_HOLDS
    )


def _may_drop(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> bool:
    """Check that no dropped member has, or is getting, a server.

    A draft with keep_server may drop members whose servers exist.
    """
    current, drafted = (
        definitions.rows_by_path(context, group),
        definitions.rows_by_path(context, draft),
    )
    droppable = states.MEMBER_SERVER_RUNS if draft.keep_server else ()
    return not any(
        current[path].status in states.MEMBER_HAS_SERVER
        and current[path].status not in droppable
        for path in current.keys() - drafted.keys()
    )


def _reset_members_without_holds(
    context: RequestContext, group: VRTGroup
) -> None:
    """Set HELD members for which the draft holds nothing to TENTATIVE."""
    is_held = sa.exists().where(
        models.Hold.member_id == models.Member.id,
        models.Hold.status.in_(states.HOLD_COMMITTED),
    )
    VRTMember.update_rows(
        context,
        models.Member.group_id == group.id,
        models.Member.status == states.Member.HELD,
        ~is_held,
        status=states.Member.TENTATIVE,
        held_since=None,
        reserved_for=None,
    )


def _extend_lifetime(context: RequestContext, group: VRTGroup) -> None:
    """Extend the group's lifetime to that of a new one; never shorten it."""
    row = VRTGroup.find_by_id(context, group.id)
    ends_at = clock.now(row.expires_in)
    current = models.Group.expires_at
    expires_at = sa.case((current > ends_at, current), else_=ends_at)
    group.update_row(context, expires_at=expires_at)


def _set_group_held(context: RequestContext, group: VRTGroup) -> None:
    """Set a group without holds, or a released one, to HELD."""
    without_holds = (*states.GROUP_WITHOUT_HOLDS, states.Group.RELEASED)
    group.update_row(
        context,
        models.Group.status.in_(without_holds),
        status=states.Group.HELD,
        hold_when_planned=True,
        fault=None,
    )
