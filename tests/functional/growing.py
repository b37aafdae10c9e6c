# SPDX-License-Identifier: Apache-2.0
"""Groups whose servers come and go by ordinary creates and deletes."""

from concurrent import futures
import threading

import fixtures
from nova import exception as nova_errors
from novaclient import exceptions as nova_exc

from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.redeem import redeem_path
from tests import rounds
from tests.functional import base
from tests.functional import changing_cloud

APART = {'type': 'anti-affinity', 'scope': 'host'}


def paused(function):
    """Return a function that waits, and the events of its begin and its end.

    It sets the first event, waits for the second one, and calls the function.
    """
    begins, goes_on = threading.Event(), threading.Event()

    def wait(*args):
        begins.set()
        goes_on.wait(60)
        return function(*args)

    return wait, begins, goes_on


class GrowingCase(changing_cloud.ChangingCloudTestCase):
    """A group of a worker or more, on hosts with room for one each."""

    HOSTS = tuple(
        hosts.Host(f'cmp-{number}', f'r{number}', 'az1', vcpus=4)
        for number in range(1, 5)
    )

    def hold_workers(self, count, max_count, **more):
        counts = {'count': count, 'max_count': max_count}
        counts = {k: v for k, v in counts.items() if v is not None}
        worker = base.member(**counts, **more)
        topology = {'members': {'w': worker}, 'policies': [APART]}
        self.uuid = self.hold_group(topology)['id']

    def grow(self, path='w', **server):
        """Create a server by its hints and wait for it."""
        return self.redeem(self.uuid, path, 'm1.tiny', **server)

    def grow_around(self, change, *, fails=False):
        """Create a server; change something once it has a place.

        :param fails: whether it does not take the place then
        """
        place = redeem_path.RedeemPath.place
        is_placed, goes_on = threading.Event(), threading.Event()

        def wait(*args):
            result = place(*args)
            is_placed.set()
            goes_on.wait(60)
            if fails:
                raise nova_errors.NoValidHost(
                    reason='the scheduler was stopped'
                )
            return result

        with (
            fixtures.MonkeyPatch(
                f'{redeem_path.__name__}.RedeemPath.place', wait
            ),
            futures.ThreadPoolExecutor() as pool,
        ):
            server = pool.submit(self.grow)
            is_placed.wait(60)
            try:
                change()
            finally:
                goes_on.set()
            return server.result()

    def boot_many(self, number):
        """Build several servers by one request."""
        nova = self.cloud.nova('demo')
        reservation = nova.servers.create(
            'many',
            image.image_id('cirros'),
            nova.flavors.find(name='m1.tiny'),
            nics='none',
            min_count=number,
            reservation_id=True,
            scheduler_hints=base.member_hints(self.uuid, 'w'),
        )
        servers = nova.servers.list(
            search_opts={'reservation_id': reservation}
        )
        for server in servers:
            self.addCleanup(self.delete_servers, server)
        return [self.wait_for_build(each) for each in servers]

    def assert_refused(self, code, path='w', **server):
        error = self.assertRaises(
            nova_exc.ClientException, self.grow, path, **server
        )
        self.assertEqual(code, error.code, error)
        return str(error)

    def delete(self, server):
        """Delete a server and wait until it is gone."""
        server.delete()
        servers = self.cloud.nova('demo').servers

        def is_gone():
            try:
                servers.get(server.id)
            except nova_exc.NotFound:
                return True
            return False

        self.eventually(is_gone, bool)

    def reaped_statuses(self):
        rounds.reap(self.planner, self.context)
        return self.statuses()

    def statuses(self):
        return {each['path']: each['status'] for each in self.members()}

    def assert_sound(self):
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def put(self, count, **more):
        worker = {**base.member(count=count), **more}
        self.put_topology({'members': {'w': worker}, 'policies': [APART]})

    def put_group(self, topology, **more):
        """Send a revision; return the response."""
        generation = self.group(self.uuid)['generation']
        body = {'generation': generation, 'topology': topology, **more}
        return self.api().put(
            f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body}
        )

    def put_topology(self, topology, **more):
        """Revise the group, and wait until that is done."""
        response = self.put_group(topology, **more)
        self.assertEqual(202, response.status_code, response.text)
        self.eventually(
            self.group, lambda now: now['revision'] is None, self.uuid
        )
