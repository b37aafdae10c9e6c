# SPDX-License-Identifier: Apache-2.0
"""How long does an ordinary boot take while many creates wait for a planner?

``tox -e bench-waiting`` runs it. Four projects create servers for which their
groups hold nothing. All planners have just been killed, so nobody answers, and
their heartbeats are still young. Meanwhile servers of no group are created.
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

from nova_groupext.cloud import accounts
from nova_groupext.cloud import cloud
from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups
from nova_groupext.conf import CONF
from tests.benchmarks import sharing

# Name of the servers that wait
WAITING = 'waiting'

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

    def waiting(self):
        """Return the ids of the servers that are still being built.

        :raises: RuntimeError if one was built, though no planner runs
        """
        found = self._nova.servers.list(search_opts={'name': WAITING})
        if any(each.status == 'ACTIVE' for each in found):
            raise RuntimeError('a server was built')
        return {each.id for each in found if each.status == 'BUILD'}


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


class Creates(threading.Thread):
    """Creates of all projects at once, watched by one thread.

    :ivar seconds: {server id: seconds until it was not built any more}
    """

    def __init__(self, waiting, number):
        super().__init__()
        self._waiting = waiting
        with futures.ThreadPoolExecutor(number) as threads:
            made = threads.map(
                lambda each: (each.create().id, time.monotonic()),
                waiting * (number // len(waiting)),
            )
            self._began = dict(made)
        self.seconds = {}

    def run(self):
        while len(self.seconds) < len(self._began):
            still = set().union(*(each.waiting() for each in self._waiting))
            now = time.monotonic()
            for server, began in self._began.items():
                if server not in still:
                    self.seconds.setdefault(server, now - began)
            time.sleep(0.5)


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
            alone = [sharing.timed(boot, nova) for _each in range(args.boots)]
        creates = Creates(waiting, args.creates)
        creates.start()
        beside = [sharing.timed(boot, nova) for _each in range(args.boots)]
        still = args.creates - len(creates.seconds)
        creates.join()
        ends = creates.seconds.values()
        sharing.report('an ordinary boot', alone, beside)
        limit = CONF.vrt.redeem_replacement_time_limit
        print(  # noqa: T201
            f'{len(ends)} creates ended after {statistics.median(ends):.1f} s '
            f'(median) and {max(ends):.1f} s (last), limit {limit:.0f} s; '
            f'{still} still waited after the last boot'
        )


if __name__ == '__main__':
    main()
