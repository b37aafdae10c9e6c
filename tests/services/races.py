# SPDX-License-Identifier: Apache-2.0
"""Base of the tests in which two operations on a group are concurrent.

One process stops at a point of ``nova_groupext.faultpoints`` until another
one has finished; then it continues. So every run is the same.
"""

import contextlib

from nova_groupext import exception
from tests.services import deployment
from tests.services import servers


class RaceTestCase(deployment.DeploymentTestCase):
    # Nothing runs in parallel here, so SQLite suffices.
    SERVER = servers.SQLITE

    def setUp(self):
        super().setUp()
        self.large_provider = self.deployment.make_provider(slots=2)
        self.small_provider = self.deployment.make_provider(slots=1)

    def create_group(self, is_held=True):
        """Describe a group of three members, two of them on one provider."""
        self.uuid = self.deployment.describe(
            [self.large_provider, self.large_provider, self.small_provider]
        )
        if is_held:
            self.deployment.plan(self.uuid)
            self.assertEqual(
                {'HELD': 3}, self.deployment.status_counts(self.uuid)
            )

    def delete_and_check(self):
        """Reap, delete the group, and expect that only servers are left."""
        self.deployment.reap()
        # A server outlives its group.
        self.assert_at_rest(self.servers())
        if self.deployment.find_group(self.uuid) is not None:
            with contextlib.suppress(exception.GenerationConflict):
                self.deployment.mark_deleted(self.uuid)
            self.deployment.release(self.uuid)
        self.assertEqual({}, self.deployment.row_counts())
        self.assertLessEqual(
            set(self.deployment.allocations()), self.servers()
        )

    def servers(self):
        return set()
