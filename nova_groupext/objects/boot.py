# SPDX-License-Identifier: Apache-2.0
"""A boot: the creation of the servers of a group, one after another.

The row tells how far it has come, and keeps a second one away. What only the
request has, its token and its templates, is not stored: a boot goes on for as
long as the nova-api that took it, and another one does what it has left.
"""

from oslo_db import exception as db_exc
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base

BOOTING, DONE, STOPPED = 'booting', 'done', 'stopped'

# Seconds that the creation of one server takes at most: a boot that was not
# heard of for so long is taken for left.
LONGEST = 120


@ovo.VersionedObjectRegistry.register
class VRTBoot(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'group_id': fields.IntegerField(),
        # Id of the request that wants the servers.
        'request': fields.StringField(),
        'status': fields.EnumField((BOOTING, DONE, STOPPED)),
        # The boot found so many servers missing, and created so many of them.
        'missing': fields.IntegerField(),
        'created': fields.IntegerField(),
        # {path of a member: why its server could not be created}
        'faults': base.JsonField(),
        # Why it was stopped.
        'fault': fields.StringField(nullable=True),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'updated_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        # Its process has been silent for longer than LONGEST.
        'is_left': fields.BooleanField(),
    }

    @classmethod
    def begin(cls, context, group, request):
        """Begin to boot a group, unless another request does.

        :param group: VRTGroup
        :returns: VRTBoot
        :raises: GroupBooting, GroupNotFound
        """
        own = models.Boot.group_id == group.id
        is_over = (models.Boot.status != BOOTING) | _is_left()
        db.delete(context, models.Boot, own, is_over)
        begun = {
            'group_id': group.id,
            'request': request,
            'status': BOOTING,
            'missing': 0,
            'created': 0,
            'faults': {},
        }
        try:
            db.insert(context, models.Boot, heard_at=clock.now(), **begun)
        except db_exc.DBDuplicateEntry as exc:
            raise exception.GroupBooting(group=group.uuid) from exc
        except db_exc.DBReferenceError as exc:
            raise exception.GroupNotFound(group=group.uuid) from exc
        boot = cls(context, **begun)
        boot.obj_reset_changes()
        return boot

    @classmethod
    def of_groups(cls, context, group_ids):
        """Return {group id: VRTBoot} of those groups that have one."""
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
        """Write down how far it has come, and take as long again.

        :raises: BootTakenOver when another has begun, as this took too long,
            or when the group was forgotten
        """
        self._write(context)

    def end(self, context, status, fault=None):
        """Write down how it ended; not if it was taken over."""
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
    """The condition on a boot that its process may have ended."""
    return models.Boot.heard_at < clock.now(-LONGEST)
