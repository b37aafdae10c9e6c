# SPDX-License-Identifier: Apache-2.0
"""How long does an ordinary boot take while many creates wait for a planner?

``tox -e bench-waiting`` runs it. Four projects create servers for which their
groups hold nothing. No planner answers, but heartbeats are stored as if one
were alive. As many creates wait as may, further ones have been refused; then
servers of no group are created, as others were before and are afterwards.
"""

import argparse
from concurrent import futures
import contextlib
import dataclasses
import statistics
import tempfile
import threading
import time

import fixtures
from nova import context as nova_context

from nova_groupext.cloud import accounts
from nova_groupext.cloud import cloud
from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups
from nova_groupext.conf import CONF
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.planners import VRTPlanner
from tests.benchmarks import builds
from tests.benchmarks import sharing

# Name of the servers that wait
WAITING = 'waiting'

# Seconds
LIMIT = CONF.vrt.redeem_replacement_time_limit
LOOK = 0.25

FOURTH = accounts.Account('fourth', 'fourth')
PROJECTS = ('demo', 'other', 'admin', FOURTH.name)


class Waiting:
    """Servers of one project that wait for hosts."""

    def __init__(self, running, name):
        self._nova = running.nova(name)
        self._tenant = sharing.Tenant(running, name)
        self._group = None

    def prepare(self, number):
        worker = {**sharing.member(count=1), 'max_count': number + 1}
        self._group = self._tenant.describe({'w': worker})
        if self._tenant.decided(self._group) != 'HELD':
            raise RuntimeError(self._tenant.show(self._group))
        self._tenant.redeem(self._group, 'w')

    def create(self):
        return self._nova.servers.create(
            WAITING,
            image.image_id('cirros'),
            self._nova.flavors.find(name='m1.tiny'),
            nics='none',
            scheduler_hints={'vrt_group': self._group, 'vrt_member': 'w'},
        )

    def check_ends(self):
        """Check that all servers have failed.

        :raises: RuntimeError if one was built, though no planner runs
        """
        for each in self._nova.servers.list(search_opts={'name': WAITING}):
            if each.status != 'ERROR':
                raise RuntimeError(f'A server is {each.status}.')


def boot(nova):
    """Create a server of no group and wait until it is built."""
    server = nova.servers.create(
        'ordinary',
        image.image_id('cirros'),
        nova.flavors.find(name='m1.tiny'),
        nics='none',
    )
    while server.status == 'BUILD':
        time.sleep(0.02)
        server = nova.servers.get(server)
    if server.status != 'ACTIVE':
        raise RuntimeError(server.fault)


def boots(nova, number):
    """Return the seconds that each of a number of boots takes."""
    return [sharing.timed(boot, nova) for _each in range(number)]


class Heartbeats(threading.Thread):
    """Stores the heartbeats of planners that have been killed."""

    def __init__(self):
        super().__init__(daemon=True)
        self._has_ended = threading.Event()

    def run(self):
        context = nova_context.get_admin_context()
        while not self._has_ended.wait(1):
            for each in VRTPlanner.list_rows(context):
                each.store_heartbeat(context)

    def stop(self):
        self._has_ended.set()
        self.join()


class Creates(threading.Thread):
    """Creates of all projects at once; follows them until all have ended.

    :ivar seconds: {server id: seconds until it was not built any more, since
        its scheduler began to wait, or since it was created if that refused}
    """

    def __init__(self, waiting, number):
        super().__init__(daemon=True)
        with futures.ThreadPoolExecutor(number) as threads:
            made = threads.map(
                lambda each: (each.create().id, time.time()),
                waiting * (number // len(waiting)),
            )
            self._began = dict(made)
        self.seconds = {}

    def run(self):
        """Look often, by queries so small that they delay nobody."""
        context = nova_context.get_admin_context()
        while self.number_waiting():
            for each in VRTCreate.list_rows(context):
                stored = each.ends_at.timestamp() - LIMIT
                self._began |= dict.fromkeys(each.server_uuids, stored)
            still = builds.building(context)
            now = time.time()
            for server, began in self._began.items():
                if server not in still:
                    self.seconds.setdefault(server, now - began)
            time.sleep(LOOK)

    def number_waiting(self):
        return len(self._began) - len(self.seconds)

    def wait(self, number):
        """Wait until only a number of servers are being built."""
        while self.number_waiting() > number:
            time.sleep(LOOK)


def main(argv=None):
    parser = argparse.ArgumentParser(prog='waiting', description=__doc__)
    parser.add_argument('--creates', type=int, default=80)
    parser.add_argument('--boots', type=int, default=5)
    args = parser.parse_args(argv)
    parts = dataclasses.replace(with_groups.HOLISTIC, services=())
    with contextlib.ExitStack() as stack:
        for name in ('TENANTS', 'ACCOUNTS'):
            known = (*getattr(accounts, name), FOURTH)
            stack.enter_context(
                fixtures.MonkeyPatch(f'{accounts.__name__}.{name}', known)
            )
        state = stack.enter_context(tempfile.TemporaryDirectory())
        running = stack.enter_context(cloud.Cloud(state, sharing.HOSTS, parts))
        waiting = [Waiting(running, name) for name in PROJECTS]
        with sharing.planner(running, is_killed=True):
            for each in waiting:
                each.prepare(args.creates)
            nova = running.nova('demo')
            boot(nova)
            alone = boots(nova, args.boots)
        heartbeats = Heartbeats()
        heartbeats.start()
        stack.callback(heartbeats.stop)
        creates = Creates(waiting, args.creates)
        creates.start()
        creates.wait(CONF.vrt.max_waiting_creates)
        first = creates.number_waiting()
        beside = boots(nova, args.boots)
        last = creates.number_waiting()
        creates.join()
        alone += boots(nova, args.boots)
        for each in waiting:
            each.check_ends()
        ends = creates.seconds.values()
        sharing.report('an ordinary boot', alone, beside)
        print(  # noqa: T201
            f'{len(ends)} creates ended after {statistics.median(ends):.1f} s '
            f'(median) and {max(ends):.1f} s (last), limit {LIMIT:.0f} s; '
            f'{first} waited at the first boot, {last} after the last'
        )


if __name__ == '__main__':
    main()
