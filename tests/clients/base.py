# SPDX-License-Identifier: Apache-2.0
"""A cloud with groups, and its clients."""

import uuid

from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups
from nova_groupext_client import sdk
from tests.functional.cloud import base

CIRROS = image.image_id('cirros')
#: Time between two reads of a group that is waited for.
INTERVAL_SECONDS = 0.1


def topology(count=2, flavor='m1.tiny', **parts):
    """Return a topology of equal members, ``front/web-0`` and so on."""
    web = {'flavor': flavor, 'image': CIRROS, 'count': count}
    return {'groups': {'front': {'members': {'web': web}, **parts}}}


class ClientTestCase(base.CloudTestCase):
    """A test of the SDK in a cloud of two racks and two zones."""

    PARTS = with_groups.HOLISTIC

    def setUp(self):
        super().setUp()
        self.conn = self.cloud.sdk('demo')
        sdk.register(self.conn)
        self.vrt = self.conn.vrt

    def unique_name(self):
        """Return a name that no other group has."""
        return f'{self.id().rsplit(".", 1)[-1]}-{uuid.uuid4().hex[:8]}'

    def create_group(self, **attrs):
        """Create a group; it is deleted after the test."""
        group = self.vrt.create_group(
            **{'name': self.unique_name(), 'topology': topology(), **attrs}
        )
        self.addCleanup(self.delete_group_and_servers, group)
        return group

    def hold_group(self, **attrs):
        """Create a group, and return it once it is held."""
        return self.wait(self.create_group(**attrs), 'HELD')

    def wait(self, group, status=None):
        """Return a group once it has a state, or is planned."""
        return self.vrt.wait_for_group(
            group,
            status,
            interval=INTERVAL_SECONDS,
            wait=base.TIMEOUT_SECONDS,
        )

    def delete_group_and_servers(self, group):
        """Delete a group and its servers, if they exist."""
        now = self.vrt.find_group(group.id, ignore_missing=True)
        if now is None:
            return
        self.vrt.delete_group(now)
        nova = self.cloud.nova('demo')
        for member in now.members:
            if member['server_id'] in self.server_ids('demo'):
                self.delete_servers(nova.servers.get(member['server_id']))
