# SPDX-License-Identifier: Apache-2.0
"""Distinction between the first boot of a server and a move."""

from nova import exception
from nova import objects


def is_first_boot(context, server_uuid):
    """Check whether a server has no cell yet.

    A server without a mapping was deleted while it was being created.
    """
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server_uuid
        )
    except exception.InstanceMappingNotFound:
        return True
    return mapping.cell_mapping is None
