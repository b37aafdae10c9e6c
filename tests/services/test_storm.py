# SPDX-License-Identifier: Apache-2.0
"""Does a short storm leave everything in order?"""

import os
import random

from oslotest import base
from testtools import content

from tests.services import servers
from tests.storm import storm


class TestStorm(base.BaseTestCase):
    def test_nothing_leaks_and_nothing_has_two_owners(self):
        servers.MARIADB.require(self)
        seed = int(os.environ.get('VRT_SEED', random.randrange(2**32)))
        self.addDetail('seed', content.text_content(str(seed)))

        outcome = storm.run(hosts=5, seed=seed, operations=300, kills=5)

        self.assertEqual(
            ([], []), (outcome.violations, outcome.leaks), outcome.operations
        )
        self.assertLess(0, outcome.kills)
