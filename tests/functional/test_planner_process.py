# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-planner as the process that operators start."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups
from nova_groupext.scheduler import process_names
from tests.functional import base

COMMAND = pathlib.Path(sys.executable).with_name('nova-groupext-planner')


class TestPlannerProcess(base.GroupTestCase):
    """A cloud without a planner service; tests start one as a process."""

    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),)
    PARTS = dataclasses.replace(
        with_groups.HOLISTIC,
        services=(),
        config=with_groups.HOLISTIC.config.replace(
            'reap_interval = 5', 'reap_interval = 1'
        ),
    )

    def start(self):
        config = f'--config-file={self.cloud.state}/nova.conf'
        planner = subprocess.Popen(
            [COMMAND, config],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(planner.wait)
        self.addCleanup(planner.kill)
        return planner

    def test_group_described_without_a_planner_is_planned_at_its_start(self):
        answer = self.post(topology={'members': {'a': base.member(count=2)}})
        uuid = answer.json()['vrt_group']['id']
        waiting = self.group(uuid)
        self.assertEqual('PLANNING', waiting['status'])
        self.assertIn('No planner is running', waiting['fault']['message'])
        self.assertEqual(waiting['created_at'], waiting['fault']['created'])

        planner = self.start()

        group = self.eventually(
            self.group, lambda now: now['status'] == 'HELD', uuid
        )
        self.assertIsNone(group['fault'])
        self.assertEqual({'cmp-1': 6}, self.free())
        self.api().delete(f'{base.GROUPS}/{uuid}')
        self.eventually(self.free, lambda free: free == {'cmp-1': 8})
        planner.terminate()
        self.assertEqual(0, planner.wait(30))

    def test_group_of_a_killed_worker_is_planned_by_its_replacement(self):
        planner = self.start()
        [worker] = self.eventually(self.planners, len)
        pid = process_names.pid_of(worker.process)
        os.kill(pid, signal.SIGSTOP)
        answer = self.post(topology={'members': {'a': base.member()}})
        uuid = answer.json()['vrt_group']['id']
        # The worker holds a fresh lease of five minutes when it is killed.
        group = objects.VRTGroup.get(self.context, uuid)
        objects.VRTLease.acquire(
            *(self.context, group.id, worker.uuid),
            *(uuidutils.generate_uuid(), 300),
        )

        os.kill(pid, signal.SIGKILL)

        self.eventually(self.group, lambda now: now['status'] == 'HELD', uuid)
        [another] = self.planners()
        self.assertNotEqual(worker.uuid, another.uuid)
        self.api().delete(f'{base.GROUPS}/{uuid}')
        self.eventually(self.free, lambda free: free == {'cmp-1': 8})
        planner.terminate()
        self.assertEqual(0, planner.wait(30))
        self.assertEqual([], self.planners())

    def planners(self):
        return objects.VRTPlanner.list_rows(self.context)

    def start_in_vain(self, *lines):
        """Return the error of a planner whose configuration has the lines."""
        with tempfile.NamedTemporaryFile('w', suffix='.conf') as config:
            config.write('\n'.join(lines))
            config.flush()
            ended = subprocess.run(
                [COMMAND, f'--config-file={config.name}'],
                capture_output=True,
                text=True,
                timeout=60,
            )
        self.assertEqual((1, ''), (ended.returncode, ended.stdout))
        # A library may have logged a line before.
        self.assertNotIn('Traceback', ended.stderr)
        error = ended.stderr.splitlines()[-1]
        self.assertIn('nova-groupext-planner: ', error)
        return error

    def test_planner_with_outdated_tables_exits_with_an_error(self):
        error = self.start_in_vain('[vrt_database]', 'connection = sqlite://')

        self.assertIn('"nova-groupext-manage db sync"', error)

    def test_planner_without_a_database_exits_with_an_error(self):
        self.assertIn('[vrt_database]connection', self.start_in_vain())

    def test_planner_with_invalid_options_exits_with_an_error(self):
        error = self.start_in_vain(
            '[vrt]', 'topology_levels = rack:rack, rack:foo', 'max_depth = 0'
        )

        self.assertIn('[vrt]topology_levels is invalid', error)
        self.assertIn('[vrt]max_depth is invalid', error)

    def test_planner_with_an_unknown_message_bus_exits_with_an_error(self):
        error = self.start_in_vain('[DEFAULT]', 'transport_url = nosuch://x/')

        self.assertIn('"nosuch"', error)
