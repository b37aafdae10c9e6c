# SPDX-License-Identifier: Apache-2.0
"""An intent: who works on a group, written before it acts.

Who boots a group keeps others from booting it. It gives way to everybody else
between two servers: the planners that its own servers wait for, because Nova
refuses their planned hosts, need the group too.
"""

import contextlib
import datetime
import time

from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base

# How often, and after how many seconds, a busy group is tried again.
PATIENCE, PAUSE = 20, 0.25
# How often, by one who has given way: planners take that long for a server
# that waits, and others may wait behind it.
LONG_PATIENCE = 120


@ovo.VersionedObjectRegistry.register
class VRTIntent(base.VRTObject):
    VERSION = '1.0'

    PLAN, RELEASE, BOOT = 'plan', 'release', 'boot'
    # BOOT, while somebody waits who is given way.
    YIELD = 'yield'
    OPERATIONS = (PLAN, RELEASE, BOOT, YIELD)

    fields = {
        'id': fields.IntegerField(),
        'uuid': fields.UUIDField(),
        'group_id': fields.IntegerField(),
        'operation': fields.EnumField(OPERATIONS),
        'owner': fields.StringField(),
        'lease_ends_at': fields.DateTimeField(tzinfo_aware=False),
    }

    @classmethod
    def acquire(cls, context, group, operation, owner, lease, patience=None):
        """Become the one who works on the group, for ``lease`` seconds.

        Waits a little for another to finish. An intent whose lease ran out
        belongs to one that died; it is taken over.

        :param patience: how often to try; PATIENCE by default
        :raises: GroupBusy when another is still at work, GroupNotFound when
            the group was forgotten meanwhile
        """
        for _attempt in range(patience or PATIENCE):
            with contextlib.suppress(db_exc.DBDuplicateEntry):
                return cls._acquire(context, group, operation, owner, lease)
            if operation != cls.BOOT:
                cls._ask_to_give_way(context, group)
            time.sleep(PAUSE)
        raise exception.GroupBusy(group=group.uuid)

    @classmethod
    def _ask_to_give_way(cls, context, group):
        db.compare_and_set(
            context,
            models.Intent,
            models.Intent.group_id == group.id,
            models.Intent.operation == cls.BOOT,
            operation=cls.YIELD,
        )

    @classmethod
    @faultpoints.around('intent.acquire')
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

    def give_way(self, context, group, lease):
        """Let those have the group who wait for it, and get it back.

        :param group: VRTGroup that is booted
        :raises: as acquire() does; then it is not owned any more
        """
        if not db.count(
            context,
            models.Intent,
            models.Intent.uuid == self.uuid,
            models.Intent.operation == self.YIELD,
        ):
            return
        self.fulfil(context)
        # They look whether it is free once in each PAUSE.
        time.sleep(2 * PAUSE)
        again = self.acquire(
            context, group, self.BOOT, self.owner, lease, LONG_PATIENCE
        )
        self.id, self.uuid = again.id, again.uuid

    @faultpoints.around('intent.fulfil')
    def fulfil(self, context):
        """The operation is done, or undone: the group is free again."""
        db.delete(context, models.Intent, models.Intent.uuid == self.uuid)
