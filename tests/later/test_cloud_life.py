# SPDX-License-Identifier: Apache-2.0
"""Start, stop and restart of try-out clouds."""

import gc
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

import nova.conf
from oslotest import base as test

from nova_groupext.cloud import cloud
from nova_groupext.cloud import components
from nova_groupext.cloud import errors
from nova_groupext.cloud import hosts
from tests.functional.cloud import base
from tests.functional.cloud import shared

COMMAND = (
    'import sys; from nova_groupext.cmd import cloud; sys.exit(cloud.main())'
)
# Services wait for their threads, which is long where many processes run.
STOP_SECONDS = 120


class TestLifecycle(base.CloudUserTestCase):
    """One cloud that is started and stopped in one process."""

    def setUp(self):
        super().setUp()
        shared.stop()
        self.steps = []
        self.state = self.enterContext(tempfile.TemporaryDirectory())
        self.cloud = cloud.Cloud(
            self.state,
            [hosts.Host('cmp-1', vcpus=4)],
            components.Parts(prepare=self.prepare),
        )
        self.addCleanup(self.cloud.stop)

    def prepare(self, stack):
        self.steps.append(nova.conf.CONF.api_database.connection)
        stack.callback(self.steps.append, 'undone')

    def test_restart_keeps_servers(self):
        self.cloud.start()
        kept = self.boot()
        self.cloud.stop()
        self.cloud.start()

        known = self.cloud.nova('demo').servers.get(kept.id)
        self.assertEqual('ACTIVE', known.status)
        self.assertEqual(3, self.cloud.free('cmp-1')['VCPU'])
        self.assertEqual('ACTIVE', self.boot().status)
        self.delete_servers(known)
        self.assertEqual(3, self.cloud.free('cmp-1')['VCPU'])

    def test_parts_are_prepared_at_start_and_undone_at_stop(self):
        with self.cloud:
            self.assertEqual(
                [f'sqlite:///{self.cloud.state}/api.sqlite'], self.steps
            )

        self.assertEqual('undone', self.steps[-1])

    def test_stopped_cloud_leaves_no_thread(self):
        before = set(threading.enumerate())

        with self.cloud:
            self.assertLess(len(before), threading.active_count())

        self.eventually(self.threads, lambda after: not after - before)

    def threads(self):
        """Return the threads that live without references to them."""
        gc.collect()
        return set(threading.enumerate())

    def test_second_cloud_in_the_process_cannot_start(self):
        second = cloud.Cloud(self.state, [])

        with self.cloud:
            self.assertRaises(errors.CannotStart, second.start)
            self.assertEqual([], self.cloud.nova('demo').servers.list())


class CommandCase(test.BaseTestCase):
    """A test that runs nova-groupext-cloud as a process."""

    def start(self, *args):
        running = subprocess.Popen(
            [sys.executable, '-c', COMMAND, '--hosts', '1', *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.stderr.close)
        self.addCleanup(running.kill)
        return running

    def clouds_of(self, running):
        """Return the path of the clouds.yaml once the cloud is ready."""
        said = ''
        for line in running.stdout:
            said += line
            if 'Ctrl-C' in line:
                path = re.search('OS_CLIENT_CONFIG_FILE=(.*)', said).group(1)
                return pathlib.Path(path)
        raise AssertionError(said + running.stderr.read())

    def end(self, running):
        running.send_signal(signal.SIGTERM)
        self.assertEqual(0, running.wait(STOP_SECONDS))

    def refused(self, *args):
        """Return the error message of a cloud that cannot start."""
        _out, told = (running := self.start(*args)).communicate()
        self.assertEqual(1, running.returncode, told)
        self.assertNotIn('Traceback', told)
        # Libraries may warn before.
        return told.splitlines()[-1]


class TestCommand(CommandCase):
    def test_command_runs_until_sigterm(self):
        running = self.start()
        clouds = self.clouds_of(running)
        self.assertIn('vrt-demo', clouds.read_text())

        self.end(running)

        self.assertFalse(clouds.parent.exists())

    def test_command_stops_during_its_start(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            running = self.start()
            said = ''
            while 'Creating the databases' not in said:
                said += running.stdout.readline()

            running.send_signal(number)

            said, told = running.communicate(timeout=STOP_SECONDS)
            self.assertEqual(0, running.returncode, told)
            self.assertNotIn('Ready', said)
            self.assertNotIn('Traceback', told)

    def test_invalid_state_dir_is_an_error(self):
        told = self.refused('--state-dir', '/dev/null/state')

        self.assertEqual(
            'nova-groupext-cloud: /dev/null/state: Not a directory', told
        )
