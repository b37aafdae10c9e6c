# SPDX-License-Identifier: Apache-2.0
"""How fast are groups held and redeemed, alone and beside ordinary claims?

``python -m tests.benchmarks.holds`` needs MariaDB. Two processes of Placement
share a database; a stream of ordinary servers comes and goes on the same
hosts from two threads.
"""

import argparse
import contextlib
import datetime
import itertools
import sys
import threading
import time

import fixtures
from nova import context as nova_context
from nova.scheduler.client import report
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.objects import transitions
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.redeem import reserve
from nova_groupext.scheduler.release import release_group
from tests import fixtures as ours
from tests import groups
from tests.services import at_once
from tests.services import databases
from tests.services import placement
from tests.services import played
from tests.services import servers
from tests.storm import storm

HOSTS = 200
TOTAL = 64
SIZES = (10, 100, 1000)
STREAMS = 2

# Seconds for which the stream is watched alone.
ALONE = 5.0


class Bench:
    """Groups on some hosts.

    :param processes: tests.services.placement.Placement
    """

    def __init__(self, processes):
        self._processes = processes
        self._context = nova_context.get_admin_context()
        [admin] = processes.clients(1)
        self._providers = [
            placement.make_provider(admin, VCPU=TOTAL) for _ in range(HOSTS)
        ]
        self._ledger = placement_client.PlacementClient(
            report.SchedulerReportClient(admin)
        )

    def describe(self, size):
        """A group of so many members that are all alike."""
        group = groups.alike(size)
        group.create(self._context)
        return group

    def hold(self, group):
        """Hold all members; returns how many seconds it took."""
        hosts = itertools.cycle(self._providers)
        placed = {
            each.path: groups.seat(next(hosts), 1) for each in group.members
        }
        started = time.monotonic()
        lease = groups.lease(self._context, group)
        rows = hold_plan.write_down(
            self._context, lease, group.members, placed
        )
        hold_plan.hold(self._context, self._ledger, lease, rows)
        expires_at = timeutils.utcnow() + datetime.timedelta(hours=1)
        transitions.hold(self._context, lease, group, rows, expires_at)
        lease.release(self._context)
        return time.monotonic() - started

    def redeem(self, group, schedulers):
        """Redeem all members; returns how many a second."""
        members = list(objects.VRTGroup.get(self._context, group.uuid).members)
        shares = [members[n::schedulers] for n in range(schedulers)]
        clients = self._processes.clients(schedulers)

        def share(client, some):
            context = nova_context.get_admin_context()
            books = placement_client.PlacementClient(
                report.SchedulerReportClient(client)
            )
            for member in some:
                server = uuidutils.generate_uuid()
                judge = policy_check.RedeemCheck(context, group.uuid)
                places = reserve.choose(
                    *(context, books, member.path),
                    *(lambda m=member: [m], [server]),
                )
                reserve.reserve(context, places, judge)
                [place] = places
                [outcome] = redeem.swap(
                    *(context, books, {server: place.hold}),
                    *('project', 'user'),
                ).values()
                redeem.close(context, member, place.hold, outcome)

        started = time.monotonic()
        failed = at_once.at_once(
            [
                lambda pair=pair: share(*pair)
                for pair in zip(clients, shares, strict=True)
            ]
        )
        if any(failed):
            raise RuntimeError(failed)
        return len(members) / (time.monotonic() - started)

    def forget(self, group):
        group = objects.VRTGroup.get(self._context, group.uuid)
        group.mark_deleted(self._context)
        lease = groups.lease(self._context, group)
        release_group.release(self._context, self._ledger, lease, group)

    @contextlib.contextmanager
    def stream(self):
        """Let ordinary servers come and go meanwhile; counts them."""
        over = threading.Event()
        counts = [0] * STREAMS
        hosts = itertools.cycle(self._providers)

        def flow(number, client):
            while not over.is_set():
                server = uuidutils.generate_uuid()
                placement.claim(client, next(hosts), server, VCPU=1)
                client.delete(f'/allocations/{server}')
                counts[number] += 1

        threads = [
            threading.Thread(target=flow, args=pair)
            for pair in enumerate(self._processes.clients(STREAMS))
        ]
        for thread in threads:
            thread.start()
        try:
            yield counts
        finally:
            over.set()
            for thread in threads:
                thread.join()


def measure(bench, sizes):
    """Yield a line for each size, and one for redeeming."""
    with bench.stream() as counts:
        time.sleep(ALONE)
        stream_alone = sum(counts) / ALONE
    for size in sizes:
        group = bench.describe(size)
        alone = bench.hold(group)
        bench.forget(group)
        group = bench.describe(size)
        with bench.stream() as counts:
            beside = bench.hold(group)
            stream = sum(counts) / beside
        bench.forget(group)
        yield (
            f'hold {size:5}: {alone:6.2f} s alone, {beside:6.2f} s beside a '
            f'stream ({beside / alone:.1f} times); the stream: '
            f'{stream_alone:.0f} a second alone, {stream:.0f} beside it '
            f'({100 * (1 - stream / stream_alone):.0f} % lost)'
        )
    for schedulers in (1, 4):
        group = bench.describe(100)
        bench.hold(group)
        rate = bench.redeem(group, schedulers)
        bench.forget(group)
        yield f'redeem: {rate:.0f} a second with {schedulers} at once'


def main(argv=None):
    parser = argparse.ArgumentParser(prog='bench-holds', description=__doc__)
    parser.add_argument(
        '--size', type=int, action='append', help='members of a group'
    )
    args = parser.parse_args(argv)
    CONF([], project='nova', default_config_files=[])
    with fixtures.Fixture() as here:
        url = here.useFixture(databases.Database(servers.MARIADB)).url
        here.useFixture(ours.Database(url))
        url = here.useFixture(databases.Database(servers.MARIADB)).url
        # It knows of no server: nobody has to be asked for one.
        here.useFixture(played.Nova(lambda *_of: {}, lambda *_of: False))
        processes = placement.Placement(url, storm.SAFE)
        bench = Bench(here.useFixture(processes))
        for line in measure(bench, args.size or SIZES):
            print(line, flush=True)  # noqa: T201
    return 0


if __name__ == '__main__':
    sys.exit(main())
