# SPDX-License-Identifier: Apache-2.0
"""Drafts: the next definitions of groups.

A revision is stored as a group of its own, the *draft*, which tenants do not
see. The planner plans and holds it while the group stays unchanged. A refused
draft stays, to show the reason, until the next one is stored.

A draft's members name the servers that they adopt. Servers that a revision
drops but keeps running are the draft's when it is deleted.
"""

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import definitions
from nova_groupext.objects import group as group_obj
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.plan import VRTPlan

_COPIED_FIELDS = (
    'project_id',
    'user_id',
    'hold_when_planned',
    'subgroups',
    'policies',
    'relationships',
)


def replacement_of(group, excluded_hosts):
    """Return a draft with the group's present definition, not stored yet.

    :param excluded_hosts: {path: [node, ...]}, see VRTGroup.excluded_hosts
    """
    values = {
        name: getattr(group, name)
        for name in (*definitions.GROUP_COLUMNS, *_COPIED_FIELDS)
    }
    return group_obj.VRTGroup(
        **values,
        fault=None,
        client_token=None,
        expires_at=None,
        excluded_hosts=excluded_hosts,
        members=[_tentative_copy(member) for member in group.members],
    )


def _tentative_copy(member):
    values = {
        name: getattr(member, name) for name in definitions.MEMBER_COLUMNS
    }
    return VRTMember(
        path=member.path,
        status=states.Member.TENTATIVE,
        fault=None,
        server_uuid=None,
        **values,
    )


def store(context, group, draft):
    """Insert the draft of a group; an earlier, decided one is deleted.

    :param group: VRTGroup
    :param draft: VRTGroup, not stored yet
    :raises: GenerationConflict, or GroupStateConflict while an earlier
        revision is being planned
    """

    def work():
        _increment_generation(context, group)
        _replace_draft(context, group, draft)

    _with_group_lock(context, group, work)
    group.generation += 1


def _replace_draft(context, group, draft):
    """Insert a draft, and delete an earlier one that is not PLANNING."""
    for old in group_obj.VRTGroup.drafts_by_group(
        context, [group.id]
    ).values():
        if old.status == states.Group.PLANNING:
            raise group.conflict(
                'an earlier revision is still being planned; retry when '
                'planning has ended'
            )
        old.mark_deleted(context)
    draft.revises_id = group.id
    draft.create(context)


def replace_definition(context, group, draft):
    """Replace the definition of a group without holds at once.

    The planner then plans the group like a new one.

    :param group: VRTGroup in one of states.GROUP_WITHOUT_HOLDS, or RELEASED
    :param draft: VRTGroup, not stored yet
    :raises: see store()
    """

    def work():
        _replace_draft(context, group, draft)
        definitions.exchange(context, group, draft)
        db.compare_and_set(
            context,
            models.Member,
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


def servers_to_adopt(draft):
    """Return {path: uuid of the server to adopt} of a draft's members."""
    return {
        member.path: member.server_uuid
        for member in draft.members
        if member.server_uuid is not None
    }


def replaceable_statuses(draft):
    """Return the states from which a draft's members may become HELD."""
    if draft.excluded_hosts is not None:
        return states.MEMBER_REPLACEABLE
    return tuple(s for s in states.Member if s not in states.MEMBER_HAS_SERVER)


def _with_group_lock(context, group, work):
    def work_and_confirm():
        work()
        return True

    if not db.with_row_lock(
        context, models.Group, work_and_confirm, id=group.id
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _increment_generation(context, group):
    if not db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.generation == group.generation,
        models.Group.status == group.status,
        generation=group.generation + 1,
    ):
        raise exception.GenerationConflict(group=group.uuid)
