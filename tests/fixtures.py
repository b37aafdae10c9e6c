# SPDX-License-Identifier: Apache-2.0
"""What tests of several parts need."""

import fixtures
from nova import policy
import sqlalchemy as sa

from nova_groupext import policies
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.db import models


class Database(fixtures.Fixture):
    """A SQLite file of the test's own, with our tables.

    :param sync: whether to make the tables, by our migrations
    """

    def __init__(self, sync=True):
        super().__init__()
        self._sync = sync

    def _setUp(self):
        folder = self.useFixture(fixtures.TempDir()).path
        CONF.set_override(
            'connection', f'sqlite:///{folder}/vrt.sqlite', 'vrt_database'
        )
        self.addCleanup(CONF.clear_override, 'connection', 'vrt_database')
        engine.reset()
        self.addCleanup(engine.reset)
        engine.configure()
        if self._sync:
            migration.sync()


def rows():
    """Return {table: how many rows} of our tables that are not empty."""
    counts = {}
    with engine.get_engine().connect() as connection:
        for name, table in models.Base.metadata.tables.items():
            count = sa.select(sa.func.count()).select_from(table)
            counts[name] = connection.scalar(count)
    return {name: count for name, count in counts.items() if count}


class Policy(fixtures.Fixture):
    """Nova's policy enforcer with our rules, as nova-api has it."""

    def _setUp(self):
        CONF([], project='nova', default_config_files=[])
        self.addCleanup(CONF.reset)
        policy.reset()
        self.addCleanup(policy.reset)
        policies.register()
