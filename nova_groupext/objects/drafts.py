# SPDX-License-Identifier: Apache-2.0
"""Drafts: the next definitions of groups.

A revision is stored as a group of its own, the *draft*, which tenants do not
see. The planner plans and holds it while the group stays unchanged. A refused
draft stays, to show the reason, until the next one is stored; that of a tenant
until the tenant's next one.

A draft's members name the servers that they adopt. Servers that a revision
drops but keeps running are the draft's when it is deleted.
"""

from collections.abc import Callable
import contextlib

from nova.context import RequestContext

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import definitions
from nova_groupext.objects import states
from nova_groupext.objects.aliases import NodesByPath
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.plan import VRTPlan

COPIED_FIELDS = (
    'project_id',
    'user_id',
    'hold_when_planned',
    'subgroups',
    'member_sets',
    'policies',
    'relationships',
)


def replacement_of(group: VRTGroup, excluded_nodes: NodesByPath) -> VRTGroup:
    """Return a draft with the group's present definition, not stored yet.

    Holds for servers of a former description stay such.
    """
    values = {
        name: getattr(group, name)
        for name in (*definitions.GROUP_COLUMNS, *COPIED_FIELDS)
    }
    return VRTGroup(
        **values,
        fault=None,
        client_token=None,
        expires_at=None,
        excluded_nodes=excluded_nodes,
        members=[_copy(member) for member in group.members],
    )


def _copy(member: VRTMember) -> VRTMember:
    copied = VRTMember.tentative(
        member.path, member.described, member.succeeds
    )
    if member.status == states.Member.HELD:
        copied.server_request = member.server_request
    return copied


def store(context: RequestContext, group: VRTGroup, draft: VRTGroup) -> None:
    """Insert the draft of a group; an earlier, decided one is deleted.

    :param draft: not stored yet
    :raises: GenerationConflict, GroupGrowing, or GroupStateConflict while an
        earlier revision is being planned
    """

    def work() -> None:
        _increment_generation(context, group)
        _replace_draft(context, group, draft)
        if draft.is_for_creates:
            _keep_refusals(context, group)

    _with_group_lock(context, group, work)
    group.generation += 1


def _keep_refusals(context: RequestContext, group: VRTGroup) -> None:
    """Keep the refusals of creates: a draft for others frees nothing."""
    db.compare_and_set(
        context,
        models.Create,
        models.Create.group_id == group.id,
        models.Create.generation == group.generation,
        generation=group.generation + 1,
    )


def _replace_draft(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> None:
    """Insert a draft, and delete earlier ones that are not PLANNING.

    Also one that places members for creates is deleted, unless its swap has
    begun: planners decide the creates again after the new draft. What a tenant
    has asked for is not hidden by what planners do.
    """
    earlier = VRTGroup.drafts_of(context, [group.id])
    for old in earlier:
        is_planning = old.status == states.Group.PLANNING
        if is_planning and old.is_for_creates and old.is_binding:
            raise exception.GroupGrowing(group=group.uuid)
        if is_planning and not old.is_for_creates:
            raise group.conflict(
                'an earlier revision is still being planned; retry when '
                'planning has ended'
            )
    draft.revises_id = group.id
    draft.create(context)
    for old in earlier:
        if draft.is_requested or not old.is_requested:
            # A planner may have deleted it meanwhile.
            with contextlib.suppress(exception.GroupNotFound):
                old.mark_deleted(context)


def replace_definition(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> None:
    """Replace the definition of a group without holds at once.

    The planner then plans the group like a new one.

    :param group: in one of states.GROUP_WITHOUT_HOLDS, or RELEASED
    :param draft: not stored yet
    :raises: see store()
    """

    def work() -> None:
        _replace_draft(context, group, draft)
        definitions.exchange(context, group, draft)
        VRTMember.update_rows(
            context,
            models.Member.group_id == group.id,
            models.Member.status == states.Member.RELEASED,
            status=states.Member.TENTATIVE,
            server_uuid=None,
            fault=None,
        )
        VRTPlan.mark_outdated(context, group.id)
        # The group itself stays unchanged, because this may be retried.
        group.obj_clone().change(context, states.Group.PLANNING, fault=None)
        draft.mark_deleted(context)

    _with_group_lock(context, group, work)
    group.status, group.fault = states.Group.PLANNING, None
    group.generation += 1


def servers_to_adopt(draft: VRTGroup) -> dict[Path, str]:
    """Return {path: uuid of the server to adopt} of a draft's members."""
    return {
        member.path: member.server_uuid
        for member in draft.members
        if member.server_uuid is not None
    }


def replaceable_statuses(draft: VRTGroup) -> tuple[states.Member, ...]:
    """Return the states from which a draft's members may become HELD."""
    if not draft.is_requested:
        return (states.Member.TENTATIVE, *states.MEMBER_REPLACEABLE)
    return tuple(s for s in states.Member if s not in states.MEMBER_HAS_SERVER)


def _with_group_lock(
    context: RequestContext, group: VRTGroup, work: Callable[[], None]
) -> None:
    def work_and_confirm() -> bool:
        work()
        return True

    if not db.with_row_lock(
        context, models.Group, work_and_confirm, id=group.id
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _increment_generation(context: RequestContext, group: VRTGroup) -> None:
    if not group.update_row(
        context,
        models.Group.generation == group.generation,
        models.Group.status == group.status,
        # A deleted group is removed when its drafts are: it gets no others.
        models.Group.status != states.Group.RELEASING,
        generation=group.generation + 1,
    ):
        raise exception.GenerationConflict(group=group.uuid)


def mark_binding(context: RequestContext, draft: VRTGroup) -> None:
    """Mark a draft as binding for the checks of redeems and moves.

    :raises: GenerationConflict when it was deleted or decided meanwhile
    """
    is_planning = models.Group.status == states.Group.PLANNING
    if not draft.update_row(context, is_planning, is_binding=True):
        raise exception.GenerationConflict(group=draft.uuid)
