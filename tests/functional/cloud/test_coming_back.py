# SPDX-License-Identifier: Apache-2.0
"""Can a server come back to a host that it has left?"""

from tests.functional import moves


class TestComingBack(moves.MovingTestCase):
    HOSTS = moves.HOSTS[:2]

    def test_a_server_that_was_migrated_live_is_evacuated_to_where_it_was(
        self,
    ):
        server = self.boot('m1.tiny')
        first = self.host_of(server)
        self.move('live_migrate', server)
        self.assertNotEqual(first, self.host_of(server))

        outcome, _status = self.move('evacuate', server)

        self.assertEqual('Success', outcome)
        self.assertEqual(first, self.host_of(server))
