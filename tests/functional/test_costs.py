# SPDX-License-Identifier: Apache-2.0
"""Number of statements and Placement requests of redeems and growth."""

import collections
import threading

import fixtures
import sqlalchemy as sa

from nova_groupext.cloud import hosts
from nova_groupext.scheduler import serve
from nova_groupext.scheduler.placement import http
from tests.functional import base
from tests.functional import growing


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


class TestGrowth(growing.GrowingCase):
    """Statements of a planner that places one more member."""

    def setUp(self):
        super().setUp()
        self.statements = []
        self._planner_thread = None
        listened = (sa.Engine, 'before_cursor_execute', self._note)
        sa.event.listen(*listened)
        self.addCleanup(sa.event.remove, *listened)
        self.useFixture(
            fixtures.MonkeyPatch(
                f'{serve.__name__}.GroupServer.serve',
                self._watch(serve.GroupServer.serve),
            )
        )

    def _watch(self, real):
        def call(*args):
            self._planner_thread = threading.get_ident()
            real(*args)
            self._planner_thread = None

        return call

    def _note(self, _connection, _cursor, statement, *_others):
        if self._planner_thread == threading.get_ident():
            self.statements.append(statement)

    def count(self):
        """Return the planner's number of statements for one create.

        Without the inserts of the draft, which has a copy of each member.
        """
        self.statements.clear()
        self.grow()
        return sum('INSERT INTO vrt_members' not in s for s in self.statements)

    def test_servers_that_the_group_has_cost_no_further_statements(self):
        self.hold_workers(1, 4)
        self.grow()
        with_one = self.count()
        self.grow()

        self.assertEqual(with_one, self.count())

    def test_servers_of_all_hosts_are_read_at_once(self):
        self.hold_workers(1, 2)
        self.grow()

        self.count()

        of_hosts = [s for s in self.statements if 'instances.host IN' in s]
        # For the snapshot, and for the check of what the solver has found.
        self.assertEqual(2, len(of_hosts))
