# SPDX-License-Identifier: Apache-2.0
"""A planner: a process that says every few seconds that it is there."""

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects.lease import VRTLease

# Beats that a planner misses before it is taken for dead.
MISSED = 6


@ovo.VersionedObjectRegistry.register
class VRTPlanner(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'uuid': fields.UUIDField(),
        'host': fields.StringField(),
        # Names the process as no other of the host; see scheduler/process.py.
        'process': fields.StringField(),
        # Of the tables that its release works with.
        'revision': fields.StringField(),
        # Seconds by which the database's clock is ahead of its own.
        'clock_offset': fields.FloatField(),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        # When it was heard of last.
        'heard_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    def beat(self, context):
        """Say that the planner is there.

        Also one that was taken for dead, and was only slow.
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
        """Forget a planner that is gone, and let others take its work."""
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
        """Return the planners that were not heard of for too long.

        :param interval: seconds between two beats
        """
        return cls.list(context, ~_is_heard(interval))

    def is_silent(self, context, interval):
        """Check whether others may take it for dead."""
        own = models.Planner.uuid == self.uuid
        return bool(
            db.count(context, models.Planner, own, ~_is_heard(interval))
        )

    @staticmethod
    def is_any_heard(context, interval):
        """Check whether a planner runs, as far as that is known."""
        return bool(db.count(context, models.Planner, _is_heard(interval)))


def _is_heard(interval):
    return models.Planner.heard_at >= clock.now(-MISSED * interval)
