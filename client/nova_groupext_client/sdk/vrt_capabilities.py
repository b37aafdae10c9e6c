# SPDX-License-Identifier: Apache-2.0
"""What a cloud can do with VRT groups."""

from openstack import resource


class VrtCapabilities(resource.Resource):
    resource_key = 'capabilities'
    base_path = '/os-vrt-groups/capabilities'

    allow_fetch = True
    requires_id = False

    # Properties
    #: Counts up with what clients can rely on.
    version = resource.Body('version')
    #: The levels of the topology that policies may speak of, smallest first.
    scopes = resource.Body('scopes', type=list, list_type=str)
    #: {type: {parameter: JSON schema with ``required`` or ``default``}}
    policies = resource.Body('policies', type=dict)
    #: {name of the limit: number}
    limits = resource.Body('limits', type=dict)
