# SPDX-License-Identifier: Apache-2.0
"""A hold: the Placement allocation of a member without a server."""

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import states


@ovo.VersionedObjectRegistry.register
class VRTHold(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        # The consumer in Placement; fresh for every attempt.
        'uuid': fields.UUIDField(),
        'group_id': fields.IntegerField(),
        'member_id': fields.IntegerField(),
        'status': fields.EnumField(list(states.Hold)),
        'host': fields.StringField(),
        'node': fields.StringField(),
        'provider_uuid': fields.UUIDField(),
        # {provider: {"resources": {class: amount}}}
        'allocations': base.JsonField(),
        # {request group: [provider, ...]}
        'mappings': base.JsonField(),
        'consumer_generation': fields.IntegerField(nullable=True),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    def create(self, context):
        row = db.create(context, models.Hold(**self.columns(models.Hold)))
        self.id, self.created_at = row.id, row.created_at
        self.obj_reset_changes()

    @classmethod
    def list_by_group(cls, context, group_id):
        rows = db.find(context, models.Hold, models.Hold.group_id == group_id)
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def get_by_member(cls, context, member_id):
        """Return the newest hold of a member that was written, or None."""
        row = db.find_one(
            context,
            models.Hold,
            models.Hold.member_id == member_id,
            models.Hold.consumer_generation.is_not(None),
            order=(models.Hold.id.desc(),),
        )
        return cls.from_row(context, row) if row else None

    def claim(self, context, before=None):
        """Become the one who moves the hold to a new uuid.

        Placement alone cannot arbitrate here: of two emptyings of a consumer
        at the same moment it may accept both.

        :param before: take over from one who began before that time
        :returns: False when somebody else is at it
        """
        free = models.Hold.status == states.Hold.HELD
        if before is not None:
            free |= sa.and_(
                models.Hold.status == states.Hold.MOVING,
                models.Hold.updated_at < before,
            )
        return bool(
            db.compare_and_set(
                context,
                models.Hold,
                models.Hold.id == self.id,
                free,
                status=states.Hold.MOVING,
            )
        )

    def save(self, context):
        """Write what was changed in this object."""
        changes = self.obj_get_changes()
        db.compare_and_set(
            context, models.Hold, models.Hold.id == self.id, **changes
        )
        self.obj_reset_changes()

    def destroy(self, context):
        """Forget a hold of which Placement knows nothing any more."""
        db.delete(context, models.Hold, models.Hold.id == self.id)
