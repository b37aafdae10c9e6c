# SPDX-License-Identifier: Apache-2.0
"""What the tests share in which two things happen to a group at once.

One process stops at a point of ``nova_groupext.faultpoints``, as long as
another one needs for all that it does; then it goes on. So every run is the
same.
"""

import contextlib

from nova_groupext import exception
from tests.services import life
from tests.services import servers


class RaceCase(life.LifeTestCase):
    # Nothing runs side by side here: the smallest database does.
    SERVER = servers.SQLITE

    def setUp(self):
        super().setUp()
        self.wide = self.life.make_provider(seats=2)
        self.narrow = self.life.make_provider(seats=1)

    def begin(self, is_held=True):
        """Describe a group of three, of which two share a provider."""
        self.uuid = self.life.describe([self.wide, self.wide, self.narrow])
        if is_held:
            self.life.plan(self.uuid)
            self.assertEqual({'HELD': 3}, self.life.statuses(self.uuid))

    def end(self):
        """Reap, delete the group, and see that servers have the rest."""
        self.life.reap()
        # A server outlives its group.
        self.assert_at_rest(self.servers())
        if self.life.find(self.uuid) is not None:
            with contextlib.suppress(exception.GenerationConflict):
                self.life.mark_deleted(self.uuid)
            self.life.release(self.uuid)
        self.assertEqual({}, self.life.rows())
        self.assertLessEqual(set(self.life.books()), self.servers())

    def servers(self):
        return set()
