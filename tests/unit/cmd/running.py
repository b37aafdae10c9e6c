# SPDX-License-Identifier: Apache-2.0
"""Planners as other processes see them: rows."""

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.db import migration
from nova_groupext.scheduler import process_names


def heard(context, **values):
    """Return a planner of which something was just heard."""
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
    planner.beat(context)
    return planner
