# SPDX-License-Identifier: Apache-2.0
"""A populated cloud: Nova's and Placement's databases on MariaDB.

Placement runs in processes of its own. Nova's code runs in this one, without
its services: benchmarks call the schedulers and planners themselves.
"""

import pathlib
import uuid

import fixtures
from nova import context as nova_context
from nova import objects
from nova import rpc
from nova.db import migration as nova_migration
import sqlalchemy as sa

from nova_groupext.cloud import databases as nova_databases
from nova_groupext.cloud import process
from nova_groupext.cloud import with_groups
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import migration
from tests.benchmarks.scheduler import rows
from tests.benchmarks.scheduler import shapes
from tests.services import databases
from tests.services import placement
from tests.services import servers

CONFIG = """\
[DEFAULT]
host = controller
state_path = {state}
log_file = {state}/nova.log
use_stderr = false
transport_url = fake:///
# The computes exist as rows only and never report.
service_down_time = 86400

[api_database]
connection = {api}

[database]
connection = {cell0}

[placement]
auth_type = admin_token
endpoint = {placement}
token = admin

[quota]
instances = -1
cores = -1
ram = -1

{groups}
"""


class PopulatedCloud(fixtures.Fixture):
    """A cloud of hosts on which servers run, and Nova's code in this process.

    :param shape: shapes.Shape
    :param size: number of hosts
    :ivar hosts: [shapes.Host]
    """

    def __init__(self, shape, size):
        super().__init__()
        self._shape = shape
        self.hosts = shapes.build(shape, size)

    def _setUp(self):
        state = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        url, placement_url = self._database(), self._database()
        self.placement = self.useFixture(
            placement.Placement(placement_url, processes=1)
        )
        _write(placement_url, rows.write_placement, self.hosts)
        cell0 = self._database()
        text = CONFIG.format(
            state=state,
            api=url,
            cell0=cell0,
            placement=self.placement.urls[0],
            groups=with_groups.HOLISTIC.config,
        )
        (state / 'nova.conf').write_text(text)
        self.enterContext(nova_databases.fresh_facades())
        self.enterContext(process.configured(state))
        rpc.init(CONF)
        nova_migration.db_sync(database='api')
        engine.configure()
        self.addCleanup(engine.reset)
        migration.sync()
        self._write_cells(url, cell0)

    def enterContext(self, manager):
        """Enter a context manager that ends with the fixture."""
        result = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return result

    def _database(self):
        return self.useFixture(databases.Database(servers.MARIADB)).url

    def _write_cells(self, api_url, cell0):
        context = nova_context.get_admin_context()
        self._map_cell(context, objects.CellMapping.CELL0_UUID, cell0)
        cell_ids = {}
        for number in range(self._shape.cells):
            url = self._database()
            cell = self._map_cell(context, str(uuid.uuid4()), url)
            cell_ids[number] = cell.id
            in_cell = [host for host in self.hosts if host.cell == number]
            _write(url, rows.write_cell, in_cell)
        _write(api_url, rows.write_api, self.hosts, cell_ids)

    @staticmethod
    def _map_cell(context, cell_uuid, url):
        cell = objects.CellMapping(
            context,
            uuid=cell_uuid,
            name=cell_uuid[:8],
            transport_url='fake:///',
            database_connection=url,
        )
        cell.create()
        with nova_context.target_cell(context, cell) as in_cell:
            nova_migration.db_sync(database='main', context=in_cell)
        return cell


def _write(url, write, *arguments):
    own = sa.create_engine(url)
    try:
        with own.begin() as connection:
            write(connection, *arguments)
        # As the server does by itself after a while.
        with own.begin() as connection:
            for name in sa.inspect(connection).get_table_names():
                connection.execute(sa.text(f'ANALYZE TABLE `{name}`'))
    finally:
        own.dispose()
