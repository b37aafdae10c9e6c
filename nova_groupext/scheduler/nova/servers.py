# SPDX-License-Identifier: Apache-2.0
"""The states of servers, according to Nova's databases."""

import dataclasses
import enum

from nova import context as nova_context
from nova import exception as nova_exc
from nova import objects
from nova.compute import task_states
from nova.compute import vm_states
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

# Number of servers per query.
_BATCH_SIZE = 200

_DELETING = (task_states.DELETING, task_states.SOFT_DELETING)
# States of servers whose records are still there: in the second one Nova frees
# the allocation first.
_DELETED = (vm_states.SOFT_DELETED, vm_states.DELETED)


class ServerOutcome(enum.Enum):
    """State of a server as far as its member depends on it."""

    # Waits for its scheduler or conductor.
    CREATING = 'being created'
    # Was deleted before it was scheduled, or was purged with its mapping.
    UNKNOWN_TO_NOVA = 'unknown to Nova'
    # Is in cell0: the scheduler found no host for it.
    UNSCHEDULED = 'unscheduled'
    LIVE = 'live'
    # Is in a cell, and in ERROR.
    IN_ERROR = 'in ERROR'
    DELETED = 'deleted'


_GONE = (
    ServerOutcome.UNKNOWN_TO_NOVA,
    ServerOutcome.UNSCHEDULED,
    ServerOutcome.DELETED,
)


@dataclasses.dataclass(frozen=True)
class Server:
    """A server, as recorded in its cell.

    :ivar outcome: ServerOutcome
    :ivar host: None while the server is on no host
    :ivar node: the compute node's name
    :ivar is_moving: whether the server may soon be on another host
    :ivar is_shelved: whether it has left its host and may come back
    :ivar is_deleting: whether Nova is deleting it, or will after a time
    :ivar flavor: the database id of its flavor
    :ivar image: the id of its image, '' if it was booted from a volume
    """

    outcome: ServerOutcome
    host: str | None = None
    node: str | None = None
    is_moving: bool = False
    is_shelved: bool = False
    is_deleting: bool = False
    flavor: int | None = None
    image: str = ''


def read(context, uuids):
    """Return {uuid: Server} of those servers whose state is known now.

    Servers in a cell that does not answer are left out.
    """
    servers = {}
    for batch in _batches(uuids):
        servers |= _read_batch(context, batch)
    return servers


def list_mapped(context, uuids):
    """Return the set of those uuids that have an instance mapping in Nova."""
    mapped = set()
    for batch in _batches(uuids):
        mapped |= _cell_mappings(context, batch).keys()
    return mapped


def read_image(context, server_uuid):
    """Return the ImageMeta of a server's image, as a primitive.

    :raises: nova.exception.NotFound if the server is gone
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(
        context, server_uuid
    )
    with nova_context.target_cell(context, mapping.cell_mapping) as in_cell:
        server = objects.Instance.get_by_uuid(
            in_cell, server_uuid, expected_attrs=['system_metadata']
        )
        return server.image_meta.obj_to_primitive()


def find_ending(context, uuids):
    """Return (uuids of servers that have ended, of those being deleted).

    A server for which Nova has found no host has ended; so has a failed build,
    which is in ERROR and on no host.
    """
    found = read(context, uuids)
    ended = {uuid for uuid, each in found.items() if _has_ended(each)}
    deleting = {uuid for uuid, each in found.items() if each.is_deleting}
    return ended, deleting - ended


def _has_ended(server):
    if server.outcome == ServerOutcome.IN_ERROR:
        return server.host is None and not server.is_shelved
    return server.outcome in _GONE


def is_first_boot(context, server_uuid):
    """Check whether a server has no cell yet.

    A server without a mapping was deleted while it was being created.
    """
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server_uuid
        )
    except nova_exc.InstanceMappingNotFound:
        return True
    return mapping.cell_mapping is None


def _batches(uuids):
    for start in range(0, len(uuids), _BATCH_SIZE):
        yield uuids[start : start + _BATCH_SIZE]


def _cell_mappings(context, uuids):
    """Return {uuid: CellMapping or None} of the servers with a mapping."""
    mappings = objects.InstanceMappingList.get_by_instance_uuids(
        context, uuids
    )
    return {
        mapping.instance_uuid: mapping.cell_mapping for mapping in mappings
    }


def _read_batch(context, uuids):
    mappings = _cell_mappings(context, uuids)
    servers = {
        uuid: _without_cell(context, uuid)
        for uuid in uuids
        if mappings.get(uuid) is None
    }
    cells = {cell.uuid: cell for cell in mappings.values() if cell}
    for cell in cells.values():
        cell_uuids = [
            uuid
            for uuid, mapped_cell in mappings.items()
            if mapped_cell and mapped_cell.uuid == cell.uuid
        ]
        servers |= _read_cell(context, cell, cell_uuids)
    return servers


def _without_cell(context, uuid):
    """Return the Server of an uuid that is mapped to no cell."""
    try:
        objects.BuildRequest.get_by_instance_uuid(context, uuid)
    except nova_exc.BuildRequestNotFound:
        return Server(ServerOutcome.UNKNOWN_TO_NOVA)
    return Server(ServerOutcome.CREATING)


def _read_cell(context, cell, uuids):
    """Return {uuid: Server} of one cell, or {} if it does not answer."""
    results = nova_context.scatter_gather_single_cell(
        context.elevated(read_deleted='yes'),
        cell,
        objects.InstanceList.get_by_filters,
        {'uuid': uuids},
        expected_attrs=[],
    )
    instances = results[cell.uuid]
    if nova_context.is_cell_failure_sentinel(instances):
        LOG.warning(
            'Cell %s does not answer; its servers are skipped.',
            cell.identity,
        )
        return {}
    servers = {
        instance.uuid: _server(cell, instance) for instance in instances
    }
    # A mapping without an instance: the server was deleted and purged.
    return {
        uuid: servers.get(uuid, Server(ServerOutcome.DELETED))
        for uuid in uuids
    }


def _server(cell, instance):
    is_busy = instance.task_state is not None
    return Server(
        _outcome(cell, instance),
        host=instance.host,
        node=instance.node,
        # Every move has a task state, and so have some other operations. A
        # resize that waits for its confirmation is a VM state.
        is_moving=is_busy or instance.vm_state == vm_states.RESIZED,
        is_shelved=instance.vm_state == vm_states.SHELVED_OFFLOADED,
        is_deleting=instance.task_state in _DELETING
        or instance.vm_state in _DELETED,
        flavor=instance.instance_type_id,
        image=instance.image_ref or '',
    )


def _outcome(cell, instance):
    if instance.deleted:
        return ServerOutcome.DELETED
    if cell.is_cell0():
        return ServerOutcome.UNSCHEDULED
    if instance.vm_state == vm_states.ERROR:
        return ServerOutcome.IN_ERROR
    return ServerOutcome.LIVE
