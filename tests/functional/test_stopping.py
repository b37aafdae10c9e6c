# SPDX-License-Identifier: Apache-2.0
"""Does a planner that is stopped finish what it has begun?"""

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


class TestStopping(base.CloudUser):
    """A cloud of its own, stopped in the middle of a reaper's round."""

    def setUp(self):
        super().setUp()
        shared.stop()
        state = self.enterContext(tempfile.TemporaryDirectory())
        self.cloud = cloud.Cloud(state, [hosts.Host('cmp-1')], PARTS)
        self.addCleanup(self.cloud.stop)
        self.began = threading.Event()
        self.ended = []
        self.delay(planner.Planner.reap)

    def delay(self, stock):
        """Let each round take longer than it takes to stop a planner."""

        def reap(*args):
            self.began.set()
            time.sleep(2)
            stock(*args)
            self.ended.append('round')

        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.planner.Planner.reap', reap
            )
        )

    def test_the_round_under_way_still_has_everything_it_needs(self):
        self.cloud.start()
        self.assertTrue(self.began.wait(PATIENCE_SECONDS))

        self.cloud.stop()

        self.assertTrue(self.ended)
        log = self.cloud.log.read_text()
        self.assertNotIn('for its next round', log)
        self.assertNotIn('Traceback', log)
