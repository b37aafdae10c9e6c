# SPDX-License-Identifier: Apache-2.0
"""Servers that are being built, looked for at little cost.

The API's answers would cost about as much as what benchmarks measure.
"""

from nova import context as nova_context
from nova import objects
from nova.compute import vm_states
from nova.db.api import api as api_db
from nova.db.api import models


def building(context):
    """Return the ids of the servers that are neither built nor have failed."""
    found = _build_requests(context)
    for cell in objects.CellMappingList.get_all(context):
        with nova_context.target_cell(context, cell) as cell_context:
            found |= {
                each.uuid
                for each in objects.InstanceList.get_by_filters(
                    cell_context,
                    {'vm_state': vm_states.BUILDING, 'deleted': False},
                    expected_attrs=[],
                )
            }
    return found


@api_db.context_manager.reader
def _build_requests(context):
    found = context.session.query(models.BuildRequest.instance_uuid)
    return {server for (server,) in found}
