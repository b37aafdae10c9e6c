# SPDX-License-Identifier: Apache-2.0
"""Does a short storm leave everything in order?"""

import subprocess
import sys

from oslotest import base

from tests import shares
from tests.services import servers


class TestStorm(base.BaseTestCase):
    """It is a process of its own: its configuration is none of Nova's."""

    def test_nothing_leaks_and_nothing_has_two_owners(self):
        servers.MARIADB.require(self)
        storm = subprocess.run(
            [
                *(sys.executable, '-m', 'tests.storm'),
                *('--hosts', '5', '--operations', '300', '--kills', '5'),
                *('--seed', f'{shares.number("storm")}'),
            ],
            capture_output=True,
            text=True,
        )

        self.assertEqual(0, storm.returncode, storm.stdout + storm.stderr)
        self.assertRegex(storm.stdout, 'kills [1-9]')
