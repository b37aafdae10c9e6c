# SPDX-License-Identifier: Apache-2.0
"""A plan: the planner's answer for a group."""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import member_placement
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.member_placement import MemberPlacement


@ovo.VersionedObjectRegistry.register
class VRTPlan(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.Plan

    PLACED, REFUSED, UNDECIDED = STATUSES = 'placed', 'refused', 'undecided'

    fields = base.fields_of(
        models.Plan,
        status=fields.EnumField(STATUSES),
        # {path: MemberPlacement}
        placements=member_placement.PlacementsField(),
    )

    def create(self, context: RequestContext) -> None:
        """Insert the plan of a group that exists.

        :raises: GroupNotFound when the group was deleted meanwhile
        """
        self.uuid, self.is_outdated = uuidutils.generate_uuid(), False

        def work() -> models.Base:
            return db.create(context, self.to_row())

        row = db.with_row_lock(context, models.Group, work, id=self.group_id)
        if row is None:
            raise exception.GroupNotFound(group=self.group_id)
        self.id = row.id
        self.obj_reset_changes()

    def column_values(self) -> dict[str, Any]:
        placements = member_placement.to_json(self.placements)
        return {**super().column_values(), 'placements': placements}

    @classmethod
    def mark_outdated(cls, context: RequestContext, group_id: int) -> None:
        """Mark the plans of a group that is to be planned anew.

        The caller's transaction has the group's row lock.
        """
        is_of_group = models.Plan.group_id == group_id
        cls.update_rows(context, is_of_group, is_outdated=True)

    @classmethod
    def find_newest(
        cls, context: RequestContext, group_id: int
    ) -> Self | None:
        """Return the group's valid plan; None before the first one."""
        is_of_group = models.Plan.group_id == group_id
        newest_first = (models.Plan.id.desc(),)
        return cls.find_row(context, is_of_group, order=newest_first)

    @classmethod
    def newest_by_group(
        cls, context: RequestContext, group_ids: Collection[int]
    ) -> dict[int, Self]:
        """Return {group id: its valid plan} of the groups that have one."""
        newest = (
            sa.select(sa.func.max(models.Plan.id))
            .where(models.Plan.group_id.in_(group_ids))
            .group_by(models.Plan.group_id)
        )
        plans = cls.list_rows(context, models.Plan.id.in_(newest))
        return {plan.group_id: plan for plan in plans}

    def update_placement(
        self, context: RequestContext, path: Path, placement: MemberPlacement
    ) -> None:
        """Update a member's placement to the location of its server.

        The caller's transaction has the group's row lock.
        """
        self.placements = {**self.placements, path: placement}
        placements = member_placement.to_json(self.placements)
        self.update_row(context, placements=placements)

    def rename(
        self, context: RequestContext, new_paths: Mapping[Path, Path]
    ) -> None:
        """Rename members of the plan.

        The caller's transaction has the group's row lock.

        :param new_paths: {old path: new path}
        """
        self.placements = {
            new_paths.get(path, path): placement
            for path, placement in self.placements.items()
        }
        placements = member_placement.to_json(self.placements)
        self.update_row(context, placements=placements)

    def nodes(self) -> dict[Path, str]:
        """Return {member path: node}; nodes are the solver's host ids."""
        return {path: each.node for path, each in self.placements.items()}
