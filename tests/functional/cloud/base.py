# SPDX-License-Identifier: Apache-2.0
"""A running try-out cloud for the tests of one class."""

import time

from oslotest import base
from testtools import content

from nova_groupext.cloud import components
from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from tests.functional.cloud import shared

PATIENCE_SECONDS = 60
# Who looks takes the processor from what it waits for, all in one process: it
# rests for so many times as long as a look took, and never for less than this.
RESTS = 4
REST_SECONDS = 0.05


class CloudUser(base.BaseTestCase):
    """Boots servers in ``self.cloud`` and takes them away again.

    A test that fails shows the cloud's log.
    """

    def setUp(self):
        super().setUp()
        self.addOnException(self._show_log)

    def _show_log(self, _failure):
        log = self.cloud.state / 'cloud.log'
        self.addDetail(
            'cloud.log', content.content_from_file(str(log), buffer_now=True)
        )

    def create(self, flavor='m1.tiny', user='demo', **kwargs):
        """Ask for a server without waiting; it is removed after the test."""
        nova = self.cloud.nova(user)
        server = nova.servers.create(
            self.id().rsplit('.', 1)[-1],
            kwargs.pop('image', image.image_id('cirros')),
            nova.flavors.find(name=flavor),
            nics='none',
            **kwargs,
        )
        self.addCleanup(self.remove, server)
        return server

    def boot(self, *args, **kwargs):
        """Create a server and wait until it is built: ACTIVE or ERROR."""
        return self.built(self.create(*args, **kwargs))

    def built(self, server):
        """The server once it is no longer in BUILD."""
        return self.eventually(
            server.manager.get, lambda now: now.status != 'BUILD', server
        )

    def remove(self, *servers):
        """Delete servers, as far as they are there, and wait for the end.

        The admin does it, who is there in a restarted cloud as well.
        """
        ids = {server.id for server in servers}
        for each in ids & self.server_ids('admin'):
            self.cloud.nova('admin').servers.delete(each)
        self.eventually(self.server_ids, ids.isdisjoint, 'admin')
        # Nova gives the capacity back only after the server is gone.
        for each in ids:
            self.eventually(self.allocations, lambda left: left == {}, each)

    def allocations(self, consumer):
        """What Placement has for a consumer: provider -> its part."""
        answer = self.cloud.placement.get(f'/allocations/{consumer}')
        return answer.json()['allocations']

    def server_ids(self, user):
        """The ids of all servers a user sees; the admin sees all projects."""
        options = {'all_tenants': True} if user == 'admin' else None
        servers = self.cloud.nova(user).servers.list(
            detailed=False, search_opts=options
        )
        return {server.id for server in servers}

    def eventually(self, read, good, *args):
        """Read until the answer is good; returns it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        looked = time.monotonic()
        while not good(answer := read(*args)):
            seen = time.monotonic()
            self.assertLess(seen, deadline, answer)
            time.sleep(max(REST_SECONDS, RESTS * (seen - looked)))
            looked = time.monotonic()
        return answer


class CloudTestCase(CloudUser):
    """Shares a cloud with all classes of the same ``HOSTS`` and ``PARTS``.

    So its tests may neither count on it being empty nor leave it full. A
    class that changes its cloud for good has ``SHARES_CLOUD = False``, and
    one of its own.
    """

    SHARES_CLOUD = True

    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az2', vcpus=8),
    )
    PARTS = components.STOCK

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not cls.SHARES_CLOUD:
            shared.stop()
            cls.addClassCleanup(shared.stop)
        cls.cloud = shared.running(cls.HOSTS, cls.PARTS)
