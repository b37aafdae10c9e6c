# SPDX-License-Identifier: Apache-2.0
"""A planner that is stopped during a round of its reaper."""

import dataclasses
import tempfile
import threading
import time

import fixtures

from nova_groupext.cloud import cloud
from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups
from nova_groupext.scheduler import planner
from tests.functional.cloud import base
from tests.functional.cloud import shared

PARTS = dataclasses.replace(
    with_groups.HOLISTIC,
    config=f'{with_groups.HOLISTIC.config}\nreap_interval = 1',
)
PATIENCE_SECONDS = 60


class TestStopping(base.CloudUserTestCase):
    """A cloud of the test's own, stopped during a round of the reaper."""

    def setUp(self):
        super().setUp()
        shared.stop()
        state = self.enterContext(tempfile.TemporaryDirectory())
        self.cloud = cloud.Cloud(state, [hosts.Host('cmp-1')], PARTS)
        self.addCleanup(self.cloud.stop)
        self.began = threading.Event()
        self.wait_for_action = []
        self.delay(planner.Planner.reap)

    def delay(self, stock):
        """Make each round take longer than the stop of a planner."""

        def reap(*args):
            self.began.set()
            time.sleep(2)
            stock(*args)
            self.wait_for_action.append('round')

        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.planner.Planner.reap', reap
            )
        )

    def test_running_round_of_the_reaper_is_finished(self):
        self.cloud.start()
        self.assertTrue(self.began.wait(PATIENCE_SECONDS))

        self.cloud.stop()

        self.assertTrue(self.wait_for_action)
        log = self.cloud.log.read_text()
        self.assertNotIn('in the next round', log)
        self.assertNotIn('Traceback', log)
