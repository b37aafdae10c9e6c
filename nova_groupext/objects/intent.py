# SPDX-License-Identifier: Apache-2.0
"""An intent: who works on a group, written before it acts."""

import contextlib
import datetime
import time

from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base

# How often, and after how many seconds, a busy group is tried again.
PATIENCE, PAUSE = 20, 0.25


@ovo.VersionedObjectRegistry.register
class VRTIntent(base.VRTObject):
    VERSION = '1.0'

    PLAN, RELEASE, BOOT = OPERATIONS = 'plan', 'release', 'boot'

    fields = {
        'id': fields.IntegerField(),
        'uuid': fields.UUIDField(),
        'group_id': fields.IntegerField(),
        'operation': fields.EnumField(OPERATIONS),
        'owner': fields.StringField(),
        'lease_ends_at': fields.DateTimeField(tzinfo_aware=False),
    }

    @classmethod
    def acquire(cls, context, group, operation, owner, lease):
        """Become the one who works on the group, for ``lease`` seconds.

        Waits a little for another to finish. An intent whose lease ran out
        belongs to one that died; it is taken over.

        :raises: GroupBusy when another is still at work, GroupNotFound when
            the group was forgotten meanwhile
        """
        for _attempt in range(PATIENCE):
            with contextlib.suppress(db_exc.DBDuplicateEntry):
                return cls._acquire(context, group, operation, owner, lease)
            time.sleep(PAUSE)
        raise exception.GroupBusy(group=group.uuid)

    @classmethod
    def _acquire(cls, context, group, operation, owner, lease):
        now = timeutils.utcnow()
        db.delete(
            context,
            models.Intent,
            models.Intent.group_id == group.id,
            models.Intent.lease_ends_at < now,
        )
        row = models.Intent(
            uuid=uuidutils.generate_uuid(),
            group_id=group.id,
            operation=operation,
            owner=owner,
            lease_ends_at=now + datetime.timedelta(seconds=lease),
        )
        try:
            return cls.from_row(context, db.create(context, row))
        except db_exc.DBReferenceError as exc:
            raise exception.GroupNotFound(group=group.uuid) from exc

    @staticmethod
    def busy_groups(context):
        """Return the ids of the groups that somebody works on."""
        rows = db.find(
            context,
            models.Intent,
            models.Intent.lease_ends_at >= timeutils.utcnow(),
        )
        return {row.group_id for row in rows}

    def renew(self, context, lease):
        """Own the group for another ``lease`` seconds from now on.

        :raises: GroupBusy when it was taken over, as the lease had run out
        """
        ends_at = timeutils.utcnow() + datetime.timedelta(seconds=lease)
        if not db.compare_and_set(
            context,
            models.Intent,
            models.Intent.uuid == self.uuid,
            lease_ends_at=ends_at,
        ):
            raise exception.GroupBusy(group=self.group_id)

    def fulfil(self, context):
        """The operation is done, or undone: the group is free again."""
        db.delete(context, models.Intent, models.Intent.uuid == self.uuid)
