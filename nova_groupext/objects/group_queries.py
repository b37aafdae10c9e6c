# SPDX-License-Identifier: Apache-2.0
"""Queries for groups, alone or in lists, and for views of them."""

import collections
from collections.abc import Collection
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any
from typing import Self

from nova.context import RequestContext

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects import listing
from nova_groupext.objects import states
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.member import VRTMember

if TYPE_CHECKING:
    from nova_groupext.objects.group import VRTGroup

# The largest column
_NOT_IN_VIEWS = (models.MemberSet.resolved_request,)


class GroupQueries(base.VRTObject):
    """The part of VRTGroup that finds and lists groups."""

    @classmethod
    def get_row(cls, context: RequestContext, group_id: int) -> Self:
        """Return a group without its parts.

        :raises: GroupNotFound
        """
        group = cls.find_by_id(context, group_id)
        if group is None:
            raise exception.GroupNotFound(group=group_id)
        return group

    @classmethod
    def find_with_subgroup(
        cls, context: RequestContext, uuid: str
    ) -> tuple[Self, Path] | None:
        """Return (group, path of a subgroup, '' for the group) of an id."""
        subgroup = db.find_one(
            context,
            models.Subgroup,
            models.Subgroup.uuid == uuid,
            models.Subgroup.group_id == models.Group.id,
            models.Group.revises_id.is_(None),
        )
        if subgroup is None:
            group = cls.find(context, uuid)
            return None if group is None else (group, '')
        return cls.get_by_id(context, subgroup.group_id), subgroup.path

    @classmethod
    def get_owner(cls, context: RequestContext, member: VRTMember) -> Self:
        """Return the group of a member; for a draft the group that it revises.

        :param member: perhaps of a draft
        :returns: group without its parts, and no draft
        :raises: GroupNotFound
        """
        group = cls.get_row(context, member.group_id)
        return cls.get_row(context, group.revises_id or group.id)

    @classmethod
    def find_revised(cls, context: RequestContext, uuid: str) -> Self | None:
        """Return a group, or for a draft the group that it revises, or None.

        :returns: group without its parts
        """
        group = db.find_one(context, models.Group, models.Group.uuid == uuid)
        if group is None:
            return None
        return cls.find_by_id(context, group.revises_id or group.id)

    @classmethod
    def refresh(
        cls, context: RequestContext, groups: Sequence[Self]
    ) -> Sequence[Self]:
        """Return the present groups, reading only changed ones again.

        A group that was deleted is returned unchanged.
        """
        ids = [group.id for group in groups]
        rows = cls.list_rows(context, models.Group.id.in_(ids))
        generations = {row.id: row.generation for row in rows}
        return [
            group
            if generations.get(group.id) == group.generation
            else cls.find(context, group.uuid) or group
            for group in groups
        ]

    @classmethod
    def list(cls, context: RequestContext, **options: Any) -> Sequence[Self]:
        """Return groups without their parts.

        :param options: those of listing.find_rows()
        :raises: GroupNotFound as listing.find_rows() does
        """
        rows = listing.find_rows(context, **options)
        return [cls.from_row(context, row) for row in rows]

    @staticmethod
    def count(context: RequestContext, project_id: str) -> int:
        """Return the number of a project's groups, without drafts."""
        return db.count(
            context,
            models.Group,
            models.Group.project_id == project_id,
            models.Group.status != states.Group.RELEASING,
            models.Group.revises_id.is_(None),
        )

    def has_draft(self, context: RequestContext) -> bool:
        """Check whether the group has a draft, including a deleted one."""
        return bool(
            db.count(context, models.Group, models.Group.revises_id == self.id)
        )

    @classmethod
    def drafts_by_group(
        cls,
        context: RequestContext,
        group_ids: Collection[int],
        *,
        for_views: bool = False,
    ) -> dict[int, Self]:
        """Return {group id: its draft} of the groups that have one.

        Of several it is the one in PLANNING, else that of a tenant.

        :param for_views: True to read only what a view needs
        """
        drafts = cls.drafts_of(context, group_ids, for_views=for_views)
        return {
            draft.revises_id: draft
            for draft in sorted(drafts, key=_is_in_front)
        }

    @classmethod
    def drafts_of(
        cls,
        context: RequestContext,
        group_ids: Collection[int],
        *,
        for_views: bool = False,
    ) -> Sequence[Self]:
        """Return all drafts of some groups, the oldest first.

        :param for_views: True to read only what a view needs
        """
        deferred = _NOT_IN_VIEWS if for_views else ()
        return cls._list(
            context, *_are_drafts_of(group_ids), deferred=deferred
        )

    @classmethod
    def list_for_views(
        cls, context: RequestContext, groups: Sequence[Self]
    ) -> Sequence[Self]:
        """Return groups with all parts that a view of them needs.

        :param groups: with or without their parts; their order stays
        """
        ids = [group.id for group in groups]
        found = cls._list(
            context,
            models.Group.id.in_(ids),
            models.Group.status != states.Group.RELEASING,
            deferred=_NOT_IN_VIEWS,
        )
        by_id = {group.id: group for group in found}
        return [by_id[each] for each in ids if each in by_id]

    @staticmethod
    def limit_by_members(
        context: RequestContext, groups: Sequence['VRTGroup'], max_members: int
    ) -> Sequence['VRTGroup']:
        """Return the first groups that have a limited number of members.

        Members of their drafts count, too: views contain both.

        :param groups: perhaps without their parts
        :param max_members: maximum number of members of all groups together
        :returns: groups; at least one unless there are none
        """
        ids = [group.id for group in groups]
        counts = collections.Counter()
        for owner, *conditions in (
            (models.Group.id, models.Group.id.in_(ids)),
            (models.Group.revises_id, *_are_drafts_of(ids)),
        ):
            counts.update(
                db.count_each(
                    context,
                    models.Member,
                    owner,
                    models.Member.group_id == models.Group.id,
                    *conditions,
                )
            )
        first = []
        for group in groups:
            max_members -= counts[group.id]
            if first and max_members < 0:
                break
            first.append(group)
        return first


def _is_in_front(draft: 'VRTGroup') -> tuple[bool, bool]:
    """Return a key by which the draft that counts comes last."""
    return draft.status == states.Group.PLANNING, draft.is_requested


def _are_drafts_of(group_ids: Collection[int]) -> tuple[Condition, ...]:
    """Return the conditions that groups are drafts of some groups."""
    return (
        models.Group.revises_id.in_(group_ids),
        models.Group.status != states.Group.RELEASING,
    )
