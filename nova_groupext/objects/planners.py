# SPDX-License-Identifier: Apache-2.0
"""A planner: a process that stores a heartbeat every few seconds."""

from typing import Self

from nova.context import RequestContext
from oslo_versionedobjects import base as ovo
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects.lease import VRTLease

NO_PLANNER = 'No planner is running; planning starts when one does.'

# Number of missed heartbeats after which a planner counts as dead.
MAX_MISSED_HEARTBEATS = 6

# Number of rounds after which another planner's reaper runs as well.
MAX_MISSED_ROUNDS = 3


@ovo.VersionedObjectRegistry.register
class VRTPlanner(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.Planner

    fields = base.fields_of(models.Planner)

    def store_heartbeat(self, context: RequestContext) -> None:
        """Store a heartbeat of the planner.

        Its row is inserted again if another process has deleted it.
        """
        values = {
            'clock_offset': self.clock_offset,
            'heartbeat_at': clock.now(),
        }
        if not self.update_rows(context, self._is_own(), **values):
            row = {**self.column_values(), **values}
            db.insert(context, models.Planner, **row)

    def remove(self, context: RequestContext) -> None:
        """Delete a dead planner and end its leases; others take them over."""
        VRTLease.end_all(context, VRTLease.list_operations(context, self.uuid))
        db.delete(context, models.Planner, self._is_own())

    def end_round(self, context: RequestContext) -> None:
        """Store that the planner ends a complete round of its reaper now."""
        self.update_rows(context, self._is_own(), round_ended_at=clock.now())

    def is_reaper(self, context: RequestContext, interval: float) -> bool:
        """Check whether the planner's reaper has to run.

        That of the planner that was registered first runs for all. If it has
        completed no round for some intervals, others run as well: each of them
        can, at any time.

        :param interval: seconds between two rounds
        """
        own_id = sa.select(models.Planner.id).where(self._is_own())
        return not db.count(
            context,
            models.Planner,
            models.Planner.id < own_id.scalar_subquery(),
            models.Planner.round_ended_at
            >= clock.now(-MAX_MISSED_ROUNDS * interval),
        )

    @classmethod
    def list_by_host(cls, context: RequestContext, host: str) -> list[Self]:
        return cls.list_rows(context, models.Planner.host == host)

    @classmethod
    def list_dead(cls, context: RequestContext, interval: float) -> list[Self]:
        """Return the planners without a recent heartbeat.

        :param interval: seconds between two heartbeats
        """
        return cls.list_rows(context, ~_is_alive(interval))

    def is_dead(self, context: RequestContext, interval: float) -> bool:
        """Check whether the planner counts as dead."""
        is_dead = (self._is_own(), ~_is_alive(interval))
        return bool(db.count(context, models.Planner, *is_dead))

    @staticmethod
    def is_any_alive(context: RequestContext, interval: float) -> bool:
        """Check whether any planner has a recent heartbeat."""
        return bool(db.count(context, models.Planner, _is_alive(interval)))

    def _is_own(self) -> Condition:
        return models.Planner.uuid == self.uuid


def _is_alive(interval: float) -> Condition:
    return models.Planner.heartbeat_at >= clock.now(
        -MAX_MISSED_HEARTBEATS * interval
    )
