# SPDX-License-Identifier: Apache-2.0
"""Does a short storm leave everything in order?"""

from oslotest import base

from tests import shares
from tests.services import servers
from tests.storm import storm


class TestStorm(base.BaseTestCase):
    def test_nothing_leaks_and_nothing_has_two_owners(self):
        servers.MARIADB.require(self)
        seed = shares.number('storm')

        outcome = storm.run(hosts=5, seed=seed, operations=300, kills=5)

        self.assertEqual(
            ([], []),
            (outcome.violations, outcome.leaks),
            f'seed {seed}, {outcome.operations} operations',
        )
        self.assertLess(0, outcome.kills)
