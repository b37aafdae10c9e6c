# SPDX-License-Identifier: Apache-2.0
"""The default cloud as unchanged clients see it."""

import json
import os
import subprocess
import sys

from tests.functional.cloud import base

COMMAND_SECONDS = 60


def run(*command, **environ):
    """Return the stdout of a command, and raise if it fails."""
    return subprocess.run(
        [sys.executable, '-m', *command],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        text=True,
        timeout=COMMAND_SECONDS,
    ).stdout


class TestDefaultCloud(base.CloudTestCase):
    """The cloud that the command starts by default."""

    HOSTS = None

    def test_default_cloud_has_four_racks_and_two_zones(self):
        nova = self.cloud.nova('admin')

        racks = {
            aggregate.metadata['rack']: len(aggregate.hosts)
            for aggregate in nova.aggregates.list()
            if 'rack' in aggregate.metadata
        }
        zones = {
            zone.zoneName: len(zone.hosts)
            for zone in nova.availability_zones.list()
            if zone.zoneName != 'internal'
        }

        self.assertEqual({'r1': 3, 'r2': 3, 'r3': 3, 'r4': 3}, racks)
        self.assertEqual({'az1': 6, 'az2': 6}, zones)

    def test_every_compute_is_up(self):
        computes = self.cloud.nova('admin').hypervisors.list()

        up = {
            compute.hypervisor_hostname: compute.state for compute in computes
        }
        self.assertEqual({f'cmp-{i}': 'up' for i in range(1, 13)}, up)

    def test_wrong_password_is_refused(self):
        wrong = self.assertRaises(
            subprocess.CalledProcessError,
            run,
            *('openstackclient.shell', '--os-cloud', 'vrt-demo'),
            *('--os-password', 'wrong', 'server', 'list'),
            OS_CLIENT_CONFIG_FILE=str(self.cloud.clouds_yaml),
        )

        self.assertIn(
            'The request you have made requires authentication. (HTTP 401)',
            wrong.stderr,
        )

    def test_openstack_command_lists_servers(self):
        server = self.boot()

        listed = run(
            *('openstackclient.shell', '--os-cloud', 'vrt-demo'),
            *('server', 'list', '-f', 'json'),
            OS_CLIENT_CONFIG_FILE=str(self.cloud.clouds_yaml),
        )

        [row] = [row for row in json.loads(listed) if row['ID'] == server.id]
        self.assertEqual('ACTIVE', row['Status'])
        self.assertEqual('cirros', row['Image'])
        self.assertEqual('m1.tiny', row['Flavor'])
