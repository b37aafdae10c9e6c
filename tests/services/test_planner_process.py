# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-planner whose message bus refuses it or is unreachable."""

import pathlib
import subprocess
import sys
import time

import fixtures
from nova import context
import sqlalchemy as sa

from nova_groupext import objects
from nova_groupext.db import migration
from tests.services import databases
from tests.services import servers

COMMAND = pathlib.Path(sys.executable).with_name('nova-groupext-planner')
PATIENCE_SECONDS = 60

CONFIG = """\
[DEFAULT]
transport_url = {bus}
[api_database]
connection = sqlite://
[vrt_database]
connection = {database}
[vrt]
heartbeat_interval = 1
"""


def _bus(**changes):
    url = sa.make_url(servers.RABBITMQ.url).set(**changes)
    return url.set(drivername='rabbit').render_as_string(hide_password=False)


class TestPlannerProcess(databases.DatabaseTestCase):
    SERVER = servers.SQLITE
    # A database of its own, since a process writes into it.
    SYNC = False

    def setUp(self):
        super().setUp()
        servers.RABBITMQ.require(self)
        migration.sync()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.log = self.folder / 'log'

    def start(self, bus):
        config = self.folder / 'nova.conf'
        config.write_text(CONFIG.format(bus=bus, database=self.url))
        with self.log.open('w') as log:
            planner = subprocess.Popen(
                [COMMAND, f'--config-file={config}'],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.addCleanup(planner.wait)
        self.addCleanup(planner.kill)
        return planner

    def wait_for(self, text):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.log.read_text():
            self.assertLess(time.monotonic(), deadline, self.log.read_text())
            time.sleep(0.1)

    def stop(self, planner):
        planner.terminate()
        self.assertEqual(0, planner.wait(PATIENCE_SECONDS))

    def planners(self):
        return objects.VRTPlanner.list_rows(context.get_admin_context())

    def test_planner_that_the_bus_refuses_says_so_and_sends_no_heartbeat(self):
        for bus, reason in (
            (_bus(database='nowhere'), 'vhost nowhere not found'),
            (_bus(password='wrong'), 'Login was refused'),
        ):
            planner = self.start(bus)

            # It is restarted and tries again.
            self.wait_for('exited with status 1')
            self.stop(planner)

            log = self.log.read_text()
            self.assertIn('cannot listen on the message bus', log)
            self.assertIn(reason, log)
            self.assertNotIn('Traceback', log)
            self.assertEqual([], self.planners())
            self.assertNotIn('Taking over the work of planner', log)

    def test_planner_without_a_bus_sends_no_heartbeat_and_stops(self):
        planner = self.start(_bus(port=1))

        self.wait_for('Connection refused')
        time.sleep(2)

        self.assertEqual([], self.planners())
        self.stop(planner)
        self.assertNotIn('Traceback', self.log.read_text())

    def test_planner_with_a_bus_sends_heartbeats_until_it_stops(self):
        planner = self.start(_bus())

        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.planners():
            self.assertLess(time.monotonic(), deadline, self.log.read_text())
            time.sleep(0.1)

        self.stop(planner)
        self.assertEqual([], self.planners())
