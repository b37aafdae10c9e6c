# SPDX-License-Identifier: Apache-2.0
"""``tempest.conf`` for a real cloud: Tempest makes the accounts itself."""

import configparser
import pathlib

from tests.real_cloud import accounts
from tests.real_cloud import config
from tests.real_cloud import layout as layouts

FLAVOR, LARGER_FLAVOR = 'm1.tiny', 'm1.small'


def write(directory: pathlib.Path, layout: layouts.Layout) -> pathlib.Path:
    """Write the file, and return its path.

    :param directory: where Tempest keeps what it writes, too
    """
    parser = configparser.RawConfigParser()
    parser.read_dict(_settings(directory, layout))
    path = directory / 'tempest.conf'
    with path.open('w') as out:
        parser.write(out)
    return path


def _settings(directory, layout):
    conn = accounts.connect(layout)
    image = conn.image.find_image(accounts.IMAGE).id
    flavors = {each.name: each.id for each in conn.compute.flavors()}
    return {
        'DEFAULT': {'log_file': directory / 'tempest.log'},
        'oslo_concurrency': {'lock_path': directory / 'locks'},
        'auth': {
            'use_dynamic_credentials': True,
            'admin_username': 'admin',
            'admin_project_name': 'admin',
            'admin_domain_name': 'Default',
            'admin_password': layout.secret,
            # The stub of the network has one network for all.
            'create_isolated_networks': False,
        },
        'identity': {
            'auth_version': 'v3',
            'uri_v3': f'{layout.url("keystone")}/v3',
            'region': config.REGION,
        },
        'service_available': {
            'neutron': True,
            'cinder': False,
            'glance': True,
            'swift': False,
        },
        'network': {'project_networks_reachable': False},
        'compute': {
            'image_ref': image,
            'image_ref_alt': image,
            'flavor_ref': flavors[FLAVOR],
            'flavor_ref_alt': flavors[LARGER_FLAVOR],
            'min_compute_nodes': layouts.HOSTS_PER_CELL * len(layouts.CELLS),
            'min_microversion': '2.1',
            'max_microversion': 'latest',
            'build_interval': 1,
            'build_timeout': 200,
        },
        'compute-feature-enabled': {
            'resize': True,
            'cold_migration': True,
            # Servers do not move between cells.
            'live_migration': False,
            # The fake driver uploads no image.
            'snapshot': False,
        },
        'validation': {'run_validation': False},
        'vrt': {
            'build_timeout': 200,
            'build_interval': 0.5,
            'check_allocations': True,
        },
    }
