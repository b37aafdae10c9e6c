# SPDX-License-Identifier: Apache-2.0
"""Compute hosts that exist only as rows in Nova and Placement.

A try-out cloud of a thousand real computes would do nothing but report. These
hosts are copies of a real one, in its rack and zone: whoever looks at the
cloud reads them like all others. They build nothing, so that their rows say
that they are full: Nova's weighers prefer the real ones. In Placement they are
as free as the real ones.
"""

import uuid

from nova import context as nova_context
from nova import objects
from nova.db.api import api as nova_api_db
from nova.db.api import models as api_models
from nova.db.main import api as nova_main_db
from nova.db.main import models
import sqlalchemy as sa

#: Nova counts them as up; their services never report again.
CONFIG = '\n[DEFAULT]\nservice_down_time = 86400\n'


def add(running, names_of):
    """Add copies of real hosts to a cloud.

    :param running: cloud.Cloud whose Nova has the settings of CONFIG
    :param names_of: {name of a real host: names of its copies}
    """
    context = nova_context.get_admin_context()
    for original, names in names_of.items():
        mapping = objects.HostMapping.get_by_host(context, original)
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            uuids = _copy_nodes(cell, original, names)
        _copy_in_api_database(context, original, names)
        _copy_providers(running, original, uuids)


@nova_main_db.pick_context_manager_writer
def _copy_nodes(context, original, names):
    """Copy the service and the compute node; return {name: node's uuid}."""
    service = _row(context, models.Service, host=original)
    node = _row(context, models.ComputeNode, host=original)
    used = {'free_ram_mb': 0, 'free_disk_gb': 0, 'vcpus_used': node['vcpus']}
    uuids = {name: str(uuid.uuid4()) for name in names}
    for name, node_uuid in uuids.items():
        _insert(
            context, models.Service, service, host=name, uuid=str(uuid.uuid4())
        )
        own = {'host': name, 'hypervisor_hostname': name, 'uuid': node_uuid}
        _insert(context, models.ComputeNode, node, **own, **used)
    return uuids


@nova_api_db.context_manager.writer
def _copy_in_api_database(context, original, names):
    """Copy the host's mapping to its cell, and its places in aggregates."""
    mapping = _row(context, api_models.HostMapping, host=original)
    aggregates = _rows(context, api_models.AggregateHost, host=original)
    for name in names:
        _insert(context, api_models.HostMapping, mapping, host=name)
        for aggregate in aggregates:
            _insert(context, api_models.AggregateHost, aggregate, host=name)


def _rows(context, model, **values):
    query = sa.select(model.__table__).filter_by(**values)
    return context.session.execute(query).mappings().all()


def _row(context, model, **values):
    [row] = _rows(context, model, **values)
    return row


def _insert(context, model, row, **changes):
    copied = {name: row[name] for name in row if name != 'id'}
    context.session.execute(
        sa.insert(model.__table__).values({**copied, **changes})
    )


def _copy_providers(running, original, uuids):
    """Copy the resource provider with inventories, traits and aggregates."""
    placement = running.placement
    source = f'/resource_providers/{running.provider(original)}'
    parts = {
        part: placement.get(f'{source}/{part}').json()
        for part in ('inventories', 'traits', 'aggregates')
    }
    for name, node_uuid in uuids.items():
        created = {'name': name, 'uuid': node_uuid}
        placement.post('/resource_providers', json=created)
        for generation, part in enumerate(parts):
            body = {**parts[part], 'resource_provider_generation': generation}
            placement.put(f'/resource_providers/{node_uuid}/{part}', json=body)
