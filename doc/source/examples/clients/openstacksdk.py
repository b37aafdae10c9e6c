# SPDX-License-Identifier: Apache-2.0
"""Create and delete servers of a group with openstacksdk.

openstacksdk.py member NAME IMAGE GROUP MEMBER
openstacksdk.py group NAME IMAGE SUBGROUP
openstacksdk.py delete NAME
"""

import sys

import openstack

cloud = openstack.connect()


def create(name, image, hints):
    server = cloud.compute.create_server(
        name=name,
        image_id=cloud.image.find_image(image).id,
        flavor_id=cloud.compute.find_flavor('m1.tiny').id,
        networks='auto',
        scheduler_hints=hints,
    )
    cloud.compute.wait_for_server(server)


def delete(name):
    server = cloud.compute.find_server(name)
    cloud.compute.delete_server(server)
    cloud.compute.wait_for_delete(server)


match sys.argv[1:]:
    case 'member', name, image, group, member:
        create(name, image, {'vrt_group': group, 'vrt_member': member})
    case 'group', name, image, subgroup:
        create(name, image, {'group': subgroup})
    case 'delete', name:
        delete(name)
