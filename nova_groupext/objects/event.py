# SPDX-License-Identifier: Apache-2.0
"""Recent events of a group: requests by users, and their results."""

import collections
from collections.abc import Collection
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_versionedobjects import base as ovo

from nova_groupext.db import api as db
from nova_groupext.db import database_errors
from nova_groupext.db import models
from nova_groupext.objects import base

LOG = logging.getLogger(__name__)

# Number of events stored per group
MAX_EVENTS = 20


@ovo.VersionedObjectRegistry.register
class VRTEvent(base.VRTObject):
    """A request about a group, or a change by time or a planner."""

    VERSION = '1.0'
    MODEL = models.Event

    fields = base.fields_of(models.Event)

    @classmethod
    def record_request(
        cls, context: RequestContext, group_id: int, name: str
    ) -> None:
        """Store an accepted request.

        :param context: of the request
        """
        cls._store(
            context,
            group_id=group_id,
            name=name,
            request_id=context.request_id,
            user_id=context.user_id,
            project_id=context.project_id,
        )

    @classmethod
    def record_change(
        cls,
        context: RequestContext,
        group_id: int,
        name: str,
        message: str | None = None,
    ) -> None:
        """Store a result of requests, or of time.

        Planners work on many groups with one context, so its request id and
        its user are not stored.
        """
        cls._store(context, group_id=group_id, name=name, message=message)

    @classmethod
    def by_group(
        cls, context: RequestContext, group_ids: Collection[int]
    ) -> dict[int, list[Self]]:
        """Return the events by group id, the newest first."""
        events = collections.defaultdict(list)
        is_of_group = models.Event.group_id.in_(group_ids)
        newest_first = (models.Event.id.desc(),)
        for event in cls.list_rows(context, is_of_group, order=newest_first):
            events[event.group_id].append(event)
        return events

    @staticmethod
    def _store(
        context: RequestContext, group_id: int, name: str, **values: Any
    ) -> None:
        """Insert an event and delete old ones; log database errors.

        The change that the event reports was made, so a failure must not break
        the caller.
        """
        is_own = models.Event.group_id == group_id
        try:
            db.insert(
                context, models.Event, group_id=group_id, name=name, **values
            )
            ids = db.find_columns(
                context, [models.Event.id], models.Event, is_own
            )
            excess = sorted(row_id for (row_id,) in ids)[:-MAX_EVENTS]
            if excess:
                db.delete(context, models.Event, models.Event.id.in_(excess))
        except db_exc.DBReferenceError:
            LOG.info(
                'Event %s was not stored: its group was deleted meanwhile.',
                name,
            )
        except database_errors.ANY:
            LOG.exception(
                'Event %s of a group could not be stored; it is dropped.', name
            )
