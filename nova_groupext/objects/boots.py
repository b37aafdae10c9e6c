# SPDX-License-Identifier: Apache-2.0
"""A boot: a request that creates the servers of a group, one after another.

Two at once would create them twice. It keeps nobody else off the group:
planners find other places for its servers meanwhile, if need be.
"""

import contextlib
import time

from oslo_db import exception as db_exc

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models

# Seconds that the creation of one server takes at most.
LONGEST = 300

# A request looks so often, and after so many seconds, whether another one is
# done.
PATIENCE, PAUSE = 20, 0.25


class Boot:
    """Keeps other requests from booting a group.

    :param group: VRTGroup
    :param request: what tells the request from others
    """

    def __init__(self, context, group, request):
        self._context = context
        self._group = group
        self._request = request

    @contextlib.contextmanager
    def alone(self):
        """Boot nothing that another request boots.

        Waits a little for that one to end.

        :raises: GroupBusy
        """
        for _attempt in range(PATIENCE):
            if self._begin():
                break
            time.sleep(PAUSE)
        else:
            raise exception.GroupBusy(group=self._group.uuid)
        try:
            yield
        finally:
            db.delete(self._context, models.Boot, self._own())

    def _begin(self):
        over = models.Boot.ends_at < clock.now()
        group = models.Boot.group_id == self._group.id
        db.delete(self._context, models.Boot, group, over)
        try:
            db.insert(
                self._context,
                models.Boot,
                group_id=self._group.id,
                request=self._request,
                ends_at=clock.now(LONGEST),
            )
        except db_exc.DBDuplicateEntry:
            return False
        except db_exc.DBReferenceError as exc:
            raise exception.GroupNotFound(group=self._group.uuid) from exc
        return True

    def go_on(self):
        """Take as long for the next server.

        :raises: GroupBusy when another has begun, as this took too long
        """
        if not db.compare_and_set(
            self._context,
            models.Boot,
            self._own(),
            ends_at=clock.now(LONGEST),
        ):
            raise exception.GroupBusy(group=self._group.uuid)

    def _own(self):
        return models.Boot.request == self._request
