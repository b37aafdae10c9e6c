# SPDX-License-Identifier: Apache-2.0
"""Leases of a planner: kept by heartbeats, taken over from others."""

import datetime
import subprocess

import fixtures as fixture
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.objects import planners
from nova_groupext.scheduler import process_names
from nova_groupext.scheduler.protocol import leases
from tests import fixtures
from tests.unit.objects import base


class TestProcess(base.GroupTestCase):
    def test_process_is_gone_once_it_has_ended(self):
        process = subprocess.Popen(['sleep', '60'])
        name = process_names.own().split('/')
        began = process_names._start_time(f'{process.pid}')
        name = '/'.join((*name[:2], f'{process.pid}', began))
        self.assertFalse(process_names.is_gone(name))
        self.assertFalse(process_names.is_gone(process_names.own()))
        self.assertEqual(process.pid, process_names.pid_of(name))

        process.kill()
        process.wait()

        self.assertTrue(process_names.is_gone(name))

    def test_process_whose_pid_is_reused_is_gone(self):
        boot, namespace, pid, began = process_names.own().split('/')

        self.assertTrue(
            process_names.is_gone(f'{boot}/{namespace}/{pid}/{int(began) - 1}')
        )

    def test_process_of_another_container_is_not_gone(self):
        boot, _namespace, _pid, _began = process_names.own().split('/')

        self.assertFalse(process_names.is_gone(f'{boot}/pid:[1]/1/1'))

    def test_process_from_before_a_reboot_is_gone(self):
        self.assertTrue(process_names.is_gone('another/pid:[1]/1/1'))


