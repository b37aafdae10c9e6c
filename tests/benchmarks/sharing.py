# SPDX-License-Identifier: Apache-2.0
"""How long does one project wait while another asks for much?

``tox -e bench-sharing`` runs it. One project groups ten servers and creates
servers of members that it holds; first alone, then while another project has
what-ifs, proposals and a group of hundreds of kinds of members planned. All of
Nova is in one process here; ``--own-process`` has the planner in another one,
as operators run it. That hears of no group at once, but looks for them.
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from keystoneauth1 import adapter
from nova import context

from nova_groupext.cloud import cloud
from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from nova_groupext.cloud import with_groups
from nova_groupext.db import api as db
from nova_groupext.db import models

GROUPS = '/os-vrt-groups'
HOSTS = [
    hosts.Host(f'cmp-{n}', f'r{n % 4}', 'az1', vcpus=64) for n in range(12)
]
CONFIG = """
max_planning_per_project = 1000
max_groups_per_project = 1000
max_classes = 1000
"""
WIDTH = 200
BROKEN = [{'at': '', 'policy': {'type': 'affinity', 'scope': 'host'}}]
APART = [{'type': 'spread', 'scope': 'rack'}]


class Tenant:
    def __init__(self, running, name):
        self._nova = running.nova(name)
        self._api = adapter.Adapter(
            running.session(name),
            service_type='compute',
            default_microversion='2.96',
        )

    def describe(
        self, members, policies=(), hold=True, name='a group', groups=None
    ):
        """POST a group; returns its id."""
        topology = {
            'members': members,
            'policies': [*policies],
            'groups': groups or {},
        }
        group = {'name': name, 'topology': topology, 'hold': hold}
        answer = self._api.post(GROUPS, json={'vrt_group': group})
        return answer.json()['vrt_group']['id']

    def show(self, group):
        return self._api.get(f'{GROUPS}/{group}').json()['vrt_group']

    def decided(self, group):
        """Wait until a group is decided; returns its status."""
        while (status := self.show(group)['status']) == 'PLANNING':
            time.sleep(0.02)
        return status

    def act(self, group, action):
        self._api.post(f'{GROUPS}/{group}/action', json={action: None})

    def delete(self, group):
        self._api.delete(f'{GROUPS}/{group}')

    def planning(self):
        """Return how many of its groups wait or are being planned."""
        found = self._api.get(f'{GROUPS}?status=PLANNING').json()
        return len(found['vrt_groups'])

    def redeem(self, group, path):
        """Create the server of a member and wait until it is built."""
        server = self._nova.servers.create(
            path,
            image.image_id('cirros'),
            self._nova.flavors.find(name='m1.tiny'),
            nics='none',
            scheduler_hints={'vrt_group': group, 'vrt_member': path},
        )
        while server.status == 'BUILD':
            time.sleep(0.02)
            server = self._nova.servers.get(server)
        if server.status != 'ACTIVE':
            raise RuntimeError(server.fault)


def member(flavor='m1.tiny', count=1):
    return {
        'flavor': flavor,
        'image': image.image_id('cirros'),
        'count': count,
    }


def timed(work, *args):
    began = time.monotonic()
    work(*args)
    return time.monotonic() - began


def plan_ten(tenant):
    group = tenant.describe({'a': member(count=10)}, APART)
    if tenant.decided(group) != 'HELD':
        raise RuntimeError(tenant.show(group))
    tenant.delete(group)


def measure(tenant, plans, redeems):
    """Return (seconds of each plan, seconds of each redeem).

    They take turns, so that both see what goes on beside them.
    """
    group = tenant.describe({'m': member(count=redeems)})
    tenant.decided(group)
    planned, redeemed = [], []
    for number in range(redeems):
        if len(planned) * redeems < (number + 1) * plans:
            planned.append(timed(plan_ten, tenant))
        redeemed.append(timed(tenant.redeem, group, f'm-{number}'))
    return planned, redeemed


def make_flavors(running, count):
    nova = running.nova('admin')
    return [
        nova.flavors.create(f'kind-{number}', 64 + number, 1, 1).name
        for number in range(count)
    ]


def prepare(tenant, proposals):
    """Hold groups of which something is broken, as far as the rows say."""
    groups = [tenant.describe({'p': member()}) for _each in range(proposals)]
    for group in groups:
        tenant.decided(group)
    return groups


def load(tenant, args, flavors, broken):
    """Ask for much, all at once."""
    db.compare_and_set(
        context.get_admin_context(),
        models.Group,
        models.Group.uuid.in_(broken),
        drift=BROKEN,
    )
    # As many as there may be in one subgroup.
    parts = {
        f'part-{start}': {
            'members': {
                flavor: member(flavor)
                for flavor in flavors[start : start + WIDTH]
            }
        }
        for start in range(0, len(flavors), WIDTH)
    }
    tenant.describe({}, hold=False, name='kinds', groups=parts)
    for _each in range(args.what_ifs):
        tenant.describe({'w': member(count=10)}, APART, hold=False)
    for group in broken:
        tenant.act(group, 'propose')


def report(what, alone_seconds, concurrent_seconds):
    if not alone_seconds:
        return
    one, other = (
        statistics.median(alone_seconds),
        statistics.median(concurrent_seconds),
    )
    print(  # noqa: T201
        f'{what}: median {one:.2f} s alone, {other:.2f} s beside it: '
        f'{other / one:.1f} times'
    )


@contextlib.contextmanager
def planner(running, *, is_killed=False):
    """Run the planner as a process.

    :param is_killed: True to leave its heartbeat when it ends
    """
    command = pathlib.Path(sys.executable).with_name('nova-groupext-planner')
    process = subprocess.Popen(
        [command, f'--config-file={running.state}/nova.conf'],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Its workers would end in order if only their parent was killed.
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL if is_killed else signal.SIGTERM)
        process.wait()


def main(argv=None):
    parser = argparse.ArgumentParser(prog='sharing', description=__doc__)
    parser.add_argument('--what-ifs', type=int, default=50)
    parser.add_argument('--proposals', type=int, default=50)
    parser.add_argument('--kinds', type=int, default=480)
    parser.add_argument('--plans', type=int, default=5)
    parser.add_argument('--redeems', type=int, default=20)
    parser.add_argument('--own-process', action='store_true')
    args = parser.parse_args(argv)
    parts = dataclasses.replace(
        with_groups.HOLISTIC, config=with_groups.HOLISTIC.config + CONFIG
    )
    if args.own_process:
        parts = dataclasses.replace(parts, services=())
    with contextlib.ExitStack() as stack:
        state = stack.enter_context(tempfile.TemporaryDirectory())
        running = stack.enter_context(cloud.Cloud(state, HOSTS, parts))
        if args.own_process:
            stack.enter_context(planner(running))
        busy, other = Tenant(running, 'demo'), Tenant(running, 'other')
        flavors = make_flavors(running, args.kinds)
        broken = prepare(busy, args.proposals)
        measure(other, 1, 1)
        alone_seconds = measure(other, args.plans, args.redeems)
        load(busy, args, flavors, broken)
        planning_at_start = busy.planning()
        concurrent_seconds = measure(other, args.plans, args.redeems)
        report('a group of ten', alone_seconds[0], concurrent_seconds[0])
        report('a redeem', alone_seconds[1], concurrent_seconds[1])
        print(  # noqa: T201
            f'groups of the other project: {planning_at_start} waited or were '
            f'planned at the start, {busy.planning()} at the end'
        )


if __name__ == '__main__':
    main()
