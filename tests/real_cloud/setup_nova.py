# SPDX-License-Identifier: Apache-2.0
"""Make Nova's tables and cells: ``setup_nova.py FILE [NAME DATABASE BUS]...``.

As nova-manage does with some commands, each of which would take seconds. FILE
is nova.conf; what is there already stays.
"""

import sys

from nova import config
from nova import context as nova_context
from nova import objects
import nova.conf
from nova.db import migration
from oslo_utils import uuidutils

CELL0 = 'cell0'


def main(config_file, *cells):
    config.parse_args(['nova-manage', '--config-file', config_file])
    objects.register_all()
    migration.db_sync(database='api')
    context = nova_context.get_admin_context()
    known = {
        each.name: each for each in objects.CellMappingList.get_all(context)
    }
    database = nova.conf.CONF.database.connection
    for name, url, bus in (
        (CELL0, database, 'none:///'),
        *zip(*[iter(cells)] * 3, strict=True),
    ):
        cell = known.get(name) or _make(context, name, url, bus)
        _lead_to(cell, url, bus)
        with nova_context.target_cell(context, cell) as in_cell:
            migration.db_sync(database='main', context=in_cell)


def _lead_to(cell, database, bus):
    """Store where a cell is now, if that has changed."""
    if (cell.database_connection, cell.transport_url) != (database, bus):
        cell.database_connection, cell.transport_url = database, bus
        cell.save()


def _make(context, name, database, bus):
    cell = objects.CellMapping(
        context,
        uuid=(
            objects.CellMapping.CELL0_UUID
            if name == CELL0
            else uuidutils.generate_uuid()
        ),
        name=name,
        transport_url=bus,
        database_connection=database,
    )
    cell.create()
    return cell


if __name__ == '__main__':
    main(*sys.argv[1:])
