# SPDX-License-Identifier: Apache-2.0
"""SDK resource of a cloud's VRT capabilities."""

from openstack import resource


class VrtCapabilities(resource.Resource):
    resource_key = 'capabilities'
    base_path = '/os-vrt-groups/capabilities'

    allow_fetch = True
    requires_id = False

    # Properties
    #: Version of the guaranteed features, such as ``1.0``; it only grows.
    version = resource.Body('version')
    #: Names of what this version does.
    features = resource.Body('features', type=list)
    #: Levels of the topology that policies can name, smallest first.
    scopes = resource.Body('scopes', type=list, list_type=str)
    #: {type: {parameter: JSON schema with ``required`` or ``default``}}
    policies = resource.Body('policies', type=dict)
    #: {name of a limit: number}
    limits = resource.Body('limits', type=dict)
    #: Quota of the project: {resource: {"limit": -1 for none, "used": by
    #: servers, "held": in addition to "used"}}
    quota = resource.Body('quota', type=dict)
