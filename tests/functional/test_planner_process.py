# SPDX-License-Identifier: Apache-2.0
"""Does nova-groupext-planner run as the process that operators start?"""

import dataclasses
import datetime
import pathlib
import subprocess
import sys

from oslo_utils import timeutils

from nova_groupext.cloud import holistic
from nova_groupext.cloud import hosts
from tests.functional import base

COMMAND = pathlib.Path(sys.executable).with_name('nova-groupext-planner')


class TestPlannerProcess(base.GroupTestCase):
    """The cloud has no planner; one comes later, as a process."""

    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),)
    PARTS = dataclasses.replace(
        holistic.HOLISTIC,
        services=(),
        config=holistic.HOLISTIC.config.replace(
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

    def test_it_plans_what_was_described_while_no_planner_ran(self):
        answer = self.post(topology={'members': {'a': base.member(count=2)}})
        uuid = answer.json()['vrt_group']['id']
        self.assertEqual('PLANNING', self.group(uuid)['status'])
        self.make_older(uuid)

        planner = self.start()

        self.eventually(self.group, lambda now: now['status'] == 'HELD', uuid)
        self.assertEqual({'cmp-1': 6}, self.free())
        self.api().delete(f'{base.GROUPS}/{uuid}')
        self.eventually(self.free, lambda free: free == {'cmp-1': 8})
        planner.terminate()
        self.assertEqual(0, planner.wait(30))

    def test_without_a_database_it_says_so_and_ends(self):
        ended = subprocess.run(
            [COMMAND, '--config-file=/dev/null'],
            capture_output=True,
            text=True,
            timeout=60,
        )

        self.assertEqual((1, ''), (ended.returncode, ended.stdout))
        self.assertIn('[vrt_database]connection', ended.stderr)

    def make_older(self, uuid):
        """Let a group look as if it had been described an hour ago."""
        long_ago = timeutils.utcnow() - datetime.timedelta(hours=1)
        self.change_row(uuid, created_at=long_ago, updated_at=long_ago)
