# SPDX-License-Identifier: Apache-2.0
"""Is a server being created, or is it moving?"""

from nova import exception
from nova import objects


def is_first_boot(context, server_uuid):
    """Tell whether the server has no cell yet.

    A server whose mapping is gone was deleted while it was being created.
    """
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server_uuid
        )
    except exception.InstanceMappingNotFound:
        return True
    return mapping.cell_mapping is None
