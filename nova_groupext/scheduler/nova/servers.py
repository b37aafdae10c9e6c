# SPDX-License-Identifier: Apache-2.0
"""The states of servers, according to Nova's databases."""

import dataclasses
import enum

from nova import context as nova_context
from nova import exception as nova_exc
from nova import objects
from nova.compute import vm_states
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

# Number of servers per query.
_AT_ONCE = 200


class ServerOutcome(enum.Enum):
    # Waits for its scheduler or conductor.
    COMING = 'coming'
    # Was deleted before it was scheduled, or was purged with its mapping.
    UNKNOWN_TO_NOVA = 'unknown to Nova'
    # Is in cell0: the scheduler found no host for it.
    UNSCHEDULED = 'unscheduled'
    LIVE = 'live'
    # Is in a cell, and in ERROR.
    BROKEN = 'broken'
    DELETED = 'deleted'


@dataclasses.dataclass(frozen=True)
class Server:
    """A server, as recorded in its cell.

    :ivar fate: ServerOutcome
    :ivar host: None while the server is on no host
    :ivar node: the compute node's name
    :ivar is_moving: whether the server may soon be on another host
    :ivar is_shelved: whether it has left its host and may come back
    :ivar flavor: the database id of its flavor
    """

    fate: ServerOutcome
    host: str | None = None
    node: str | None = None
    is_moving: bool = False
    is_shelved: bool = False
    flavor: int | None = None


def read(context, uuids):
    """Return {uuid: Server} of those servers whose state is known now.

    Servers in a cell that does not answer are left out.
    """
    found = {}
    for some in _batches(uuids):
        found |= _read(context, some)
    return found


def mapped(context, uuids):
    """Return those of some uuids that have an instance mapping in Nova."""
    found = set()
    for some in _batches(uuids):
        found |= _cells(context, some).keys()
    return found


def _batches(uuids):
    for start in range(0, len(uuids), _AT_ONCE):
        yield uuids[start : start + _AT_ONCE]


def _cells(context, uuids):
    """Return {uuid: CellMapping or None} of the servers with a mapping."""
    found = objects.InstanceMappingList.get_by_instance_uuids(context, uuids)
    return {each.instance_uuid: each.cell_mapping for each in found}


def _read(context, uuids):
    mappings = _cells(context, uuids)
    found = {
        uuid: _before_its_cell(context, uuid)
        for uuid in uuids
        if mappings.get(uuid) is None
    }
    cells = {cell.uuid: cell for cell in mappings.values() if cell}
    for cell in cells.values():
        inside = [u for u, c in mappings.items() if c and c.uuid == cell.uuid]
        found |= _in_cell(context, cell, inside)
    return found


def _before_its_cell(context, uuid):
    try:
        objects.BuildRequest.get_by_instance_uuid(context, uuid)
    except nova_exc.BuildRequestNotFound:
        return Server(ServerOutcome.UNKNOWN_TO_NOVA)
    return Server(ServerOutcome.COMING)


def _in_cell(context, cell, uuids):
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
            'Cell %s does not answer; nothing is concluded of its servers.',
            cell.identity,
        )
        return {}
    found = {instance.uuid: _server(cell, instance) for instance in instances}
    # A mapping without an instance: the server was deleted and purged.
    return {
        uuid: found.get(uuid, Server(ServerOutcome.DELETED)) for uuid in uuids
    }


def _server(cell, instance):
    is_busy = instance.task_state is not None
    return Server(
        _fate(cell, instance),
        host=instance.host,
        node=instance.node,
        # Every move has a task state, and so have some other operations. A
        # resize that waits for its confirmation is a VM state.
        is_moving=is_busy or instance.vm_state == vm_states.RESIZED,
        is_shelved=instance.vm_state == vm_states.SHELVED_OFFLOADED,
        flavor=instance.instance_type_id,
    )


def _fate(cell, instance):
    if instance.deleted:
        return ServerOutcome.DELETED
    if cell.is_cell0():
        return ServerOutcome.UNSCHEDULED
    if instance.vm_state == vm_states.ERROR:
        return ServerOutcome.BROKEN
    return ServerOutcome.LIVE
