# SPDX-License-Identifier: Apache-2.0
"""How long is a rack open after one of its group's servers was deleted?

``python -m tests.benchmarks.exclusive [--hosts N] [--deletes N]`` starts a
try-out cloud of one rack, keeps it for one group, and prints what a round of
topping up takes, and for how long what a deleted server had was free.
"""

import argparse
import dataclasses
import statistics
import sys
import tempfile
import time

from nova_groupext.cloud import cloud
from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups

INTERVAL = 5
PARTS = dataclasses.replace(
    with_groups.HOLISTIC,
    config=f'{with_groups.HOLISTIC.config}\nreap_interval = 3600\n'
    f'exclusive_reap_interval = {INTERVAL}\n'
    '[DEFAULT]\ncpu_allocation_ratio = 4.0\n',
)


class Rack:
    """A cloud of one rack, and the admin's group that has it to itself."""

    def __init__(self, running, members):
        self.cloud = running
        self.members = members
        self.compute = running.sdk('admin').compute
        self.compute.default_microversion = '2.96'

    def hold(self):
        """Describe the group; returns seconds until it is held."""
        start = time.perf_counter()
        described = {
            'name': 'alone',
            'topology': {
                'members': {
                    'a': {
                        'flavor': 'm1.tiny',
                        'image': image.image_id('cirros'),
                        'count': self.members,
                    }
                },
                'policies': [{'type': 'exclusive', 'scope': 'rack'}],
            },
        }
        answer = self.compute.post(
            '/os-vrt-groups', json={'vrt_group': described}
        )
        self.uuid = answer.json()['vrt_group']['id']
        _wait(lambda: self._status() != 'PLANNING')
        if self._status() != 'HELD':
            raise RuntimeError(self._status())
        return time.perf_counter() - start

    def _status(self):
        shown = self.compute.get(f'/os-vrt-groups/{self.uuid}').json()
        return shown['vrt_group']['status']

    def create(self, number):
        nova = self.cloud.nova('admin')
        server = nova.servers.create(
            'alone',
            image.image_id('cirros'),
            nova.flavors.find(name='m1.tiny'),
            nics='none',
            scheduler_hints={
                'vrt_group': self.uuid,
                'vrt_member': f'a-{number}',
            },
        )
        _wait(lambda: nova.servers.get(server).status == 'ACTIVE')
        host = nova.servers.get(server).to_dict()['OS-EXT-SRV-ATTR:host']
        return server, host

    def measure_open_time(self, server, host):
        """Delete a server; return the seconds with free capacity after it."""
        path = f'/allocations/{server.id}'
        server.delete()
        _wait(lambda: not self.cloud.placement.get(path).json()['allocations'])
        started = time.perf_counter()
        _wait(lambda: not any(self.cloud.free(host).values()))
        return time.perf_counter() - started

    def run_maintenance(self):
        """Take one round of the step.

        :returns: its seconds, and the CPU seconds of the whole cloud in them
        """
        # Nova's objects want a configured Nova.
        from nova import context
        from nova.scheduler.client import report

        from nova_groupext import objects
        from nova_groupext.scheduler.placement import client
        from nova_groupext.scheduler.protocol import leases
        from nova_groupext.scheduler.protocol import maintain

        requester = context.get_admin_context()
        placement = client.PlacementClient(report.SchedulerReportClient())
        owner = leases.Leases('benchmark')
        start, cpu = time.perf_counter(), time.process_time()
        for group in objects.VRTGroup.list_exclusive(requester):
            with owner.owning(requester, placement, group.id) as lease:
                maintain.maintain(requester, placement, lease, group)
        return time.perf_counter() - start, time.process_time() - cpu


def _wait(is_so):
    while not is_so():
        time.sleep(0.02)


def measure(running, deletes):
    """Yield the lines of the report."""
    rack = Rack(running, deletes)
    yield f'{len(running.hosts)} hosts, 4 placeholders each'
    yield f'planned and held: {rack.hold():.1f} s'
    seconds, cpu = min(rack.run_maintenance() for _ in range(5))
    yield f'a round that finds nothing: {seconds:.2f} s, {cpu:.2f} s of CPU'
    servers = [rack.create(number) for number in range(deletes)]
    open_seconds = [rack.measure_open_time(*each) for each in servers]
    median = statistics.median(open_seconds)
    yield (
        f'{deletes} servers deleted, capacity free for {median:.2f} s '
        f'(median), {max(open_seconds):.2f} s at most; interval {INTERVAL} s'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=40)
    parser.add_argument('--deletes', type=int, default=10)
    args = parser.parse_args()
    machines = [
        hosts.Host(f'cmp-{number}', 'r1', 'az1')
        for number in range(args.hosts)
    ]
    with (
        tempfile.TemporaryDirectory() as state,
        cloud.Cloud(state, machines, PARTS) as running,
    ):
        for line in measure(running, args.deletes):
            sys.stdout.write(f'{line}\n')
            sys.stdout.flush()


if __name__ == '__main__':
    main()
