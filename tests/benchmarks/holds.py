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
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.redeem import reserve
from nova_groupext.scheduler.release import release_group
from tests import fixtures as test_fixtures
from tests import groups
from tests.services import concurrency
from tests.services import databases
from tests.services import fake_nova
from tests.services import placement
from tests.services import servers
from tests.stress import runner

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
        self._placement_client = client.PlacementClient(
            report.SchedulerReportClient(admin)
        )

    def describe(self, size):
        """A group of so many members that are all alike."""
        group = groups.equal_members(size)
        group.create(self._context)
        return group

    def hold(self, group):
        """Hold all members; returns how many seconds it took."""
        hosts = itertools.cycle(self._providers)
        placements = {
            each.path: groups.placement(next(hosts), 1)
            for each in group.members
        }
        started = time.monotonic()
        lease = groups.acquire_lease(self._context, group)
        rows = hold_plan.insert_plan(
            self._context, lease, group.members, placements
        )
        hold_plan.hold(self._context, self._placement_client, lease, rows)
        expires_at = timeutils.utcnow() + datetime.timedelta(hours=1)
        transitions.hold_group(self._context, lease, group, rows, expires_at)
        lease.release(self._context)
        return time.monotonic() - started

    def redeem(self, group, schedulers):
        """Redeem all members; returns how many a second."""
        members = list(objects.VRTGroup.get(self._context, group.uuid).members)
        shares = [members[n::schedulers] for n in range(schedulers)]
        clients = self._processes.clients(schedulers)

        def redeem_share(adapter, members):
            context = nova_context.get_admin_context()
            placement_client = client.PlacementClient(
                report.SchedulerReportClient(adapter)
            )
            for member in members:
                server = uuidutils.generate_uuid()
                reservations = reserve.choose(
                    *(context, placement_client, member.path),
                    *(lambda m=member: [m], [server]),
                )
                reserve.reserve(context, reservations)
                [reservation] = reservations
                [outcome] = redeem.transfer(
                    *(context, placement_client, {server: reservation.hold}),
                    *('project', 'user'),
                ).values()
                redeem.commit(context, member, reservation.hold, outcome)

        started = time.monotonic()
        failed = concurrency.call_concurrently(
            [
                lambda pair=pair: redeem_share(*pair)
                for pair in zip(clients, shares, strict=True)
            ]
        )
        if any(failed):
            raise RuntimeError(failed)
        return len(members) / (time.monotonic() - started)

    def delete_group(self, group):
        group = objects.VRTGroup.get(self._context, group.uuid)
        group.mark_deleted(self._context)
        lease = groups.acquire_lease(self._context, group)
        release_group.release(
            self._context, self._placement_client, lease, group
        )

    @contextlib.contextmanager
    def stream(self):
        """Let ordinary servers come and go meanwhile; counts them."""
        stop = threading.Event()
        counts = [0] * STREAMS
        hosts = itertools.cycle(self._providers)

        def claim_and_delete(number, adapter):
            while not stop.is_set():
                server = uuidutils.generate_uuid()
                placement.claim(adapter, next(hosts), server, VCPU=1)
                adapter.delete(f'/allocations/{server}')
                counts[number] += 1

        threads = [
            threading.Thread(target=claim_and_delete, args=pair)
            for pair in enumerate(self._processes.clients(STREAMS))
        ]
        for thread in threads:
            thread.start()
        try:
            yield counts
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def measure(bench, sizes):
    """Yield a line for each size, and one for redeeming."""
    with bench.stream() as counts:
        time.sleep(ALONE)
        base_rate = sum(counts) / ALONE
    for size in sizes:
        group = bench.describe(size)
        alone_seconds = bench.hold(group)
        bench.delete_group(group)
        group = bench.describe(size)
        with bench.stream() as counts:
            concurrent_seconds = bench.hold(group)
            stream = sum(counts) / concurrent_seconds
        bench.delete_group(group)
        yield (
            f'hold {size:5}: {alone_seconds:6.2f} s alone, '
            f'{concurrent_seconds:6.2f} s beside a stream '
            f'({concurrent_seconds / alone_seconds:.1f} times); the stream: '
            f'{base_rate:.0f} a second alone, {stream:.0f} beside it '
            f'({100 * (1 - stream / base_rate):.0f} % lost)'
        )
    for schedulers in (1, 4):
        group = bench.describe(100)
        bench.hold(group)
        rate = bench.redeem(group, schedulers)
        bench.delete_group(group)
        yield f'redeem: {rate:.0f} a second with {schedulers} at once'


def main(argv=None):
    parser = argparse.ArgumentParser(prog='bench-holds', description=__doc__)
    parser.add_argument(
        '--size', type=int, action='append', help='members of a group'
    )
    args = parser.parse_args(argv)
    CONF([], project='nova', default_config_files=[])
    with fixtures.Fixture() as stack:
        url = stack.useFixture(databases.Database(servers.MARIADB)).url
        stack.useFixture(test_fixtures.Database(url))
        url = stack.useFixture(databases.Database(servers.MARIADB)).url
        # No hold has a server about which Nova is queried.
        stack.useFixture(
            fake_nova.FakeNova(lambda *_of: {}, lambda *_of: False)
        )
        processes = placement.Placement(url, runner.ONE_ATTEMPT)
        bench = Bench(stack.useFixture(processes))
        for line in measure(bench, args.size or SIZES):
            print(line, flush=True)  # noqa: T201
    return 0


if __name__ == '__main__':
    sys.exit(main())
