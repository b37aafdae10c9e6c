# SPDX-License-Identifier: Apache-2.0
"""Plans, measures and verdicts of a storm, which itself takes hours."""

import itertools
import os
import pathlib
import random
import socket
import subprocess
import sys

import fixtures
from oslotest import base

from tests.real_cloud import layout as layouts
from tests.storm_cloud import doors
from tests.storm_cloud import faults
from tests.storm_cloud import logs
from tests.storm_cloud import memory
from tests.storm_cloud import rest
from tests.storm_cloud import tenants

OPERATIONS, KILLS = 1700, 17


def plan(seed):
    return faults.plan(random.Random(seed), OPERATIONS, KILLS)


class TestFaults(base.BaseTestCase):
    def test_every_other_fault_is_a_kill(self):
        planned = plan(1)

        kinds = [each.kind == 'kill' for each in planned]
        self.assertEqual([True, False] * KILLS, kinds)

    def test_faults_come_evenly(self):
        times = [each.at for each in plan(1)]

        gaps = [b - a for a, b in itertools.pairwise(times)]
        self.assertLess(0, times[0])
        self.assertLess(times[-1], OPERATIONS)
        self.assertLessEqual(max(gaps) - min(gaps), 1)

    def test_same_seed_gives_the_same_faults(self):
        self.assertEqual(plan(1), plan(1))
        self.assertNotEqual(plan(1), plan(2))

    def test_every_service_is_killed_except_those_that_are_spared(self):
        killed = {each.target for each in plan(1) if each.kind == 'kill'}

        self.assertLessEqual({*faults.SERVICES} - {*faults.SPARED}, killed)

    def test_late_faults_spare_the_processes_that_are_compared(self):
        for seed in range(20):
            late = [e for e in plan(seed) if e.at > faults.EARLY * OPERATIONS]

            self.assertEqual(
                set(), {e.target for e in late} & {*faults.SPARED}
            )

    def test_every_kind_is_a_method(self):
        for kind, _target in (*faults.KILLS, *faults.OTHERS):
            self.assertTrue(callable(getattr(faults.Faults, kind)), kind)


class TestMemory(base.BaseTestCase):
    def test_children_count(self):
        blocks = 'x = b"x" * 50_000_000; import time; time.sleep(60)'
        child = (
            'import subprocess, sys; '
            'subprocess.run([sys.executable, "-c", sys.argv[1]])'
        )
        process = subprocess.Popen([sys.executable, '-c', child, blocks])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        while not (children := memory._with_children(process.pid)[1:]):
            os.sched_yield()
        self.addCleanup(os.kill, children[0], 9)

        [(key, mib)] = memory.read({'service': process}).items()
        self.assertEqual(('service', process.pid), key)
        self.assertLess(0, mib)

    def test_only_processes_that_were_kept_are_compared(self):
        before = {('api', 1): 100.0, ('planner', 2): 50.0}
        after = {('api', 1): 110.0, ('planner', 3): 60.0}

        self.assertEqual([('api', 100.0, 110.0)], memory.table(before, after))


class TestDoor(base.BaseTestCase):
    def test_connection_leads_to_the_target_until_the_door_is_cut(self):
        target = self.enterContext(socket.create_server(('127.0.0.1', 0)))
        [port] = layouts.free_ports(1)
        ports = str(port), str(target.getsockname()[1])
        process = subprocess.Popen([sys.executable, doors.SCRIPT, *ports])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        client = self.connect(port)
        server, _address = target.accept()
        self.addCleanup(server.close)
        client.sendall(b'question')
        self.assertEqual(b'question', server.recv(100))
        server.sendall(b'answer')
        self.assertEqual(b'answer', client.recv(100))

        process.kill()
        process.wait()

        self.assertEqual(b'', client.recv(100))

    def connect(self, port):
        while True:
            try:
                client = socket.create_connection(('127.0.0.1', port))
            except ConnectionRefusedError:
                os.sched_yield()
            else:
                self.addCleanup(client.close)
                return client


LOG = """\
2026-11-29 14:26:16.160 19352 ERROR nova.x Traceback (most recent call last):
2026-11-29 14:26:16.160 19352 ERROR nova.x   File "a/nova_groupext/b.py", line
2026-11-29 14:26:16.160 19352 ERROR nova.x     c()
2026-11-29 14:26:16.160 19352 ERROR nova.x KeyError: 'd'
2026-11-29 14:26:17.160 19352 INFO nova.x All is well.
"""


