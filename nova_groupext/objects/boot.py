# SPDX-License-Identifier: Apache-2.0
"""A boot: the creation of a group's servers, one after another.

The row stores the progress and prevents a concurrent boot. The token and the
templates of the request are not stored: a boot ends with its nova-api process,
and a later request creates the remaining servers.
"""

from oslo_db import exception as db_exc
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import conditions

BOOTING, DONE, STOPPED = 'booting', 'done', 'stopped'

# Maximum seconds for the creation of one server: a boot without a heartbeat
# for longer counts as abandoned.
LONGEST = 120


@ovo.VersionedObjectRegistry.register
class VRTBoot(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'group_id': fields.IntegerField(),
        # Id of the request to create the servers
        'request': fields.StringField(),
        'status': fields.EnumField((BOOTING, DONE, STOPPED)),
        # Number of servers that were missing at the start, and number created
        # since
        'missing': fields.IntegerField(),
        'created': fields.IntegerField(),
        # {path of a member: reason why its server could not be created}
        'faults': base.JsonField(),
        # Reason why the boot was stopped
        'fault': fields.StringField(nullable=True),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'updated_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        # True without a heartbeat for longer than LONGEST seconds
        'is_left': fields.BooleanField(),
    }

    @classmethod
    def begin(cls, context, group, request, seen=None):
        """Start to boot a group, unless another request is doing so.

        :param group: VRTGroup
        :param seen: expected generation of the group, None for any
        :returns: VRTBoot
        :raises: GroupBooting, GroupNotFound, GenerationConflict
        """
        begun = {
            'group_id': group.id,
            'request': request,
            'status': BOOTING,
            'missing': 0,
            'created': 0,
            'faults': {},
        }

        def work():
            own = models.Group.id == group.id
            is_seen = conditions.is_as(seen)
            if not db.count(context, models.Group, own, *is_seen):
                raise exception.GenerationConflict(group=group.uuid)
            db.delete(
                context,
                models.Boot,
                models.Boot.group_id == group.id,
                (models.Boot.status != BOOTING) | _is_left(),
            )
            db.insert(context, models.Boot, heard_at=clock.now(), **begun)
            return True

        try:
            is_begun = db.with_row_lock(
                context, models.Group, work, id=group.id
            )
        except db_exc.DBDuplicateEntry as exc:
            raise exception.GroupBooting(group=group.uuid) from exc
        if not is_begun:
            raise exception.GroupNotFound(group=group.uuid)
        boot = cls(context, **begun)
        boot.obj_reset_changes()
        return boot

    @classmethod
    def of_groups(cls, context, group_ids):
        """Return {group id: VRTBoot} for the groups that have one."""
        found = db.find_columns(
            context,
            [models.Boot, _is_left()],
            models.Boot,
            models.Boot.group_id.in_(group_ids),
        )
        return {
            row.group_id: cls.from_row(context, row, is_left=bool(is_left))
            for row, is_left in found
        }

    def go_on(self, context):
        """Store the progress and a heartbeat.

        :raises: BootTakenOver when another boot has replaced this one after
            too long a silence, or when the group was deleted
        """
        self._write(context)

    def end(self, context, status, fault=None):
        """Store the result of the boot.

        :raises: BootTakenOver as go_on() does
        """
        self.status, self.fault = status, fault
        self._write(context)

    def _write(self, context):
        if not db.compare_and_set(
            context,
            models.Boot,
            models.Boot.group_id == self.group_id,
            models.Boot.request == self.request,
            models.Boot.status == BOOTING,
            heard_at=clock.now(),
            **self.obj_get_changes(),
        ):
            raise exception.BootTakenOver(request=self.request)
        self.obj_reset_changes()


def _is_left():
    """Return the condition that the process of a boot may have ended."""
    return models.Boot.heard_at < clock.now(-LONGEST)
