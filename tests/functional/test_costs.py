# SPDX-License-Identifier: Apache-2.0
"""Number of transactions and Placement requests of a redeem."""

import collections

import fixtures
import sqlalchemy as sa

from nova_groupext.cloud import hosts
from nova_groupext.scheduler.placement import http
from tests.functional import base


class TestRedeem(base.GroupTestCase):
    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),)
    # The reaper's own rounds would be in the counts.
    PARTS = base.WITHOUT_REAPER

    def setUp(self):
        super().setUp()
        self.counts = collections.Counter()
        self._count_transactions()
        for name, verb in (('post', 'POST'), ('send_get', 'GET')):
            self._count_calls(name, verb)

    def _count_transactions(self):
        """Count the transactions that change rows of ours."""
        writing = set()

        def note(connection, _cursor, statement, *_others):
            if 'vrt_' in statement and not statement.startswith('SELECT'):
                writing.add(connection)

        def end(connection):
            if connection in writing:
                writing.remove(connection)
                self.counts['writes'] += 1

        for event, listener in (
            ('before_cursor_execute', note),
            ('commit', end),
        ):
            sa.event.listen(sa.Engine, event, listener)
            self.addCleanup(sa.event.remove, sa.Engine, event, listener)

    def _count_calls(self, name, verb):
        real = getattr(http.Connection, name)

        def call(*args, **kwargs):
            self.counts[verb] += 1
            return real(*args, **kwargs)

        self.useFixture(
            fixtures.MonkeyPatch(f'{http.__name__}.Connection.{name}', call)
        )

    def test_redeem_is_two_writes_one_post_and_the_reads_that_verify(self):
        group = self.hold_group({'members': {'a': base.member()}})
        self.counts.clear()

        server = self.redeem(group['id'], 'a', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status)
        # Allocations and inventories of the one provider: see verification.
        self.assertEqual({'writes': 2, 'POST': 1, 'GET': 2}, self.counts)
