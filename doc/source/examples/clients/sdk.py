"""Servers of a group, created and deleted with openstacksdk.

sdk.py member NAME IMAGE GROUP MEMBER
sdk.py group NAME IMAGE SUBGROUP
sdk.py delete NAME
"""

import sys

import openstack

cloud = openstack.connect()


def create(name, image, hints):
    server = cloud.compute.create_server(
        name=name,
        image_id=cloud.image.find_image(image).id,
        flavor_id=cloud.compute.find_flavor('m1.tiny').id,
        networks=[{'uuid': cloud.network.find_network('private').id}],
        scheduler_hints=hints,
    )
    cloud.compute.wait_for_server(server)


def member(name, image, group, path):
    create(name, image, {'vrt_group': group, 'vrt_member': path})


def group(name, image, subgroup):
    create(name, image, {'group': subgroup})


def delete(name):
    server = cloud.compute.find_server(name)
    cloud.compute.delete_server(server)
    cloud.compute.wait_for_delete(server)


globals()[sys.argv[1]](*sys.argv[2:])
