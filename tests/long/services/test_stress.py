# SPDX-License-Identifier: Apache-2.0
"""A short stress test: planners and schedulers, killed at random."""

import subprocess
import sys

from oslotest import base

from tests import shares
from tests.services import servers


class TestStress(base.BaseTestCase):
    """The test runs in its own process, with its own configuration."""

    def test_short_stress_leaves_no_leak_and_no_double_owner(self):
        servers.MARIADB.require(self)
        done = subprocess.run(
            [
                *(sys.executable, '-m', 'tests.stress'),
                *('--hosts', '5', '--operations', '300', '--kills', '5'),
                *('--seed', f'{shares.number_of("stress")}'),
            ],
            capture_output=True,
            text=True,
        )

        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertRegex(done.stdout, 'kills [1-9]')
