# SPDX-License-Identifier: Apache-2.0
"""Create and delete servers of a group with python-novaclient.

python-novaclient.py member NAME IMAGE GROUP MEMBER
python-novaclient.py group NAME IMAGE SUBGROUP
python-novaclient.py delete NAME
"""

import sys
import time

from novaclient import client
from novaclient import exceptions
from openstack import config

session = config.get_cloud_region().get_session()
nova = client.Client('2.96', session=session)


def create(name, image, hints):
    server = nova.servers.create(
        name,
        nova.glance.find_image(image),
        nova.flavors.find(name='m1.tiny'),
        nics='auto',
        scheduler_hints=hints,
    )
    while server.status == 'BUILD':
        time.sleep(1)
        server.get()
    if server.status == 'ERROR':
        sys.exit(server.fault['message'])


def delete(name):
    server = nova.servers.find(name=name)
    server.delete()
    try:
        while True:
            time.sleep(1)
            server.get()
    except exceptions.NotFound:
        pass


match sys.argv[1:]:
    case 'member', name, image, group, member:
        create(name, image, {'vrt_group': group, 'vrt_member': member})
    case 'group', name, image, subgroup:
        create(name, image, {'group': subgroup})
    case 'delete', name:
        delete(name)
