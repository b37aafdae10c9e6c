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

from nova_groupext import chunks

LOG = logging.getLogger(__name__)

# Number of servers per query.
READ_AT_ONCE = 1000

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

    @property
    def is_offloaded(self):
        """True if the server is on no host, and may come back."""
        return self.is_shelved and self.host is None


def read(context, uuids):
    """Return {uuid: Server} of those servers whose state is known now.

    Servers in a cell that does not answer are left out, and servers that are
    moved to another cell just now.
    """
    servers = {}
    for some in chunks.chunked(uuids, READ_AT_ONCE):
        servers |= _read_some(context, some)
    return servers


def list_mapped(context, uuids):
    """Return the set of those uuids that have an instance mapping in Nova."""
    mapped = set()
    for some in chunks.chunked(uuids, READ_AT_ONCE):
        mapped |= _cell_mappings(context, some).keys()
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


def _cell_mappings(context, uuids):
    """Return {uuid: CellMapping or None} of the servers with a mapping."""
    mappings = objects.InstanceMappingList.get_by_instance_uuids(
        context, uuids
    )
    return {
        mapping.instance_uuid: mapping.cell_mapping for mapping in mappings
    }


def _read_some(context, uuids):
    mappings = _cell_mappings(context, uuids)
    servers = {
        uuid: _without_cell(context, uuid)
        for uuid in uuids
        if mappings.get(uuid) is None
    }
    cells = {cell.uuid: cell for cell in mappings.values() if cell}
    missing = set()
    for cell in cells.values():
        cell_uuids = {
            uuid
            for uuid, mapped_cell in mappings.items()
            if mapped_cell and mapped_cell.uuid == cell.uuid
        }
        found = _read_cell(context, cell, cell_uuids)
        if found is not None:
            servers |= found
            missing |= cell_uuids - found.keys()
    return servers | _judge_missing(context, mappings, missing)


def _judge_missing(context, mappings, uuids):
    """Return {uuid: Server} of those that were deleted and purged.

    A resize to another cell maps a server to that cell, and then hides its old
    row. So a server whose mapping has changed meanwhile is left out.

    :param mappings: {uuid: CellMapping} before the cells were read
    :param uuids: of servers that their cells do not have
    """
    later = _cell_mappings(context, uuids) if uuids else {}
    return {
        uuid: Server(ServerOutcome.DELETED)
        for uuid in uuids
        if (cell := later.get(uuid)) and cell.uuid == mappings[uuid].uuid
    }


def _without_cell(context, uuid):
    """Return the Server of an uuid that is mapped to no cell."""
    try:
        objects.BuildRequest.get_by_instance_uuid(context, uuid)
    except nova_exc.BuildRequestNotFound:
        return Server(ServerOutcome.UNKNOWN_TO_NOVA)
    return Server(ServerOutcome.CREATING)


def _read_cell(context, cell, uuids):
    """Return {uuid: Server} of one cell, or None if it does not answer."""
    results = nova_context.scatter_gather_single_cell(
        context.elevated(read_deleted='yes'),
        cell,
        objects.InstanceList.get_by_filters,
        {'uuid': [*uuids]},
        expected_attrs=[],
    )
    instances = results[cell.uuid]
    if nova_context.is_cell_failure_sentinel(instances):
        LOG.warning(
            'Cell %s does not answer; its servers are skipped.',
            cell.identity,
        )
        return None
    return {instance.uuid: _server(cell, instance) for instance in instances}


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
