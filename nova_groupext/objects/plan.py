# SPDX-License-Identifier: Apache-2.0
"""A plan: the planner's answer for a group."""

from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base


@ovo.VersionedObjectRegistry.register
class VRTPlan(base.VRTObject):
    VERSION = '1.0'

    PLACED, REFUSED, UNDECIDED = STATUSES = 'placed', 'refused', 'undecided'

    fields = {
        'id': fields.IntegerField(),
        'uuid': fields.UUIDField(),
        'group_id': fields.IntegerField(),
        'status': fields.EnumField(STATUSES),
        # {path: {host, node, provider, allocations, mappings, domains}}
        'placement': base.JsonField(),
        # The planner's answer without its placement (DESIGN section 5).
        'answer': base.JsonField(),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    def create(self, context):
        """Insert the plan of a group that exists.

        :raises: GroupNotFound when the group was deleted meanwhile
        """
        self.uuid = uuidutils.generate_uuid()

        def work():
            return db.create(context, models.Plan(**self.columns(models.Plan)))

        row = db.with_row_lock(context, models.Group, work, id=self.group_id)
        if row is None:
            raise exception.GroupNotFound(group=self.group_id)
        self.id = row.id
        self.obj_reset_changes()

    @classmethod
    def newest(cls, context, group_id):
        """Return the group's valid plan; None before the first one."""
        row = db.find_one(
            context,
            models.Plan,
            models.Plan.group_id == group_id,
            order=(models.Plan.id.desc(),),
        )
        return cls.from_row(context, row) if row else None

    @classmethod
    def newest_of(cls, context, group_ids):
        """Return {group id: its valid plan} of the groups that have one."""
        newest = (
            sa.select(sa.func.max(models.Plan.id))
            .where(models.Plan.group_id.in_(group_ids))
            .group_by(models.Plan.group_id)
        )
        rows = db.find(context, models.Plan, models.Plan.id.in_(newest))
        return {row.group_id: cls.from_row(context, row) for row in rows}

    def follow(self, context, path, seat):
        """Update a member's placement to the location of its server.

        The caller's transaction has the group's row lock.

        :param path: of the member
        :param seat: an entry of ``placement``
        """
        self.placement = {**self.placement, path: seat}
        db.compare_and_set(
            context,
            models.Plan,
            models.Plan.id == self.id,
            placement=self.placement,
        )

    def hosts(self):
        """Return {member path: host id}; the planner's host ids are nodes."""
        return {path: seat['node'] for path, seat in self.placement.items()}
