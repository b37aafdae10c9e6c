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

    def test_each_is_told_with_what_it_works_on(self):
        planner = running.heard(self.context, clock_offset=0.25)
        group = groups.described()
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

    def test_one_that_is_silent_is_wrong(self):
        running.heard(self.context)
        timeutils.advance_time_seconds(31)

        status, [planner] = self.listed()

        self.assertEqual(3, status)
        self.assertEqual(['it was not heard of for 31 s'], planner['wrong'])
        status, out, _err = self.run_it('planners')
        self.assertEqual(3, status)
        self.assertIn('not heard of', out)

    def test_that_there_is_none_is_wrong(self):
        status, out, _err = self.run_it('planners')

        self.assertEqual(3, status)
        self.assertIn('No planner runs', out)

    def test_without_tables_it_says_what_to_do(self):
        self.assertIn(
            'db sync',
            self.mistake(
                'planners', database='connection = sqlite:///{}/other.sqlite'
            ),
        )
