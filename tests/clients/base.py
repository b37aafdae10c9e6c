# SPDX-License-Identifier: Apache-2.0
"""A cloud with groups, and the clients that speak to it."""

import uuid

from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups
from nova_groupext_client import sdk
from tests.functional.cloud import base

CIRROS = image.image_id('cirros')
#: A group that is there before it could be released must not stay so long.
INTERVAL_SECONDS = 0.1


def topology(count=2, flavor='m1.tiny', **parts):
    """A topology with some equal members, ``front/web-0`` and so on."""
    web = {'flavor': flavor, 'image': CIRROS, 'count': count}
    return {'groups': {'front': {'members': {'web': web}, **parts}}}


class ClientTestCase(base.CloudTestCase):
    """The tests of a class share a cloud of two racks and two zones."""

    PARTS = with_groups.HOLISTIC

    def setUp(self):
        super().setUp()
        self.conn = self.cloud.sdk('demo')
        sdk.register(self.conn)
        self.vrt = self.conn.vrt

    def name(self):
        """A name that no other group has."""
        return f'{self.id().rsplit(".", 1)[-1]}-{uuid.uuid4().hex[:8]}'

    def described(self, **attrs):
        """A group, as it was described; it is deleted after the test."""
        group = self.vrt.create_group(
            **{'name': self.name(), 'topology': topology(), **attrs}
        )
        self.addCleanup(self.forget, group)
        return group

    def held(self, **attrs):
        """A group that is held."""
        return self.wait(self.described(**attrs), 'HELD')

    def wait(self, group, status=None):
        """A group once it has a state, or is planned."""
        return self.vrt.wait_for_group(
            group,
            status,
            interval=INTERVAL_SECONDS,
            wait=base.PATIENCE_SECONDS,
        )

    def forget(self, group):
        """Delete a group and its servers, as far as they are there."""
        now = self.vrt.find_group(group.id, ignore_missing=True)
        if now is None:
            return
        self.vrt.delete_group(now)
        nova = self.cloud.nova('demo')
        for member in now.members:
            if member['server_id'] in self.server_ids('demo'):
                self.remove(nova.servers.get(member['server_id']))
