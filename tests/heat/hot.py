# SPDX-License-Identifier: Apache-2.0
"""Templates of Heat (HOT) for the tests."""

import yaml

VERSION = '2021-04-16'


def template(resources, **sections):
    """Return a template as text.

    :param resources: a dictionary, or the whole template
    """
    if isinstance(resources, str):
        return resources
    return yaml.safe_dump(
        {'heat_template_version': VERSION, 'resources': resources, **sections}
    )


def group(**properties):
    return {'type': 'OS::Nova::VRTGroup', 'properties': properties}


def server(path, group='group', **properties):
    """Return the definition of a server that is a member."""
    return {
        'type': 'OS::Nova::Server',
        'properties': {
            'flavor': 'm1.tiny',
            'image': 'cirros',
            'networks': [{'allocate_network': 'none'}],
            'scheduler_hints': {
                'vrt_group': {'get_resource': group},
                'vrt_member': path,
            },
            **properties,
        },
    }


def value(of, **more):
    return {'type': 'OS::Heat::Value', 'properties': {'value': of}, **more}


def many(count, definition, **more):
    """Return a ResourceGroup of servers."""
    return {
        'type': 'OS::Heat::ResourceGroup',
        'properties': {'count': count, 'resource_def': definition},
        **more,
    }
