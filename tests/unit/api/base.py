# SPDX-License-Identifier: Apache-2.0
"""A base class of API tests, with groups in a database."""

from nova import context
from nova.objects import flavor
from oslotest import base

from nova_groupext.api import describe
from tests import fixtures

OWNER, FOREIGN = 'owner-project', 'foreign-project'
IMAGE = '5d3c1c2e-8a57-4c55-9d0c-1a4f4b9f2a10'
SMALL = {'flavor': 'small', 'image': IMAGE}

TOPOLOGY = {
    'members': {'master': SMALL},
    'groups': {
        'workers': {
            'members': {'worker': {**SMALL, 'count': 3, 'min_count': 2}},
            'policies': [{'type': 'spread', 'scope': 'zone'}],
        }
    },
    'policies': [{'type': 'affinity', 'scope': 'zone', 'strict': False}],
    'relationships': [
        {
            'name': 'shuffle',
            'between': ['master', 'workers'],
            'bandwidth': 10,
            'policies': [{'type': 'network-proximity', 'scope': 'zone'}],
        }
    ],
}


def body(topology=TOPOLOGY, **values):
    return {'vrt_group': {'name': 'analytics', 'topology': topology, **values}}


def requester(project_id=OWNER, roles=('member', 'reader'), **values):
    return context.RequestContext(
        user_id='user', project_id=project_id, roles=list(roles), **values
    )


def request(flavor_id='small', vcpus=1, memory_mb=512, **values):
    """Return a member's resolved request."""
    small = flavor.Flavor(flavorid=flavor_id, vcpus=vcpus, memory_mb=memory_mb)
    return {
        'flavor': small.obj_to_primitive(),
        'flavor_id': flavor_id,
        'image': None,
        'image_id': IMAGE,
        'availability_zone': None,
        'is_bfv': False,
        **values,
    }


class GroupTestCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.useFixture(fixtures.Policy())
        self.context = requester()

    def unstored_group(self, topology=TOPOLOGY, member_request=None, **values):
        """Return a VRTGroup that is not stored yet."""
        group_body, parsed = describe.read_body(body(topology, **values))
        group = describe.build_group(self.context, group_body, parsed)
        for member_set in group.member_sets:
            member_set.resolved_request = member_request or request()
        return group

    def store_group(self, *args, **values):
        group = self.unstored_group(*args, **values)
        group.create(self.context)
        return group
