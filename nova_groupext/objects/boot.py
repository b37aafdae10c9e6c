# SPDX-License-Identifier: Apache-2.0
"""A boot: the creation of a group's servers, one after another.

The row stores the progress and prevents a concurrent boot. The token and the
templates of the request are not stored: a boot ends with its nova-api process,
and a later request creates the remaining servers.
"""

from collections.abc import Collection
from typing import Self

from nova.context import RequestContext
from oslo_db import exception as db_exc
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects import sql_conditions
from nova_groupext.objects.group import VRTGroup

BOOTING, DONE, STOPPED = 'booting', 'done', 'stopped'

# Maximum seconds for the creation of one server: a boot without a heartbeat
# for longer counts as abandoned.
HEARTBEAT_TIMEOUT = 120


@ovo.VersionedObjectRegistry.register
class VRTBoot(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.Boot

    fields = base.fields_of(
        models.Boot,
        status=fields.EnumField((BOOTING, DONE, STOPPED)),
        # True without a heartbeat for longer than HEARTBEAT_TIMEOUT seconds
        is_abandoned=fields.BooleanField(),
    )

    @classmethod
    def start(
        cls,
        context: RequestContext,
        group: VRTGroup,
        request_id: str,
        generation: int | None = None,
    ) -> Self:
        """Start to boot a group, unless another request is doing so.

        :param generation: expected one of the group, None for any
        :raises: GroupBooting, GroupNotFound, GenerationConflict
        """
        values = {
            'group_id': group.id,
            'request_id': request_id,
            'status': BOOTING,
            'missing': 0,
            'created': 0,
            'faults': {},
        }

        def work() -> bool:
            _check_unchanged(context, group, generation)
            _delete_ended(context, group)
            db.insert(context, models.Boot, heartbeat_at=clock.now(), **values)
            return True

        try:
            is_started = db.with_row_lock(
                context, models.Group, work, id=group.id
            )
        except db_exc.DBDuplicateEntry as exc:
            raise exception.GroupBooting(group=group.uuid) from exc
        if not is_started:
            raise exception.GroupNotFound(group=group.uuid)
        boot = cls(context, **values)
        boot.obj_reset_changes()
        return boot

    @classmethod
    def by_group(
        cls, context: RequestContext, group_ids: Collection[int]
    ) -> dict[int, Self]:
        """Return the boots by group id, of the groups that have one."""
        rows = db.find_columns(
            context,
            [models.Boot, _is_abandoned()],
            models.Boot,
            models.Boot.group_id.in_(group_ids),
        )
        return {
            row.group_id: cls.from_row(
                context, row, is_abandoned=bool(is_abandoned)
            )
            for row, is_abandoned in rows
        }

    def store_progress(self, context: RequestContext) -> None:
        """Store the progress and a heartbeat.

        :raises: BootTakenOver when another boot has replaced this one after
            too long a silence, or when the group was deleted
        """
        self._update(context)

    def finish(
        self, context: RequestContext, status: str, fault: str | None = None
    ) -> None:
        """Store the result of the boot.

        :raises: BootTakenOver as store_progress() does
        """
        self.status, self.fault = status, fault
        self._update(context)

    def _update(self, context: RequestContext) -> None:
        if not self.update_rows(
            context,
            models.Boot.group_id == self.group_id,
            models.Boot.request_id == self.request_id,
            models.Boot.status == BOOTING,
            heartbeat_at=clock.now(),
            **self.obj_get_changes(),
        ):
            raise exception.BootTakenOver(request=self.request_id)
        self.obj_reset_changes()


def _check_unchanged(
    context: RequestContext, group: VRTGroup, generation: int | None
) -> None:
    is_unchanged = (
        models.Group.id == group.id,
        *sql_conditions.has_generation(generation),
    )
    if not db.count(context, models.Group, *is_unchanged):
        raise exception.GenerationConflict(group=group.uuid)


def _delete_ended(context: RequestContext, group: VRTGroup) -> None:
    """Delete an earlier boot of a group that has ended or is abandoned."""
    db.delete(
        context,
        models.Boot,
        models.Boot.group_id == group.id,
        (models.Boot.status != BOOTING) | _is_abandoned(),
    )


def _is_abandoned() -> Condition:
    """Return the condition that the process of a boot may have ended."""
    return models.Boot.heartbeat_at < clock.now(-HEARTBEAT_TIMEOUT)
