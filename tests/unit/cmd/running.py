# SPDX-License-Identifier: Apache-2.0
"""Rows of running planners."""

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.db import migration
from nova_groupext.scheduler import process_names


def create_planner(context, **values):
    """Return a planner that has just sent a heartbeat."""
    planner = objects.VRTPlanner(
        **{
            'uuid': uuidutils.generate_uuid(),
            'host': 'ctl-1',
            'process': process_names.own(),
            'revision': migration.head(),
            'clock_offset': 0.0,
            **values,
        }
    )
    planner.store_heartbeat(context)
    return planner
