# SPDX-License-Identifier: Apache-2.0
"""Moves of a server back to a host that it has left."""

from tests.functional import moves


class TestMoveBack(moves.MovingTestCase):
    HOSTS = moves.HOSTS[:2]

    def test_live_migrated_server_is_evacuated_to_its_first_host(self):
        server = self.boot('m1.tiny')
        first = self.host_of(server)
        self.move('live_migrate', server)
        self.assertNotEqual(first, self.host_of(server))

        outcome, _status = self.move('evacuate', server)

        self.assertEqual('Success', outcome)
        self.assertEqual(first, self.host_of(server))
