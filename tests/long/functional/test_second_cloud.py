# SPDX-License-Identifier: Apache-2.0
"""A second try-out cloud beside a running one."""

import pathlib
import re
import tempfile

from tests.later import test_cloud_life


class TestSecondCloud(test_cloud_life.CommandCase):
    def test_a_second_cloud_leaves_the_first_alone(self):
        state = self.enterContext(tempfile.TemporaryDirectory())
        running = self.start('--state-dir', state)
        before = self.clouds_of(running).read_text()
        port = re.search(':([0-9]+)/', before).group(1)

        here = self.refused('--state-dir', state)
        there = self.refused('--port', port)

        self.assertIn(f'Another try-out cloud uses {state}', here)
        self.assertIn(f'port {port}: Address already in use', there)
        after = (pathlib.Path(state) / 'clouds.yaml').read_text()
        self.assertEqual(before, after)
        self.end(running)
