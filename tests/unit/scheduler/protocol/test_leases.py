# SPDX-License-Identifier: Apache-2.0
"""Does a planner work on with what it has, and take over what others left?"""

import datetime
import subprocess

import fixtures as fixture
from oslo_utils import timeutils

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.objects import planners
from nova_groupext.scheduler import process_names
from nova_groupext.scheduler.protocol import leases
from tests import fixtures
from tests.unit.objects import base


class TestProcess(base.GroupCase):
    def test_it_is_there_until_it_has_ended(self):
        other = subprocess.Popen(['sleep', '60'])
        name = process_names.own().split('/')
        began = process_names._began(f'{other.pid}')
        name = '/'.join((*name[:2], f'{other.pid}', began))
        self.assertFalse(process_names.is_gone(name))
        self.assertFalse(process_names.is_gone(process_names.own()))
        self.assertEqual(other.pid, process_names.pid_of(name))

        other.kill()
        other.wait()

        self.assertTrue(process_names.is_gone(name))

    def test_another_process_with_its_pid_is_not_the_same(self):
        boot, namespace, pid, began = process_names.own().split('/')

        self.assertTrue(
            process_names.is_gone(f'{boot}/{namespace}/{pid}/{int(began) - 1}')
        )

    def test_of_another_container_nothing_is_known(self):
        boot, _namespace, _pid, _began = process_names.own().split('/')

        self.assertFalse(process_names.is_gone(f'{boot}/pid:[1]/1/1'))

    def test_before_the_machine_was_started_anew(self):
        self.assertTrue(process_names.is_gone('another/pid:[1]/1/1'))


class TestLeases(base.GroupCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock())
        self.group = self.create()
        self.one, self.other = leases.Leases('ctl-1'), leases.Leases('ctl-1')
        for each in (self.one, self.other):
            each.beat(self.context)

    def acquire(self, who, leaves_word=False):
        return who.acquire(
            self.context, self.group.id, leaves_word=leaves_word
        )

    def end(self, who):
        """Let a planner's process be gone."""
        own = process_names.own()
        who._planner.process = own.rpartition('/')[0] + '/1'
        who._planner.forget(self.context)
        who._planner.beat(self.context)

    def test_a_beat_leaves_alone_what_is_worked_on(self):
        lease = self.acquire(self.one)

        self.one.beat(self.context)

        self.assertIsNone(self.acquire(self.other))
        lease.renew(self.context)

    def test_a_beat_ends_what_is_not_worked_on_any_more(self):
        self.one.lay_down(self.acquire(self.one))

        self.one.beat(self.context)

        self.assertIsNotNone(self.acquire(self.other))

    def test_who_gets_no_lease_works_on_nothing(self):
        self.acquire(self.one)
        self.acquire(self.other, leaves_word=True)

        self.assertEqual(set(), self.other._operations)

    def test_what_a_gone_process_of_the_host_had_is_taken_over_at_once(self):
        self.end(self.one)
        self.acquire(self.one)

        self.other.take_over(self.context)

        self.assertIsNotNone(self.acquire(self.other))

    def test_what_a_process_that_runs_has_is_not(self):
        self.acquire(self.one)

        self.other.take_over(self.context)

        self.assertIsNone(self.acquire(self.other))

    def test_nor_is_what_one_of_another_host_has(self):
        far = leases.Leases('ctl-2')
        self.end(far)
        self.acquire(far)

        self.other.take_over(self.context)

        self.assertIsNone(self.acquire(self.other))

    def test_what_a_silent_one_has_is_taken_over_after_a_while(self):
        CONF.set_override('operation_lease', 300, 'vrt')
        self.addCleanup(CONF.clear_override, 'operation_lease', 'vrt')
        self.acquire(self.one)
        timeutils.advance_time_seconds(29)
        self.other.beat(self.context)
        self.assertIsNone(self.acquire(self.other))
        timeutils.advance_time_seconds(2)

        self.other.beat(self.context)

        self.assertIsNotNone(self.acquire(self.other))

    def test_who_was_silent_itself_takes_nobody_for_dead(self):
        """The database was away: nobody could be heard of."""
        self.acquire(self.one)
        timeutils.advance_time_seconds(60)

        self.other.beat(self.context)
        self.assertIsNone(self.acquire(self.other))
        for _beat in range(planners.MISSED - 1):
            timeutils.advance_time_seconds(5)
            self.other.beat(self.context)
        self.assertIsNone(self.acquire(self.other))
        self.other.beat(self.context)

        self.assertIsNotNone(self.acquire(self.other))

    def test_a_beat_spares_what_is_acquired_while_it_reads(self):
        operations = objects.VRTLease.operations

        def read(context, owner):
            found = operations(context, owner)
            self.acquire(self.one)
            return found

        with fixture.MockPatchObject(objects.VRTLease, 'operations', read):
            self.one.beat(self.context)

        self.assertIsNone(self.acquire(self.other))

    def test_who_ends_leaves_nothing_behind(self):
        self.acquire(self.one)

        self.one.end(self.context)

        self.assertIsNotNone(self.acquire(self.other))
        [left] = objects.VRTPlanner.list(self.context)
        self.assertEqual(self.other._planner.uuid, left.uuid)


class TestClock(base.GroupCase):
    def test_it_is_compared_with_that_of_the_database(self):
        planner = leases.Leases('ctl-1')
        for ahead in (-600, 600):
            now = timeutils.utcnow()
            timeutils.set_time_override(
                now + datetime.timedelta(seconds=ahead)
            )
            self.addCleanup(timeutils.clear_time_override)

            planner.beat(self.context)

            timeutils.clear_time_override()
            [row] = objects.VRTPlanner.list(self.context)
            self.assertEqual(-ahead, round(row.clock_offset, -1))
