# SPDX-License-Identifier: Apache-2.0
"""The rows of a populated cloud, written straight into the tables.

To make ten thousand hosts by the services would take hours.
"""

import collections
import datetime
import itertools
import json
import uuid

from nova.db.api import models as api_models
from nova.db.main import models as cell_models
from nova.objects import service as nova_service
from placement.db.sqlalchemy import models as placement_models
import sqlalchemy as sa

CHUNK = 2000
SERVICE_VERSION = nova_service.SERVICE_VERSION

#: Project of all servers
PROJECT = USER = 'a' * 32

DEVICE = 'PGPU'

# Traits of each compute node's provider
TRAITS = 'COMPUTE_NODE', 'OWNER_NOVA'


def write_cell(connection, hosts):
    """Write services, compute nodes and servers of one cell."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    service_ids = itertools.count(1)
    _insert(
        connection,
        cell_models.Service,
        (_service(host, now) for host in hosts),
    )
    _insert(
        connection,
        cell_models.ComputeNode,
        (_node(host, next(service_ids)) for host in hosts),
    )
    _insert(
        connection,
        cell_models.Instance,
        (
            _instance(host, server, flavor, now)
            for host in hosts
            for server, flavor in host.servers
        ),
    )


def _service(host, now):
    return {
        'uuid': str(uuid.uuid4()),
        'host': host.name,
        'binary': 'nova-compute',
        'topic': 'compute',
        'report_count': 1,
        'disabled': False,
        'last_seen_up': now,
        'forced_down': False,
        'version': SERVICE_VERSION,
        'deleted': 0,
    }


def _node(host, service_id):
    totals, used = host.kind.totals, host.used
    return {
        'service_id': service_id,
        'host': host.name,
        'uuid': host.uuid,
        'hypervisor_hostname': host.name,
        'hypervisor_type': 'fake',
        'hypervisor_version': 1000,
        'vcpus': totals['VCPU'],
        'memory_mb': totals['MEMORY_MB'],
        'local_gb': totals['DISK_GB'],
        'vcpus_used': used['VCPU'],
        'memory_mb_used': used['MEMORY_MB'],
        'local_gb_used': used['DISK_GB'],
        'free_ram_mb': totals['MEMORY_MB'] - used['MEMORY_MB'],
        'free_disk_gb': totals['DISK_GB'] - used['DISK_GB'],
        'disk_available_least': totals['DISK_GB'] - used['DISK_GB'],
        'current_workload': 0,
        'running_vms': len(host.servers),
        'cpu_info': '{}',
        'supported_instances': json.dumps([['x86_64', 'fake', 'hvm']]),
        'metrics': '[]',
        'stats': json.dumps({'num_instances': str(len(host.servers))}),
        'cpu_allocation_ratio': 1.0,
        'ram_allocation_ratio': 1.0,
        'disk_allocation_ratio': 1.0,
        'mapped': 1,
        'deleted': 0,
    }


def _instance(host, server, flavor, now):
    return {
        'uuid': server,
        'host': host.name,
        'node': host.name,
        'project_id': PROJECT,
        'user_id': USER,
        'vm_state': 'active',
        'power_state': 1,
        'vcpus': flavor.vcpus,
        'memory_mb': flavor.memory,
        'root_gb': flavor.disk,
        'ephemeral_gb': 0,
        'hostname': 'server',
        'display_name': 'server',
        'launched_at': now,
        'created_at': now,
        'updated_at': now,
        'deleted': 0,
    }


def write_api(connection, hosts, cell_ids):
    """Write host mappings and aggregates.

    :param cell_ids: ids of the cells' mappings, by their numbers
    """
    _insert(
        connection,
        api_models.HostMapping,
        (
            {'host': host.name, 'cell_id': cell_ids[host.cell]}
            for host in hosts
        ),
    )
    for (key, name), members in _aggregates(hosts).items():
        _write_aggregate(connection, key, name, members)


def _aggregates(hosts):
    """Return {(metadata key, value): hosts} of racks and zones."""
    found = collections.defaultdict(list)
    for host in hosts:
        found['rack', host.rack].append(host)
        found['availability_zone', host.zone].append(host)
    return found


def _aggregate_uuid(key, name):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f'{key} {name}'))


def _write_aggregate(connection, key, name, hosts):
    aggregate = {
        'uuid': _aggregate_uuid(key, name),
        'name': f'{key} {name}',
    }
    [aggregate_id] = connection.execute(
        sa.insert(api_models.Aggregate.__table__), aggregate
    ).inserted_primary_key
    own = {'aggregate_id': aggregate_id}
    _insert(
        connection,
        api_models.AggregateMetadata,
        [{**own, 'key': key, 'value': name}],
    )
    _insert(
        connection,
        api_models.AggregateHost,
        ({**own, 'host': host.name} for host in hosts),
    )


def write_placement(connection, hosts):
    """Write providers, inventories, traits and servers' allocations.

    Placement has made its tables and standard names before.
    """
    class_ids = _ids(connection, placement_models.ResourceClass)
    providers = [each for host in hosts for each in _providers(host)]
    numbers = {each['uuid']: n for n, each in enumerate(providers, 1)}
    _insert(
        connection,
        placement_models.ResourceProvider,
        (
            {
                'id': numbers[each['uuid']],
                'uuid': each['uuid'],
                'name': each['name'],
                'generation': 1,
                'root_provider_id': numbers[each['root']],
                'parent_provider_id': numbers.get(each['parent']),
            }
            for each in providers
        ),
    )
    _insert(
        connection,
        placement_models.Inventory,
        (
            _inventory(numbers[each['uuid']], class_ids[name], total)
            for each in providers
            for name, total in each['totals'].items()
        ),
    )
    trait_ids = _ids(connection, placement_models.Trait)
    _insert(
        connection,
        placement_models.ResourceProviderTrait,
        (
            {
                'resource_provider_id': numbers[host.uuid],
                'trait_id': trait_ids[name],
            }
            for host in hosts
            for name in (*host.kind.traits, *TRAITS)
        ),
    )
    _write_provider_aggregates(connection, hosts, numbers)
    _write_consumers(connection, hosts)
    _insert(
        connection,
        placement_models.Allocation,
        (
            {
                'resource_provider_id': numbers[host.uuid],
                'consumer_id': server,
                'resource_class_id': class_ids[name],
                'used': amount,
            }
            for host in hosts
            for server, flavor in host.servers
            for name, amount in flavor.amounts.items()
        ),
    )


def _write_provider_aggregates(connection, hosts, numbers):
    aggregates = _aggregates(hosts)
    ids = {pair: number for number, pair in enumerate(aggregates, 1)}
    _insert(
        connection,
        placement_models.PlacementAggregate,
        (
            {'id': ids[pair], 'uuid': _aggregate_uuid(*pair)}
            for pair in aggregates
        ),
    )
    _insert(
        connection,
        placement_models.ResourceProviderAggregate,
        (
            {
                'resource_provider_id': numbers[host.uuid],
                'aggregate_id': ids[pair],
            }
            for pair, members in aggregates.items()
            for host in members
        ),
    )


def _providers(host):
    yield {
        'uuid': host.uuid,
        'name': host.name,
        'root': host.uuid,
        'parent': None,
        'totals': host.kind.totals,
    }
    for number in range(host.kind.devices):
        yield {
            'uuid': str(uuid.uuid5(uuid.UUID(host.uuid), str(number))),
            'name': f'{host.name}_device_{number}',
            'root': host.uuid,
            'parent': host.uuid,
            'totals': {DEVICE: 1},
        }


def _inventory(provider_id, class_id, total):
    return {
        'resource_provider_id': provider_id,
        'resource_class_id': class_id,
        'total': total,
        'reserved': 0,
        'min_unit': 1,
        'max_unit': total,
        'step_size': 1,
        'allocation_ratio': 1.0,
    }


def _write_consumers(connection, hosts):
    ids = {}
    for model, values in (
        (placement_models.Project, {'external_id': PROJECT}),
        (placement_models.User, {'external_id': USER}),
        (placement_models.ConsumerType, {'name': 'INSTANCE'}),
    ):
        [ids[model]] = connection.execute(
            sa.insert(model.__table__), values
        ).inserted_primary_key
    _insert(
        connection,
        placement_models.Consumer,
        (
            {
                'uuid': server,
                'project_id': ids[placement_models.Project],
                'user_id': ids[placement_models.User],
                'consumer_type_id': ids[placement_models.ConsumerType],
                'generation': 1,
            }
            for host in hosts
            for server, _flavor in host.servers
        ),
    )


def _ids(connection, model):
    table = model.__table__
    found = connection.execute(sa.select(table.c.name, table.c.id))
    return dict(tuple(row) for row in found)


def _insert(connection, model, rows):
    """Insert rows with the same columns, by the chunk."""
    iterator = iter(rows)
    while chunk := list(itertools.islice(iterator, CHUNK)):
        connection.execute(sa.insert(model.__table__), chunk)
