# SPDX-License-Identifier: Apache-2.0
"""Heat in a real cloud: its API, its engine with workers, and its accounts.

Stacks' deferred operations use trusts, and their users are in a domain of
Heat's own, as operators have it; limits are Heat's defaults.
"""

import pathlib

from keystoneauth1 import exceptions as ks_exc

from tests.heat import process as heat_process
from tests.real_cloud import accounts
from tests.real_cloud import config
from tests.real_cloud import layout as layouts
from tests.real_cloud import processes

DOMAIN, DOMAIN_ADMIN = 'heat', 'heat_domain_admin'
ROLES = ('heat_stack_owner', 'heat_stack_user')

HEAT_CONF = """\
[DEFAULT]
use_stderr = true
transport_url = {bus}
plugin_dirs = {plugins}
region_name_for_services = {region}
heat_metadata_server_url = {heat}
auth_encryption_key = {secret}
stack_user_domain_name = {domain}
stack_domain_admin = {domain_admin}
stack_domain_admin_password = {secret}

[database]
connection = {database}

[oslo_messaging_rabbit]
# For one broker alone.
rabbit_quorum_queue = false

[paste_deploy]
api_paste_config = {environment}/etc/heat/api-paste.ini

[keystone_authtoken]
www_authenticate_uri = {keystone}/v3
{auth}

[trustee]
{account}

[clients_keystone]
auth_uri = {keystone}
"""


def environment() -> pathlib.Path:
    return heat_process.environment()


def write(layout: layouts.Layout) -> None:
    """Write heat.conf."""
    keystone = layout.url('keystone')
    text = HEAT_CONF.format(
        bus=layout.bus('heat'),
        plugins=heat_process.PLUGINS,
        region=config.REGION,
        heat=layout.url('heat'),
        secret=layout.secret,
        domain=DOMAIN,
        domain_admin=DOMAIN_ADMIN,
        database=layout.database('heat'),
        environment=environment(),
        keystone=keystone,
        auth=config.auth(layout, 'heat'),
        # A trust has the scope.
        account=config.account(layout, 'heat'),
    )
    _file(layout).parent.mkdir(exist_ok=True)
    _file(layout).write_text(text)


def _file(layout):
    return layout.state / '.heat/heat.conf'


def variables(layout: layouts.Layout) -> dict[str, str]:
    """Return the environment in which Heat's API finds its file."""
    return {'HOME': str(layout.state)}


def tables(layout: layouts.Layout) -> processes.Command:
    return _command(layout, 'heat-manage', 'db_sync')


def engine(layout: layouts.Layout) -> processes.Command:
    return _command(layout, 'heat-engine')


def _command(layout, program, *arguments):
    return processes.Command(
        program,
        (
            str(environment() / 'bin' / program),
            *('--config-file', str(_file(layout)), *arguments),
        ),
    )


def make_accounts(layout: layouts.Layout) -> None:
    """Make the roles, and the domain whose users stacks have."""
    identity = accounts.connect(layout).identity
    for name in ROLES:
        if identity.find_role(name) is None:
            identity.create_role(name=name)
    domain = identity.find_domain(DOMAIN) or identity.create_domain(
        name=DOMAIN
    )
    admin = identity.find_user(
        DOMAIN_ADMIN, domain_id=domain.id
    ) or identity.create_user(
        name=DOMAIN_ADMIN, domain_id=domain.id, password=layout.secret
    )
    identity.assign_domain_role_to_user(
        domain, admin, identity.find_role('admin')
    )


def is_up(layout: layouts.Layout) -> bool:
    """Check whether Heat's API gets answers of its engine."""
    orchestration = accounts.connect(layout, accounts.TENANTS[0]).orchestration
    try:
        return orchestration.get('/stacks').ok
    except ks_exc.ClientException:
        return False