class TestTracebacks(base.BaseTestCase):
    def test_traceback_is_found_behind_the_prefixes(self):
        text = rest.PREFIX.sub('', LOG)

        [(frames, error)] = rest._tracebacks(text)

        self.assertIn('nova_groupext/b.py', frames)
        self.assertEqual("KeyError: 'd'", error)

    def test_bug_is_ours_if_our_code_ran_last(self):
        ours, nova, library = (
            f'  File "/lib/{package}/b.py", line 1, in c\n'
            for package in ('nova_groupext', 'nova', 'sqlalchemy')
        )

        self.assertTrue(rest._is_ours(nova + ours))
        self.assertTrue(rest._is_ours(nova + ours + library))
        self.assertFalse(rest._is_ours(ours + nova + library))

    def test_fault_is_ours_if_we_are_named_or_ran_last(self):
        ours, nova = (
            f'\'  File "/lib/{package}/b.py", line 1, in c\', '
            for package in ('nova_groupext', 'nova')
        )
        for is_ours, message, details in (
            (True, 'No valid host was found. The VRT group is full.', ''),
            (False, 'No valid host was found. ', nova),
            (True, 'RemoteError', f'{nova} Remote error: x [{nova}{ours}]'),
            (False, 'RemoteError', f'{nova} Remote error: x [{ours}{nova}]'),
            (True, 'KeyError', nova),
        ):
            fault = {'message': message, 'details': details}
            self.assertEqual(is_ours, rest._is_our_fault(fault), fault)

    def test_package_of_a_frame_is_that_which_is_installed(self):
        for file, is_ours in (
            ('/a/nova_groupext/scheduler/nova/hosts.py', True),
            ('/a/lib/site-packages/nova_groupext/scheduler/nova/b.py', True),
            ('/src/nova_groupext/.tox/site-packages/nova/b.py', False),
        ):
            frame = f'  File "{file}", line 1, in c\n'
            self.assertEqual(is_ours, rest._is_ours(frame), file)


class TestLull(base.BaseTestCase):
    """A storm in which nothing happens is a failure."""

    def setUp(self):
        super().setUp()
        self.storm = tenants.Storm(operations=100)
        while self.storm.begin():
            pass
        for operation, outcome in tenants.EXPECTED:
            self.storm.count(operation, outcome)

    def test_storm_with_all_expected_outcomes_misses_nothing(self):
        self.assertEqual([], [*self.storm.missing()])

    def test_outcome_that_never_came_is_missing(self):
        self.storm.outcomes['boot', 'ACTIVE'] = 0

        self.assertEqual(['no boot was ACTIVE'], [*self.storm.missing()])

    def test_tenant_that_a_bug_ends_is_told(self):
        storm = tenants.Storm(operations=1)
        without_user = tenants.Tenant(storm, None, 'seed')

        self.assertRaises(AttributeError, without_user.run)

        self.assertIn('tenant seed has ended', storm.crashes[0])

    def test_operation_that_is_not_answered_does_not_count(self):
        self.storm.count('show', 'unavailable')

        self.assertEqual(99, self.storm.begun)
        self.assertTrue(self.storm.begin())


class TestGrowth(base.BaseTestCase):
    PLANNER = 'nova-groupext-planner-a'

    def grown(self, **mib_after):
        """Return what has grown from 100 MiB."""
        names = {
            'planner': self.PLANNER,
            'compute': 'nova-computes-cell1',
            'api': 'nova-api-2',
        }
        table = [(names[key], 100, after) for key, after in mib_after.items()]
        return [*memory.find_grown(table)]

    def test_growth_is_found_beyond_a_tenth_and_beyond_novas_own(self):
        self.assertEqual([], self.grown(planner=110, compute=100))
        self.assertEqual([], self.grown(planner=120, compute=130))
        self.assertEqual(
            [f'{self.PLANNER} has grown by 20%'],
            self.grown(planner=120, compute=115),
        )

    def test_growth_of_processes_with_our_router_excuses_nothing(self):
        self.assertNotEqual([], self.grown(planner=120, api=200))

    def test_growth_of_others_is_not_ours(self):
        self.assertEqual([], self.grown(compute=200))


class TestLogs(base.BaseTestCase):
    def test_lines_that_name_a_finding_come_by_their_time(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        day, pid = '2026-11-30', '7 INFO nova.compute'
        of = 'e0ac1a51-c899-43f6-a581-afe7d1ef8472'
        request = f'None req-{of} user - -'
        (folder / 'b.log').write_text(
            f'{day} 07:02:00.1 {pid} [{request}] built {of}\n'
            f'{day} 07:02:00.1 {pid} [{request}] "GET /servers/{of}"\n'
            f'{day} 07:02:00.1 {pid} [instance: {of}] Traceback\n'
        )
        (folder / 'a.log').write_text(
            f'{day} 07:03:00.1 {pid} [-] another\n'
            f'{day} 07:03:00.1 {pid} [-] deleted {of}\n'
        )

        lines = [*logs.lines_about(folder, [f'server {of} has nothing'])]

        self.assertEqual(
            [
                f'{day} 07:02:00.1 b INFO nova.compute built {of}',
                f'{day} 07:03:00.1 a INFO nova.compute deleted {of}',
            ],
            lines,
        )
