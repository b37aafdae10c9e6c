# SPDX-License-Identifier: Apache-2.0
"""States of compute services, read by a few queries for any number of hosts.

The queries read columns instead of Nova's objects, which would make a reaper
round of a large cloud slow.
"""

from nova import context as nova_context
from nova import objects
from nova.db.api import api as nova_api_db
from nova.db.api import models as nova_api_models
from nova.db.main import api as nova_db
from nova.db.main import models as nova_models
from oslo_log import log as logging
import sqlalchemy as sa

LOG = logging.getLogger(__name__)

# Number of hosts that a query names. To read more, it reads all of them.
MAX_NAMED = 1000

# Prefix of the reason with which a compute service disables itself while it
# cannot reach its hypervisor. It enables itself again only with this prefix.
AUTO_DISABLED = 'AUTO: '


def out_of_service(context, nodes):
    """Return those compute nodes that the operator has removed or disabled.

    A host that is down, has disabled itself, or whose cell does not answer may
    come back and is not out of service.

    :param nodes: set of (host's name, compute node's uuid)
    :returns: set of such pairs
    """
    if not nodes:
        return set()
    hosts, uuids = map(set, zip(*nodes, strict=True))
    cell_of = _read_cells(context, hosts)
    cells = [
        cell
        for cell in objects.CellMappingList.get_all(context)
        if cell.id in cell_of.values()
    ]
    answers = nova_context.scatter_gather_cells(
        context, cells, nova_context.CELL_TIMEOUT, _read_enabled, hosts, uuids
    )
    enabled, present, silent = set(), set(), set()
    for cell in cells:
        answer = answers[cell.uuid]
        if nova_context.is_cell_failure_sentinel(answer):
            LOG.warning(
                'Cell %s does not answer; its hosts count as in service.',
                cell.identity,
            )
            silent.add(cell.id)
        else:
            # Another cell may have an old service of the same name.
            enabled |= {(cell.id, host) for host in answer[0]}
            present |= answer[1]
    return {
        (host, uuid)
        for host, uuid in nodes
        if cell_of.get(host) not in silent
        and not ((cell_of.get(host), host) in enabled and uuid in present)
    }


def is_disabled(disabled, reason):
    """Check whether the operator has disabled a compute service.

    :param disabled: flag of the service
    :param reason: its ``disabled_reason``
    """
    return bool(disabled) and not (reason or '').startswith(AUTO_DISABLED)


@nova_api_db.context_manager.reader
def _read_cells(context, hosts):
    """Return {host: id of its cell} of the hosts that are mapped to a cell."""
    mapping = nova_api_models.HostMapping
    query = sa.select(mapping.host, mapping.cell_id)
    query = _restrict(query, mapping.host, hosts)
    return dict(context.session.execute(query).tuples().all())


@nova_db.pick_context_manager_reader
def _read_enabled(context, hosts, uuids):
    """Return (names of the enabled hosts, uuids of the compute nodes).

    A compute node counts as it is, on whatever host: ironic's change hosts.
    """
    service, node = nova_models.Service, nova_models.ComputeNode
    services = sa.select(
        service.host, service.disabled, service.disabled_reason
    ).where(service.binary == 'nova-compute', service.deleted == 0)
    nodes = sa.select(node.uuid).where(node.deleted == 0)
    execute = context.session.execute
    return {
        host
        for host, *state in execute(_restrict(services, service.host, hosts))
        if not is_disabled(*state)
    }, {*execute(_restrict(nodes, node.uuid, uuids)).scalars()}


def _restrict(query, column, names):
    """Restrict a query to some hosts, unless these are very many."""
    return query.where(column.in_(names)) if len(names) <= MAX_NAMED else query
