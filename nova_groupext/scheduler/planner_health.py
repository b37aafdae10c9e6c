# SPDX-License-Identifier: Apache-2.0
"""Health report of all planners."""

import datetime

from nova_groupext.db import api as db
from nova_groupext.db import migration
from nova_groupext.objects import planners
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.scheduler import process_names

SECOND = datetime.timedelta(seconds=1)

NO_PLANNER = planners.NO_PLANNER
SILENT = 'it has sent no heartbeat for {} s'
REVISION = 'it expects tables of revision {}, but they are at {}'
CLOCK = 'its clock differs by {:+.1f} s from that of the database'


def read(context, options):
    """Return the state of all planners.

    :param options: of section ``[vrt]``
    :returns: [{column: value}]; ``heard`` is the seconds since the last
        heartbeat, ``clock`` by how many seconds the planner's is ahead of the
        database's, ``groups`` the number of its leases, and ``wrong`` a list
        of phrases
    """
    # First: its errors name a wrong option of the database.
    revision = migration.version()
    now = db.time(context)
    leases = VRTLease.count_by_owner(context)
    return [
        {
            'host': planner.host,
            'pid': process_names.pid_of(planner.process),
            'heard': round((now - planner.heartbeat_at) / SECOND),
            'clock': round(-planner.clock_offset, 1),
            'groups': leases.get(planner.uuid, 0),
            'wrong': [*_find_problems(planner, now, revision, options)],
        }
        for planner in VRTPlanner.list_rows(context)
    ]


def _find_problems(planner, now, revision, options):
    heard = (now - planner.heartbeat_at) / SECOND
    if heard > planners.MAX_MISSED_HEARTBEATS * options.heartbeat_interval:
        yield SILENT.format(round(heard))
    if planner.revision != revision:
        yield REVISION.format(planner.revision, revision)
    # The database's clock decides; logs and keystone use the planner's own.
    if abs(planner.clock_offset) > options.operation_lease / 10:
        yield CLOCK.format(-planner.clock_offset)
