# SPDX-License-Identifier: Apache-2.0
"""Groups and servers of a populated cloud, as the API stores them."""

from nova import objects
from oslo_utils import uuidutils

from nova_groupext.objects.group import VRTGroup
from nova_groupext.scheduler.nova import request_specs
from tests import groups
from tests.benchmarks.scheduler import rows
from tests.benchmarks.scheduler import shapes

# Three classes of members: a small one, a larger one, one in a zone.
CLASSES = (('m1', None), ('m4', None), ('m2', 'az1'))

APART = {'type': 'anti-affinity', 'scope': 'rack', 'max_per_domain': 20}


def resolved_request(flavor_name, zone=None):
    """Return the resolved request of a server that boots from a volume."""
    [flavor] = [each for each in shapes.FLAVORS if each.name == flavor_name]
    return {
        'flavor': objects.Flavor(
            id=1,
            flavorid=flavor.name,
            name=flavor.name,
            vcpus=flavor.vcpus,
            memory_mb=flavor.memory,
            root_gb=0,
            ephemeral_gb=flavor.disk,
            swap=0,
            rxtx_factor=1.0,
            vcpu_weight=0,
            disabled=False,
            is_public=True,
            description=None,
            extra_specs={},
        ).obj_to_primitive(),
        'flavor_id': flavor.name,
        'image': objects.ImageMeta.from_dict({}).obj_to_primitive(),
        'image_id': None,
        'availability_zone': zone,
        'is_bfv': True,
    }


def describe(context, members, policies=(APART,), **values):
    """Store a group that waits for its plan.

    :param members: number of members, in three classes
    :returns: VRTGroup
    """
    sets = [
        groups.member_set(
            name,
            resolved_request(name, zone),
            flavor=name,
            boot_from_volume=True,
            count=members * (number + 1) // 3 - members * number // 3,
        )
        for number, (name, zone) in enumerate(CLASSES)
    ]
    group = groups.unstored(
        **{
            'project_id': rows.PROJECT,
            'user_id': rows.USER,
            **groups.members_of(*sets),
            'subgroups': [],
            'policies': [groups.policy('', each) for each in policies],
            'relationships': [],
            'expires_in': 3600,
            **values,
        }
    )
    group.create(context)
    return VRTGroup.get(context, group.uuid)


def spec(context, request, hints=None):
    """Return the RequestSpec of a server that a client creates.

    :param hints: its scheduler hints
    """
    made = request_specs.make_spec(context, request, rows.PROJECT, rows.USER)
    if hints:
        made.scheduler_hints = {name: [hints[name]] for name in hints}
    return made


def create_server(context):
    """Store a server that waits for its host; return its uuid."""
    uuid = uuidutils.generate_uuid()
    objects.InstanceMapping(
        context,
        instance_uuid=uuid,
        cell_mapping=None,
        project_id=rows.PROJECT,
    ).create()
    return uuid
