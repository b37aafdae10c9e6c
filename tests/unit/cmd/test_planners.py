# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-manage planners, as an operator types it."""

import json
import os

from nova import context
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from tests import fixtures
from tests import groups
from tests.unit.cmd import running
from tests.unit.cmd import test_manage


class TestPlanners(test_manage.ManageCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock())
        self.context = context.get_admin_context()
        self.assertEqual(0, self.run_it('db', 'sync')[0])

    def listed(self):
        """Return (exit status, planners)."""
        status, out, err = self.run_it('planners', '--json')
        self.assertEqual('', err)
        return status, json.loads(out)

    def test_running_planner_is_listed_with_its_groups(self):
        planner = running.create_planner(self.context, clock_offset=0.25)
        group = groups.unstored()
        group.create(self.context)
        objects.VRTLease.acquire(
            *(self.context, group.id, planner.uuid),
            *(uuidutils.generate_uuid(), 60),
        )
        timeutils.advance_time_seconds(3)

        self.assertEqual(
            (
                0,
                [
                    {
                        'host': 'ctl-1',
                        'pid': os.getpid(),
                        'heard': 3,
                        'clock': -0.2,
                        'groups': 1,
                        'wrong': [],
                    }
                ],
            ),
            self.listed(),
        )
        status, out, _err = self.run_it('planners')
        self.assertEqual(0, status)
        self.assertIn('ctl-1', out)

    def test_silent_planner_is_reported_as_wrong(self):
        running.create_planner(self.context)
        timeutils.advance_time_seconds(31)

        status, [planner] = self.listed()

        self.assertEqual(3, status)
        self.assertEqual(
            ['it has sent no heartbeat for 31 s'], planner['wrong']
        )
        status, out, _err = self.run_it('planners')
        self.assertEqual(3, status)
        self.assertIn('no heartbeat', out)

    def test_absence_of_planners_is_reported_as_wrong(self):
        status, out, _err = self.run_it('planners')

        self.assertEqual(3, status)
        self.assertIn('No planner is running', out)

    def test_missing_tables_are_reported_with_the_remedy(self):
        self.assertIn(
            'db sync',
            self.mistake(
                'planners', database='connection = sqlite:///{}/other.sqlite'
            ),
        )
