# SPDX-License-Identifier: Apache-2.0
"""How much processor time does a create need that grows its group?

``tox -e bench-growing`` runs it. Servers are created one by one and then all
at once: those of members that are held (they redeem), and those for which a
planner finds hosts (they grow). One look at the cloud, which every decision
begins with, is measured as well. All processes count; what they need while
nothing happens is subtracted.
"""

import argparse
import contextlib
import dataclasses
import tempfile
import time

from nova import context as nova_context
from nova.scheduler.client import report
import psutil

from nova_groupext.cloud import cloud
from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups
from nova_groupext.objects.group import VRTGroup
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.placement import client
from tests.benchmarks import builds
from tests.benchmarks import passive_hosts
from tests.benchmarks import sharing

IDLE_SECONDS = 20

COMPUTES = [
    hosts.Host(f'cmp-{n}', f'r{n % 4}', 'az1', vcpus=64) for n in range(12)
]
PARTS = dataclasses.replace(
    with_groups.HOLISTIC,
    config=with_groups.HOLISTIC.config + passive_hosts.CONFIG,
)


def processor_seconds():
    """Return the processor seconds of this process and its descendants."""
    own = psutil.Process()
    times = [each.cpu_times() for each in (own, *own.children(True))]
    return sum(
        each.user + each.system + each.children_user + each.children_system
        for each in times
    )


class Meter:
    """Processor seconds, without those that the idle processes would need."""

    def __init__(self):
        began = processor_seconds()
        time.sleep(IDLE_SECONDS)
        self._share_idle = (processor_seconds() - began) / IDLE_SECONDS

    @contextlib.contextmanager
    def measuring(self, spent):
        """Append what the context needs to a list."""
        began, wall = processor_seconds(), time.monotonic()
        yield
        idle = self._share_idle * (time.monotonic() - wall)
        spent.append(processor_seconds() - began - idle)


class Bench:
    def __init__(self, running):
        self._nova = running.nova('demo')
        self.tenant = sharing.Tenant(running, 'demo')
        self.meter = Meter()

    def describe(self, **counts):
        """Hold a group whose servers are spread over racks; return its id."""
        worker = {**sharing.member(), **counts}
        group = self.tenant.describe({'w': worker}, sharing.APART)
        self._wait(group, 'HELD')
        return group

    def _wait(self, group, status):
        while (shown := self.tenant.show(group))['status'] == 'PLANNING':
            # Rarely: to look costs processor time, too.
            time.sleep(0.5)
        if shown['status'] != status:
            raise RuntimeError(shown)

    def create(self, group, number):
        """Create servers of a group and wait until all have ended."""
        for _each in range(number):
            self._nova.servers.create(
                'w',
                image.image_id('cirros'),
                self._nova.flavors.find(name='m1.tiny'),
                nics='none',
                scheduler_hints={'vrt_group': group, 'vrt_member': 'w'},
            )
        context = nova_context.get_admin_context()
        while builds.building(context):
            time.sleep(0.5)

    def look(self, number):
        """Return the processor seconds of one of some looks at the cloud."""
        uuid = self.tenant.describe({'w': sharing.member()}, hold=False)
        self._wait(uuid, 'PLANNED')
        context = nova_context.get_admin_context()
        group = VRTGroup.get(context, uuid)
        placement = client.PlacementClient(report.SchedulerReportClient())
        spent = []
        with self.meter.measuring(spent):
            for _each in range(number):
                look.look(context, group, placement)
        return spent[0] / number

    def measure(self, number, at_once, **counts):
        """Return the processor seconds of one of some creates."""
        group = self.describe(**counts)
        if 'max_count' in counts:
            self.create(group, 1)
        spent = []
        with self.meter.measuring(spent):
            for _each in range(number // at_once):
                self.create(group, at_once)
        servers = self._nova.servers.list()
        faults = [each.fault for each in servers if each.status != 'ACTIVE']
        if faults:
            raise RuntimeError(faults)
        for each in servers:
            self._nova.servers.delete(each)
        self.tenant.delete(group)
        while self._nova.servers.list():
            time.sleep(0.5)
        return spent[0] / number


def measurements(bench, number):
    """Yield a line for creates one by one, and one for all at once."""
    # A first one loads what the others need.
    bench.measure(1, 1, count=1)
    one_look = bench.look(number)
    yield f'a look: {one_look * 1000:.0f} ms'
    for at_once in (1, number):
        redeem = bench.measure(number, at_once, count=number)
        grow = bench.measure(number, at_once, count=1, max_count=number + 1)
        yield (
            f'{at_once} at once: redeem {redeem * 1000:.0f} ms, grow '
            f'{grow * 1000:.0f} ms, {grow / redeem:.2f} times, beside one '
            f'look {(grow - one_look / at_once) / redeem:.2f} times'
        )


def _copies(number):
    """Return names for copies of the computes, by the name of the original."""
    names = {host.name: [] for host in COMPUTES}
    for copy in range(number):
        original = COMPUTES[copy % len(COMPUTES)].name
        names[original].append(f'{original}-copy-{copy}')
    return names


def main(argv=None):
    parser = argparse.ArgumentParser(prog='growing', description=__doc__)
    parser.add_argument('--creates', type=int, default=20)
    parser.add_argument('--hosts', type=int, default=len(COMPUTES))
    args = parser.parse_args(argv)
    with contextlib.ExitStack() as stack:
        state = stack.enter_context(tempfile.TemporaryDirectory())
        running = stack.enter_context(cloud.Cloud(state, COMPUTES, PARTS))
        passive_hosts.add(running, _copies(args.hosts - len(COMPUTES)))
        for line in measurements(Bench(running), args.creates):
            print(line, flush=True)  # noqa: T201


if __name__ == '__main__':
    main()
