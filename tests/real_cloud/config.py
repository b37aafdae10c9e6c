# SPDX-License-Identifier: Apache-2.0
"""Configuration files of a real cloud with stock services."""

import configparser
import pathlib

from nova_groupext.cloud import config as try_out
from tests.real_cloud import layout as layouts

REGION = 'RegionOne'

NOVA_CONF = """\
[DEFAULT]
my_ip = 127.0.0.1
state_path = {state}
use_stderr = true
transport_url = {bus}
compute_driver = fake.TryOutDriver
service_down_time = 60
rpc_response_timeout = 60
reserved_host_memory_mb = 0
reserved_host_disk_mb = 0
initial_cpu_allocation_ratio = 1.0
initial_ram_allocation_ratio = 1.0
initial_disk_allocation_ratio = 1.0
# The fake driver loses its servers with its process.
sync_power_state_interval = -1
heal_instance_info_cache_interval = -1
running_deleted_instance_action = noop

[database]
connection = {database}

[oslo_concurrency]
lock_path = {state}/locks

[oslo_messaging_rabbit]
# For one broker alone.
rabbit_quorum_queue = false

[scheduler]
discover_hosts_in_cells_interval = 5

[image_cache]
manager_interval = -1

[workarounds]
# Hosts ask no database outside of their cell.
disable_group_policy_check_upcall = true

[quota]
instances = -1
cores = -1
ram = -1
key_pairs = -1
server_groups = -1
server_group_members = -1

[vnc]
enabled = false

[keystone_authtoken]
www_authenticate_uri = {keystone}/v3
{auth}

[service_user]
send_service_user_token = true
{auth}

[placement]
{auth}

[glance]
{auth}

[neutron]
{auth}

[keystone]
{auth}

[cinder]
{auth}
"""

# Only what serves all cells knows this database.
API_DATABASE = """
[api_database]
connection = {database}
"""

KEYSTONE_CONF = """\
[DEFAULT]
use_stderr = true

[database]
connection = {database}

[token]
provider = fernet

[fernet_tokens]
key_repository = {state}/fernet

[credential]
key_repository = {state}/credential

[identity]
# Tempest makes accounts by the hundred, whose passwords nobody attacks.
password_hash_rounds = 4
"""

GLANCE_CONF = """\
[DEFAULT]
use_stderr = true
enabled_backends = local:file

[database]
connection = {database}

[glance_store]
default_backend = local

[local]
filesystem_store_datadir = {state}/images

[os_glance_staging_store]
filesystem_store_datadir = {state}/staging

[os_glance_tasks_store]
filesystem_store_datadir = {state}/tasks

[paste_deploy]
flavor = keystone
config_file = {environment}/etc/glance/glance-api-paste.ini

[keystone_authtoken]
www_authenticate_uri = {keystone}/v3
{auth}
"""

PLACEMENT_CONF = """\
[DEFAULT]
use_stderr = true

[placement_database]
connection = {database}
sync_on_startup = true

[keystone_authtoken]
www_authenticate_uri = {keystone}/v3
{auth}
"""

ACCOUNT = """\
auth_type = password
auth_url = {keystone}/v3
username = {user}
password = {secret}
user_domain_id = default
"""
SCOPE = """\
project_name = service
project_domain_id = default
region_name = {region}"""


def write(layout: layouts.Layout, environment: pathlib.Path) -> None:
    """Write the files of all services into the state directory.

    :param environment: folder with keystone and glance
    """
    for name, template, database in (
        ('keystone', KEYSTONE_CONF, 'keystone'),
        ('glance-api', GLANCE_CONF, 'glance'),
        ('placement', PLACEMENT_CONF, 'placement'),
    ):
        _write(layout, name, template, database, environment=str(environment))
    _write(layout, 'nova', NOVA_CONF, 'cell0', bus=layout.bus('top'))
    api_database = API_DATABASE.format(database=layout.database('api'))
    with (layout.state / 'nova.conf').open('a') as out:
        out.write(api_database)
    for cell in layouts.CELLS:
        _write(layout, f'nova-{cell}', NOVA_CONF, cell, bus=layout.bus(cell))
    paste = pathlib.Path(try_out.shipped_paste()).read_text()
    (layout.state / 'api-paste.ini').write_text(paste)


def _write(layout, name, template, database, **values):
    text = template.format(
        state=layout.state,
        database=layout.database(database),
        keystone=layout.url('keystone'),
        auth=auth(layout, name.partition('-')[0]),
        **values,
    )
    (layout.state / f'{name}.conf').write_text(text)


def account(layout: layouts.Layout, service: str) -> str:
    """Return the options of a service's account alone, without its project."""
    return ACCOUNT.format(
        keystone=layout.url('keystone'), user=service, secret=layout.secret
    )


def auth(layout: layouts.Layout, service: str) -> str:
    """Return the options by which a service authenticates."""
    return account(layout, service) + SCOPE.format(region=REGION)


def set_options(file: pathlib.Path, block: str) -> None:
    """Add a block of options to a file, as an editor would.

    :param block: sections in INI format, without interpolation; an option that
        is named twice has two values
    """
    file.write_text(f'{file.read_text()}\n{block}\n')


def edit_paste(file: pathlib.Path, block: str) -> None:
    """Change a paste file as a block with ``...`` says.

    What a pipeline has in place of the dots stays.
    """
    paste, changes = _paste(file.read_text()), _paste(block)
    for section in changes.sections():
        if not paste.has_section(section):
            paste.add_section(section)
        for name, value in changes[section].items():
            if '...' in value:
                value = _fill_in(paste[section][name], value)
            paste[section][name] = value
    with file.open('w') as out:
        paste.write(out)


def _paste(text):
    parser = configparser.RawConfigParser()
    parser.optionxform = str
    parser.read_string(text)
    return parser


def _fill_in(pipeline: str, pattern: str) -> str:
    """Return a pipeline with what a pattern adds to it.

    :param pattern: first filter, dots, and the last filters
    """
    first, last = (part.split() for part in pattern.split('...'))
    filters = pipeline.split()
    if not filters[: len(first)] == first:
        raise ValueError(f'{pipeline} does not begin with {first}')
    known = [each for each in last if each in filters]
    kept = filters[: filters.index(known[0])]
    return ' '.join([*kept, *last])
