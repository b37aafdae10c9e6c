# SPDX-License-Identifier: Apache-2.0
"""Capabilities of this cloud: policies, scopes, limits and quota."""

import dataclasses

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.solver.language import schemas
from nova_groupext.solver.language import topology

#: Version of the features that clients can rely on.
VERSION = '1.0'

LIMITS = (
    'max_members',
    'max_depth',
    'max_entries_per_list',
    'max_classes',
    'max_body_size',
    'max_groups_per_project',
    'max_planning_per_project',
    'max_held_members_per_project',
    'default_expires_in',
    'max_expires_in',
    'max_hold_lifetime',
)


def view(quotas):
    """Return the answer to ``GET /os-vrt-groups/capabilities``.

    :param quotas: {resource: {limit, used, held}} of the caller's project
    """
    return {
        'capabilities': {
            'version': VERSION,
            'scopes': vrt.levels(CONF),
            'policies': {
                name: _parameters(schema)
                for name, schema in schemas.GROUP_POLICIES.items()
            },
            'limits': {name: CONF.vrt[name] for name in LIMITS},
            'quota': quotas,
        }
    }


def _parameters(schema):
    """Return {parameter: its JSON schema plus ``required`` or ``default``}."""
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(topology.Policy)
    }
    return {
        name: {
            **shape,
            **(
                {'required': True}
                if name in schema['required']
                else {'default': defaults[name]}
            ),
        }
        for name, shape in schema['properties'].items()
        if name != 'type'
    }
