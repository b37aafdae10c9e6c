# SPDX-License-Identifier: Apache-2.0
"""Accounts, catalogue, flavors, image and aggregates of a real cloud."""

import contextlib

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from novaclient import client as nova_client
import openstack
import yaml

from nova_groupext.cloud import image
from nova_groupext.cloud import seed_data
from tests.real_cloud import config
from tests.real_cloud import layout as layouts

#: Services with an account, and the path of their endpoints.
SERVICES = {
    'glance': ('image', ''),
    'placement': ('placement', ''),
    'network': ('network', '/network'),
    'nova': ('compute', '/v2.1'),
    'heat': ('orchestration', '/v1/$(project_id)s'),
}
#: Tenants: their project has the same name.
TENANTS = ('demo', 'other')
IMAGE = 'cirros'
USAGES = '/resource_providers/{}/usages'


def write_clouds(layout: layouts.Layout) -> None:
    """Write clouds.yaml with the admin and the tenants."""
    clouds = {
        f'vrt-{user}': {
            'region_name': config.REGION,
            'auth': {
                'auth_url': f'{layout.url("keystone")}/v3',
                'username': user,
                'password': layout.secret,
                'project_name': user,
                'user_domain_id': 'default',
                'project_domain_id': 'default',
            },
        }
        for user in ('admin', *TENANTS)
    }
    file = layout.state / 'clouds.yaml'
    file.write_text(yaml.safe_dump({'clouds': clouds}))
    file.chmod(0o600)


def connect(layout: layouts.Layout, user: str = 'admin'):
    """Return an SDK connection of a user."""
    loader = openstack.config.OpenStackConfig(
        config_files=[str(layout.state / 'clouds.yaml')]
    )
    return openstack.connection.Connection(
        config=loader.get_one(f'vrt-{user}')
    )


def nova(layout: layouts.Layout, user: str = 'admin'):
    """Return a novaclient of a user."""
    session = connect(layout, user).session
    return nova_client.Client('2.96', session=session)


def make_accounts(layout: layouts.Layout) -> None:
    """Make the missing projects, users, roles and endpoints."""
    conn = connect(layout)
    identity = conn.identity
    roles = {
        name: identity.find_role(name) or identity.create_role(name=name)
        for name in ('admin', 'member', 'reader', 'service')
    }
    for project, user, names in (
        *(('service', each, ('admin', 'service')) for each in SERVICES),
        *((each, each, ('member', 'reader')) for each in TENANTS),
    ):
        of = _find_or_create(identity, 'project', project)
        account = identity.find_user(user) or identity.create_user(
            name=user, password=layout.secret, default_project_id=of.id
        )
        for name in names:
            identity.assign_project_role_to_user(of, account, roles[name])
    for name, (kind, path) in SERVICES.items():
        if identity.find_service(name):
            continue
        service = identity.create_service(name=name, type=kind)
        for interface in ('public', 'internal', 'admin'):
            identity.create_endpoint(
                service_id=service.id,
                interface=interface,
                region_id=config.REGION,
                url=f'{layout.url(name)}{path}',
            )


def _find_or_create(identity, kind, name):
    found = getattr(identity, f'find_{kind}')(name)
    return found or getattr(identity, f'create_{kind}')(name=name)


def make_seed_data(layout: layouts.Layout, hosts) -> None:
    """Make the missing flavors, images and aggregates.

    :param hosts: [hosts.Host], which are up
    """
    conn = connect(layout)
    this_nova = nova(layout)
    seed_data.flavors(this_nova)
    seed_data.aggregates(this_nova, hosts)
    # They have the ids of the try-out cloud's: its computes' driver knows the
    # broken one by that.
    for name, properties in image.IMAGES.items():
        if conn.image.find_image(name) is None:
            conn.image.create_image(
                name,
                id=image.image_id(name),
                data=b'no guest reads this',
                disk_format='raw',
                container_format='bare',
                visibility='public',
                **properties,
            )


def placement(layout: layouts.Layout) -> adapter.Adapter:
    """Return the admin's adapter for Placement."""
    return adapter.Adapter(
        connect(layout).session,
        service_type='placement',
        default_microversion='1.39',
    )


def used(layout: layouts.Layout) -> dict[str, dict[str, int]]:
    """Return {host: {resource class: used amount}}."""
    client = placement(layout)
    providers = client.get('/resource_providers').json()['resource_providers']
    return {
        each['name']: client.get(USAGES.format(each['uuid'])).json()['usages']
        for each in providers
    }


def is_up(layout: layouts.Layout, names) -> bool:
    """Check whether nova-api answers, and says that services are up.

    :param names: {name of the program: names of its hosts}
    """
    with contextlib.suppress(
        ks_exc.ClientException, openstack.exceptions.SDKException
    ):
        services = connect(layout).compute.services()
        up = {
            (each.binary, each.host) for each in services if each.state == 'up'
        }
        return up >= {
            (binary, host) for binary, hosts in names.items() for host in hosts
        }
    return False
