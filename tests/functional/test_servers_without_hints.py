# SPDX-License-Identifier: Apache-2.0
"""Servers without hints: queries, boots and moves beside groups."""

import dataclasses

import sqlalchemy as sa

from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups
from nova_groupext.db import engine
from nova_groupext.db import models
from tests.functional import base

HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),)


class QueryCase(base.GroupTestCase):
    HOSTS = HOSTS
    # The reaper's own rounds would be in the count.
    PARTS = base.WITHOUT_REAPER

    def listen(self):
        """Return a list that collects the statements about our tables."""
        statements = []

        def note(connection, cursor, statement, *others):
            if 'vrt_' in statement:
                statements.append(statement)

        sa.event.listen(sa.Engine, 'before_cursor_execute', note)
        self.addCleanup(
            sa.event.remove, sa.Engine, 'before_cursor_execute', note
        )
        return statements


class TestServersWithoutHints(QueryCase):
    """A cloud without groups."""

    # Queries of planners would be in the count.
    PARTS = dataclasses.replace(with_groups.HOLISTIC, services=())

    def test_server_without_hints_causes_no_query_of_group_tables(self):
        statements = self.listen()

        server = self.boot('m1.tiny', scheduler_hints={'other': 'hint'})

        self.assertEqual('ACTIVE', server.status)
        self.assertEqual([], statements)


class TestServersWithHints(QueryCase):
    def test_server_with_hints_causes_queries_of_group_tables(self):
        """Check that the listener of the test above sees statements."""
        group = self.hold_group({'members': {'a': base.member()}})
        statements = self.listen()

        self.redeem(group['id'], 'a', 'm1.tiny')

        self.assertNotEqual([], statements)


class TestWithoutTables(base.GroupTestCase):
    """A cloud whose group tables are dropped and that has no planner."""

    SHARES_CLOUD = False

    HOSTS = (*HOSTS, hosts.Host('cmp-2', 'r1', 'az1', vcpus=8))
    PARTS = dataclasses.replace(with_groups.HOLISTIC, services=())

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        models.Base.metadata.drop_all(engine.get_engine())

    def test_a_server_without_hints_boots_and_moves(self):
        server = self.boot('m1.tiny')
        self.assertEqual('ACTIVE', server.status)
        source = self.host_of(server)

        server.resize(self.cloud.nova('demo').flavors.find(name='m1.medium'))

        self.eventually(
            server.manager.get,
            lambda now: now.status == 'VERIFY_RESIZE',
            server,
        )
        self.assertNotEqual(source, self.host_of(server))

    def test_server_with_hints_fails_with_the_reason(self):
        outcome = self.try_redeem('5ee2a1d7-8ad6-4ab8-a3ba-4b1c53a5e3b4', 'a')

        self.assertIn('database of VRT groups is not available', outcome)


class TestStockScheduler(base.GroupTestCase):
    """A cloud with a stock nova-scheduler that was not replaced."""

    HOSTS = HOSTS
    PARTS = dataclasses.replace(
        with_groups.HOLISTIC,
        scheduler='nova.scheduler.manager.SchedulerManager',
    )

    def test_the_filter_refuses_a_member_and_its_hold_stays(self):
        group = self.hold_group({'members': {'a': base.member()}})

        outcome = self.try_redeem(group['id'], 'a')

        self.assertIn('No valid host', outcome)
        self.assertEqual({'cmp-1': 7}, self.free())
        self.assertEqual('HELD', self.group(group['id'])['status'])

    def test_a_server_without_hints_passes_the_filter(self):
        self.assertEqual('ACTIVE', self.boot('m1.tiny').status)