class TestLeases(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock())
        self.group = self.create()
        self.planner, self.other_planner = (
            leases.Leases('ctl-1'),
            leases.Leases('ctl-1'),
        )
        for each in (self.planner, self.other_planner):
            each.beat(self.context)

    def acquire(self, planner, wakes_owner=False):
        return planner.acquire(
            self.context, self.group.id, wakes_owner=wakes_owner
        )

    def end_process(self, planner):
        """Store a planner as one of a process that has ended."""
        own = process_names.own()
        planner._planner.process = own.rpartition('/')[0] + '/1'
        planner._planner.remove(self.context)
        planner._planner.store_heartbeat(self.context)

    def test_heartbeat_keeps_leases_in_use(self):
        lease = self.acquire(self.planner)

        self.planner.beat(self.context)

        self.assertIsNone(self.acquire(self.other_planner))
        lease.renew(self.context)

    def test_heartbeat_ends_leases_that_are_not_in_use(self):
        self.planner.drop(self.acquire(self.planner))

        self.planner.beat(self.context)

        self.assertIsNotNone(self.acquire(self.other_planner))

    def test_planner_without_a_lease_has_no_operation(self):
        self.acquire(self.planner)
        self.acquire(self.other_planner, wakes_owner=True)

        self.assertEqual(set(), self.other_planner._operations)

    def test_lease_of_a_gone_process_is_taken_over_at_once(self):
        self.end_process(self.planner)
        self.acquire(self.planner)

        self.assertIsNotNone(self.acquire(self.start()))

    def test_planner_takes_over_as_soon_as_it_has_a_heartbeat(self):
        self.end_process(self.planner)
        self.acquire(self.planner)
        new = leases.Leases('ctl-1', is_registered=False)
        with fixture.MockPatchObject(
            planners.VRTPlanner, 'store_heartbeat', side_effect=db_exc.DBError
        ):
            self.assertRaises(db_exc.DBError, new.beat, self.context)

        new.beat(self.context)

        self.assertIsNotNone(self.acquire(new))

    def start(self):
        """Return a new planner on the host after its first heartbeat."""
        new = leases.Leases('ctl-1', is_registered=False)
        new.beat(self.context)
        return new

    def test_lease_of_a_running_process_is_not_taken_over(self):
        self.acquire(self.planner)

        self.assertIsNone(self.acquire(self.start()))

    def test_lease_of_a_process_on_another_host_is_not_taken_over(self):
        remote_planner = leases.Leases('ctl-2')
        self.end_process(remote_planner)
        self.acquire(remote_planner)

        self.assertIsNone(self.acquire(self.start()))

    def test_lease_of_a_silent_planner_is_taken_over_later(self):
        CONF.set_override('operation_lease', 300, 'vrt')
        self.addCleanup(CONF.clear_override, 'operation_lease', 'vrt')
        self.acquire(self.planner)
        timeutils.advance_time_seconds(29)
        self.other_planner.beat(self.context)
        self.assertIsNone(self.acquire(self.other_planner))
        timeutils.advance_time_seconds(2)

        self.other_planner.beat(self.context)

        self.assertIsNotNone(self.acquire(self.other_planner))

    def test_planner_after_an_outage_takes_over_no_lease_at_first(self):
        """The database was unreachable: no heartbeat could be stored."""
        self.acquire(self.planner)
        timeutils.advance_time_seconds(60)

        self.other_planner.beat(self.context)
        self.assertIsNone(self.acquire(self.other_planner))
        for _beat in range(planners.MAX_MISSED_HEARTBEATS - 1):
            timeutils.advance_time_seconds(5)
            self.other_planner.beat(self.context)
        self.assertIsNone(self.acquire(self.other_planner))
        self.other_planner.beat(self.context)

        self.assertIsNotNone(self.acquire(self.other_planner))

    def reapers(self):
        """Return those of the two planners that run the reaper's rounds."""
        return [
            each
            for each in (self.planner, self.other_planner)
            if each.is_reaper(self.context)
        ]

    def test_both_run_rounds_until_the_first_has_ended_one(self):
        self.other_planner.end_round(self.context)
        self.assertEqual([self.planner, self.other_planner], self.reapers())

        self.planner.end_round(self.context)

        self.assertEqual([self.planner], self.reapers())

    def test_planner_without_rounds_is_replaced(self):
        self.planner.end_round(self.context)
        interval = CONF.vrt.reap_interval

        timeutils.advance_time_seconds(
            planners.MAX_MISSED_ROUNDS * interval + 1
        )

        self.assertEqual([self.planner, self.other_planner], self.reapers())

    def test_ended_planner_is_replaced(self):
        self.planner.end_round(self.context)

        self.planner.end(self.context)

        self.assertIn(self.other_planner, self.reapers())

    def test_heartbeat_keeps_leases_acquired_meanwhile(self):
        operations = objects.VRTLease.list_operations

        def read(context, owner):
            found = operations(context, owner)
            self.acquire(self.planner)
            return found

        with fixture.MockPatchObject(
            objects.VRTLease, 'list_operations', read
        ):
            self.planner.beat(self.context)

        self.assertIsNone(self.acquire(self.other_planner))

    def own_while_wanted(self, **kwargs):
        """Own the lease while another planner asks for the group once."""
        with self.planner.owning(
            self.context, None, self.group.id, **kwargs
        ) as lease:
            self.assertIsNotNone(lease)
            self.assertIsNone(self.acquire(self.other_planner, True))

    def test_owner_serves_a_group_that_another_planner_asks_for(self):
        served = []

        self.own_while_wanted(serve=served.append)

        self.assertEqual(1, len(served))
        self.assertIsNotNone(self.acquire(self.other_planner))

    def test_owner_that_does_not_serve_leaves_the_group_free(self):
        self.own_while_wanted()

        self.assertIsNotNone(self.acquire(self.other_planner))

    def test_ended_planner_leaves_no_lease_and_no_row(self):
        self.acquire(self.planner)

        self.planner.end(self.context)

        self.assertIsNotNone(self.acquire(self.other_planner))
        [row] = objects.VRTPlanner.list_rows(self.context)
        self.assertEqual(self.other_planner._planner.uuid, row.uuid)


class TestClock(base.GroupTestCase):
    def test_clock_offset_to_the_database_is_stored(self):
        planner = leases.Leases('ctl-1')
        for ahead in (-600, 600):
            now = timeutils.utcnow()
            timeutils.set_time_override(
                now + datetime.timedelta(seconds=ahead)
            )
            self.addCleanup(timeutils.clear_time_override)

            planner.beat(self.context)

            timeutils.clear_time_override()
            [row] = objects.VRTPlanner.list_rows(self.context)
            self.assertEqual(-ahead, round(row.clock_offset, -1))
