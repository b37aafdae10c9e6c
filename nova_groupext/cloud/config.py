# SPDX-License-Identifier: Apache-2.0
"""Configuration files of a try-out cloud, in its state directory."""

import configparser
from importlib import metadata

import yaml

from nova_groupext.cloud import accounts
from nova_groupext.cloud import identity

NOVA_CONF = """\
[DEFAULT]
host = controller
state_path = {state}
log_file = {state}/cloud.log
use_stderr = false
transport_url = fake:///
compute_driver = fake.TryOutDriver
reserved_host_memory_mb = 0
reserved_host_disk_mb = 0
initial_cpu_allocation_ratio = 1.0
initial_ram_allocation_ratio = 1.0
initial_disk_allocation_ratio = 1.0
# The fake driver loses its servers at the end of the process, the database
# keeps them: do not mark them as shut down.
sync_power_state_interval = -1
heal_instance_info_cache_interval = -1
shelved_poll_interval = -1
running_deleted_instance_action = noop

[api_database]
connection = {databases[api]}
sqlite_synchronous = false

[database]
connection = {databases[cell1]}
sqlite_synchronous = false

[vrt_database]
sqlite_synchronous = false

[oslo_concurrency]
lock_path = {state}/locks

[image_cache]
manager_interval = -1

[quota]
instances = -1
cores = -1
ram = -1
key_pairs = -1
server_groups = -1
server_group_members = -1

[vnc]
enabled = false

[glance]
endpoint_override = {url}/image
{auth}

[neutron]
endpoint_override = {url}/network
{auth}

[keystone]
endpoint_override = {url}/identity/v3
{auth}

[placement]
endpoint_override = {url}/placement
{auth}
"""

AUTH = """\
auth_type = password
auth_url = {url}/identity/v3
username = {user.name}
password = {password}
user_domain_id = default
project_name = {user.project}
project_domain_id = default
region_name = {region}"""

PLACEMENT_CONF = """\
[api]
auth_strategy = noauth2

[placement_database]
connection = {databases[placement]}
sqlite_synchronous = false
sync_on_startup = true
"""


def write(state, url, databases, parts):
    """Write the configuration files of services and clients into ``state``.

    :param databases: URLs of ``api``, ``cell1`` and ``placement``
    """
    auth = AUTH.format(
        url=url,
        user=accounts.NOVA,
        password=accounts.NOVA.password,
        region=identity.REGION,
    )
    nova = NOVA_CONF.format(
        state=state, url=url, databases=databases, auth=auth
    )
    (state / 'nova.conf').write_text(f'{nova}\n{parts.config}\n')
    placement = PLACEMENT_CONF.format(databases=databases)
    (state / 'placement.conf').write_text(
        f'{placement}\n{parts.placement_config}\n'
    )
    _write_paste(state / 'api-paste.ini', parts)
    _write_clouds(state / 'clouds.yaml', url)


def _write_paste(path, parts):
    """Write Nova's paste file with our token filter and the given parts."""
    paste = configparser.RawConfigParser()
    paste.optionxform = str
    paste.read(shipped_paste())
    paste['filter:authtoken'] = {
        'paste.filter_factory': (
            'nova_groupext.cloud.tokens:IdentityHeaders.factory'
        )
    }
    for name, factory in parts.filters:
        paste[f'filter:{name}'] = {'paste.filter_factory': factory}
    app = 'osapi_compute_app_v21'
    paste[f'app:{app}'] = {'paste.app_factory': parts.router}
    names = [name for name, _factory in parts.filters]
    for version in ('v21', 'v21_legacy_v2_compatible'):
        section = paste[f'composite:openstack_compute_api_{version}']
        section['keystone'] = section['keystone'].replace(
            app, ' '.join([*names, app])
        )
    with path.open('w') as out:
        paste.write(out)


def shipped_paste():
    files = metadata.files('nova')
    return next(f for f in files if f.name == 'api-paste.ini').locate()


def _write_clouds(path, url):
    clouds = {
        f'vrt-{tenant.name}': _cloud(tenant, url)
        for tenant in accounts.TENANTS
    }
    path.write_text(yaml.safe_dump({'clouds': clouds}, sort_keys=False))


def _cloud(tenant, url):
    return {
        'auth': {
            'auth_url': f'{url}/identity/v3',
            'username': tenant.name,
            'password': tenant.password,
            'project_name': tenant.project,
            'user_domain_id': 'default',
            'project_domain_id': 'default',
        },
        'region_name': identity.REGION,
        'identity_api_version': '3',
    }
