# SPDX-License-Identifier: Apache-2.0
"""A planner: a process that stores a heartbeat every few seconds."""

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects.lease import VRTLease

# Heartbeats that a planner misses before it counts as dead.
MISSED = 6


@ovo.VersionedObjectRegistry.register
class VRTPlanner(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'uuid': fields.UUIDField(),
        'host': fields.StringField(),
        # Unique on the host; see scheduler/process_names.py
        'process': fields.StringField(),
        # Database revision that its release needs
        'revision': fields.StringField(),
        # Seconds by which the database's clock is ahead of its own
        'clock_offset': fields.FloatField(),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        # Time of the last heartbeat
        'heard_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    def beat(self, context):
        """Store a heartbeat of the planner.

        Its row is inserted again if another process has deleted it.
        """
        values = {
            'clock_offset': self.clock_offset,
            'heard_at': clock.now(),
        }
        own = models.Planner.uuid == self.uuid
        if not db.compare_and_set(context, models.Planner, own, **values):
            row = {**self.columns(models.Planner), **values}
            db.insert(context, models.Planner, **row)

    def forget(self, context):
        """Delete a dead planner and end its leases; others take them over."""
        VRTLease.end(context, VRTLease.operations(context, self.uuid))
        own = models.Planner.uuid == self.uuid
        db.delete(context, models.Planner, own)

    @classmethod
    def list(cls, context, *conditions):
        rows = db.find(context, models.Planner, *conditions)
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def list_by_host(cls, context, host):
        return cls.list(context, models.Planner.host == host)

    @classmethod
    def list_silent(cls, context, interval):
        """Return the planners without a recent heartbeat.

        :param interval: seconds between two heartbeats
        """
        return cls.list(context, ~_is_heard(interval))

    def is_silent(self, context, interval):
        """Check whether the planner counts as dead."""
        own = models.Planner.uuid == self.uuid
        return bool(
            db.count(context, models.Planner, own, ~_is_heard(interval))
        )

    @staticmethod
    def is_any_heard(context, interval):
        """Check whether any planner has a recent heartbeat."""
        return bool(db.count(context, models.Planner, _is_heard(interval)))


def _is_heard(interval):
    return models.Planner.heard_at >= clock.now(-MISSED * interval)
