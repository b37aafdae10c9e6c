# SPDX-License-Identifier: Apache-2.0
"""How long does an ordinary boot take while many creates wait for a planner?

``tox -e bench-waiting`` runs it. Four projects create servers for which their
groups hold nothing. All planners have just been killed, so nobody answers, and
their heartbeats are still young. Meanwhile servers of no group are created.
"""

import argparse
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
            'w',
            image.image_id('cirros'),
            self._nova.flavors.find(name='m1.tiny'),
            nics='none',
            scheduler_hints={'vrt_group': self._group, 'vrt_member': 'w'},
        )

    def end_of(self, server):
        """Wait until a server is not built any more; return that time."""
        while server.status == 'BUILD':
            time.sleep(0.2)
            server = self._nova.servers.get(server)
        if server.status != 'ERROR':
            raise RuntimeError(server.status)
        return time.monotonic()


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


def create_all(waiting, creates):
    """Create servers in all projects; return when each create has ended."""
    ends = []

    def create(each):
        server = each.create()
        began = time.monotonic()
        ends.append(each.end_of(server) - began)

    threads = [
        threading.Thread(target=create, args=(each,))
        for _number in range(creates // len(waiting))
        for each in waiting
    ]
    for each in threads:
        each.start()
    return threads, ends


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
        threads, ends = create_all(waiting, args.creates)
        beside = [sharing.timed(boot, nova) for _each in range(args.boots)]
        still = sum(each.is_alive() for each in threads)
        for each in threads:
            each.join()
        sharing.report('an ordinary boot', alone, beside)
        limit = CONF.vrt.redeem_replacement_time_limit
        print(  # noqa: T201
            f'{len(ends)} creates ended after {statistics.median(ends):.1f} s '
            f'(median) and {max(ends):.1f} s (last), limit {limit:.0f} s; '
            f'{still} still waited after the last boot'
        )


if __name__ == '__main__':
    main()
