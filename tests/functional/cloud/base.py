# SPDX-License-Identifier: Apache-2.0
"""A running try-out cloud for the tests of one class."""

import time

from oslotest import base
from testtools import content

from nova_groupext.cloud import components
from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from tests.functional.cloud import shared

TIMEOUT_SECONDS = 60
# A poll takes processor time from the services, which share its process. So
# it sleeps RESTS times as long as a read took, and REST_SECONDS at least.
PAUSE_FACTOR = 4
MIN_PAUSE_SECONDS = 0.05


class CloudUserTestCase(base.BaseTestCase):
    """A test that boots servers in ``self.cloud`` and deletes them.

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
        """Create a server without waiting; it is deleted after the test."""
        nova = self.cloud.nova(user)
        server = nova.servers.create(
            self.id().rsplit('.', 1)[-1],
            kwargs.pop('image', image.image_id('cirros')),
            nova.flavors.find(name=flavor),
            nics=kwargs.pop('nics', 'none'),
            **kwargs,
        )
        self.addCleanup(self.delete_servers, server)
        return server

    def boot(self, *args, **kwargs):
        """Create a server and wait until it is built: ACTIVE or ERROR."""
        return self.wait_for_build(self.create(*args, **kwargs))

    def wait_for_build(self, server):
        """Return a server once it is no longer in BUILD."""
        return self.eventually(
            server.manager.get, lambda now: now.status != 'BUILD', server
        )

    def delete_servers(self, *servers):
        """Delete those servers that exist, and wait for the end.

        The admin deletes them, whose account a restarted cloud has as well.
        """
        ids = {server.id for server in servers}
        for each in ids & self.server_ids('admin'):
            self.cloud.nova('admin').servers.delete(each)
        self.eventually(self.server_ids, ids.isdisjoint, 'admin')
        # Nova gives the capacity back only after the server is gone.
        for each in ids:
            self.eventually(self.allocations, lambda left: left == {}, each)

    def allocations(self, consumer):
        """Return {provider: allocation} of a consumer in Placement."""
        answer = self.cloud.placement.get(f'/allocations/{consumer}')
        return answer.json()['allocations']

    def server_ids(self, user):
        """Return the ids of a user's servers; an admin's: of all projects."""
        options = {'all_tenants': True} if user == 'admin' else None
        servers = self.cloud.nova(user).servers.list(
            detailed=False, search_opts=options
        )
        return {server.id for server in servers}

    def eventually(self, read, is_done, *args):
        """Read until the answer is good; returns it."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        started = time.monotonic()
        while not is_done(answer := read(*args)):
            ended = time.monotonic()
            self.assertLess(ended, deadline, answer)
            time.sleep(
                max(MIN_PAUSE_SECONDS, PAUSE_FACTOR * (ended - started))
            )
            started = time.monotonic()
        return answer


class CloudTestCase(CloudUserTestCase):
    """A test whose cloud all classes of equal ``HOSTS`` and ``PARTS`` share.

    So a test may neither rely on an empty cloud nor leave servers behind. A
    class that changes its cloud for good has ``SHARES_CLOUD = False``, and
    a cloud of its own.
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
