# SPDX-License-Identifier: Apache-2.0
"""Tempest's files for a try-out cloud: ``tempest.conf``, ``accounts.yaml``."""

import configparser

from keystoneauth1 import identity
from keystoneauth1 import session
from novaclient import client as nova_client
import yaml

from nova_groupext.cloud import accounts
from nova_groupext.cloud import image

FLAVOR, LARGER_FLAVOR = 'm1.tiny', 'm1.small'
# The roles by which Tempest chooses accounts; in Keystone each implies the
# next one.
ROLES = ('admin', 'manager', 'member', 'reader')


def write(directory, clouds_yaml, hosts):
    """Write the files; return the path of ``tempest.conf``.

    :param directory: where Tempest keeps what it writes, too
    :param clouds_yaml: path of the cloud's ``clouds.yaml``
    :param hosts: number of the cloud's hosts
    """
    clouds = yaml.safe_load(clouds_yaml.read_text())['clouds']
    accounts_yaml = directory / 'accounts.yaml'
    accounts_yaml.write_text(yaml.safe_dump(_accounts(clouds)))
    config = configparser.RawConfigParser()
    config.read_dict(_config(directory, accounts_yaml, clouds, hosts))
    path = directory / 'tempest.conf'
    with path.open('w') as out:
        config.write(out)
    return path


def _accounts(clouds):
    """Return the entries of ``accounts.yaml``.

    Tempest takes the first free account as the other project's, whatever
    project that is of, so the only one of another project comes first.
    """
    ordered = sorted(clouds, key=lambda name: name != 'vrt-other')
    return [_account(name, clouds[name]['auth']) for name in ordered]


def _account(name, auth):
    account = accounts.by_name(name.removeprefix('vrt-'))
    return {
        'username': auth['username'],
        'project_name': auth['project_name'],
        'password': auth['password'],
        'user_domain_name': 'Default',
        'project_domain_name': 'Default',
        'domain_name': 'Default',
        # Not those that it implies: a manager would be taken for a member.
        'roles': [next(role for role in ROLES if role in account.roles)],
    }


def _config(directory, accounts_yaml, clouds, hosts):
    admin = clouds['vrt-admin']
    flavors = _flavors(admin)
    return {
        'DEFAULT': {'log_file': directory / 'tempest.log'},
        'oslo_concurrency': {'lock_path': directory / 'locks'},
        'auth': {
            'use_dynamic_credentials': False,
            'test_accounts_file': accounts_yaml,
            'create_isolated_networks': False,
        },
        'identity': {
            'auth_version': 'v3',
            'uri_v3': admin['auth']['auth_url'],
            'region': admin['region_name'],
        },
        'service_available': {
            'neutron': True,
            'cinder': False,
            'glance': True,
            'swift': False,
        },
        'compute': {
            'image_ref': image.image_id('cirros'),
            'image_ref_alt': image.image_id('cirros'),
            'flavor_ref': flavors[FLAVOR],
            'flavor_ref_alt': flavors[LARGER_FLAVOR],
            'min_compute_nodes': hosts,
            'min_microversion': '2.1',
            'max_microversion': 'latest',
            'build_interval': 1,
            'build_timeout': 60,
        },
        'compute-feature-enabled': {
            'resize': True,
            'cold_migration': True,
        },
        'validation': {'run_validation': False},
        'vrt': {
            'build_timeout': 60,
            'build_interval': 0.2,
            'check_allocations': True,
        },
    }


def _flavors(cloud):
    """Return the ids of the cloud's flavors by their names."""
    auth = identity.V3Password(**cloud['auth'])
    nova = nova_client.Client('2.1', session=session.Session(auth))
    return {flavor.name: flavor.id for flavor in nova.flavors.list()}
