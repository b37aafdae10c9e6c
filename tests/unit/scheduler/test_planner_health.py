# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/planner_health.py``."""

import os

from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.scheduler import planner_health
from tests.unit.scheduler import base


class TestPlannerHealth(base.ProtocolTestCase):
    """A planner that sends a heartbeat, and has the lease of a group."""

    def setUp(self):
        super().setUp()
        uuid, _provider = self.held()
        self.leases = self.deployment.leases()
        self.leases.beat(self.context)
        self.leases.acquire(
            self.context, self.deployment.group(uuid).id, wakes_owner=False
        )

    def read(self, **values):
        """Return the planner's row, with changed columns."""
        if values:
            db.compare_and_set(self.context, models.Planner, **values)
        [row] = planner_health.read(self.context, CONF.vrt)
        return row

    def test_planner_that_works_has_no_problem(self):
        self.sleep(4)

        row = self.read()

        self.assertEqual(
            ('another', os.getpid(), 4, 1, []),
            (
                *(row['host'], row['pid'], row['heard']),
                *(row['groups'], row['wrong']),
            ),
        )

    def test_planner_without_heartbeats_is_silent(self):
        self.sleep(6 * CONF.vrt.heartbeat_interval)
        self.assertEqual([], self.read()['wrong'])
        self.sleep(1)

        self.assertEqual(
            [planner_health.SILENT.format(31)], self.read()['wrong']
        )

    def test_planner_of_another_release_is_named(self):
        [problem] = self.read(revision='abc')['wrong']

        self.assertIn('abc', problem)

    def test_clock_that_differs_is_named(self):
        limit = CONF.vrt.operation_lease / 10
        self.assertEqual([], self.read(clock_offset=limit)['wrong'])

        row = self.read(clock_offset=-limit - 1)

        self.assertEqual(limit + 1, row['clock'])
        self.assertEqual(
            [planner_health.CLOCK.format(limit + 1)], row['wrong']
        )
