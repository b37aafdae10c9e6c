# SPDX-License-Identifier: Apache-2.0
"""Problems that have no solution, for a reason that can be counted.

A group is planted as for a problem with a solution; then more ordinary
servers come, no more than needed, until something that it cannot do without
is one short.
"""

import random

from tests.benchmarks.planner import cloud as clouds
from tests.benchmarks.planner import generator
from tests.benchmarks.planner import groups
from tests.benchmarks.planner import planting

FILL = 0.9

#: Few hosts have room for one of these.
_LARGE = 'm24'
_LARGEST = 'm32'


def generate_refused(hosts, members, kind, seed):
    """A problem that has no solution.

    :param hosts: how many hosts, 100 at least
    :param members: how many members, 20 at least
    :param kind: 'local' (one part has no room even if it is alone) or
        'contention' (several parts want the same room)
    :param seed: number; odd and even ones differ in what is short
    :returns: a problem file's content
    """
    rng = random.Random(f'refused {hosts} {members} {kind} {seed}')
    variant = KINDS[kind][seed % 2]
    draft = _Draft(rng, hosts, members)
    variant(draft)
    return generator.write(draft.cloud, draft.plan, draft.topology, seed)


class _Draft:
    """A group that still fits, with some parts made to measure."""

    def __init__(self, rng, hosts, members):
        self.rng = rng
        self.members = members
        self.cloud = clouds.build(rng, hosts, with_gpus=True)
        self.plan = planting.Planting(rng, self.cloud, {})
        self.author = groups.Author(rng, self.cloud, self.plan)
        # Nobody else shall depend on what is made short.
        self.author.flavors = tuple(
            name for name in self.author.flavors if name != _LARGEST
        )
        self.parts = {}

    def describe(self, name, count, *policies):
        """A part with one stem: pairs of path and class."""
        path = f'job-{len(self.parts)}'
        self.parts[path] = {
            'members': {'server': {'class': name, 'count': count}},
            'policies': list(policies),
        }
        return [(f'{path}/server-{n}', name) for n in range(count)]

    def describe_pods(self, number, name, count):
        """Parts that need a rack with that many hosts for such a class."""
        rules = groups.policy('affinity', 'rack'), groups.apart(1)
        pods = [self.describe(name, count, *rules) for _ in range(number)]
        self.author.seat_in_racks(pods, self.author.everywhere)

    def finish(self):
        """Describe the other members, and fill the cloud."""
        left = self.members - len(self.plan)
        self.topology = self.author.write('topology', left)
        self.topology['groups'].update(self.parts)
        clouds.fill(self.rng, self.cloud, FILL)
        self.plan.leave()

    def shuffled(self, hosts):
        """Hosts in any order, those that the other parts need last."""
        needed = {
            host_id
            for path, host_id in self.plan.placement.items()
            if path.partition('/')[0] not in self.parts
        }
        order = self.rng.sample(hosts, len(hosts))
        return sorted(order, key=lambda host: host.id in needed)

    def narrow(self, hosts, name, most, each):
        """Let servers come until hosts have no more places than that.

        :param name: a class; a host has as many places as its servers fit
        :param each: how many places of one host count
        """
        request = planting.request(name)
        total = sum(host.fits(request, each) for host in hosts)
        for host in self.shuffled(hosts):
            here = host.fits(request, each)
            goal = max(0, here - max(0, total - most))
            while host.fits(request, each) > goal:
                clouds.add_server(host, self.rng.choice(('m1', 'c2', 'm2')))
            total -= here - host.fits(request, each)


def _rack_too_small(draft):
    """No rack has enough hosts for a part that has to stay in one."""
    count = min(12, draft.members * 2 // 5)
    draft.describe_pods(1, _LARGE, count)
    draft.finish()
    for hosts in draft.cloud.racks.values():
        draft.narrow(hosts, _LARGE, count - 1, each=1)


def _gpu_missing(draft):
    """There is one GPU less than a part needs."""
    members = draft.describe('g8', 5, groups.apart(2))
    having = [h for h in draft.cloud.hosts if clouds.GPU in h.total]
    draft.plan.seat(members, having, 2)
    draft.finish()
    left = [host for host in having for _ in range(host.free[clouds.GPU])]
    for host in draft.rng.sample(left, len(left) - 4):
        host.free[clouds.GPU] -= 1


def _one_rack_for_two(draft):
    """Two parts have to stay in one rack each, and only one rack will do."""
    count = min(10, draft.members * 3 // 10)
    draft.describe_pods(2, _LARGE, count)
    draft.finish()
    first = draft.plan.placement['job-0/server-0']
    for hosts in draft.cloud.racks.values():
        if any(host.id == first for host in hosts):
            draft.narrow(hosts, _LARGE, 2 * count - 1, each=2)
        else:
            draft.narrow(hosts, _LARGE, count - 1, each=1)


def _too_few_places(draft):
    """Three parts need large places, of which there is one too few."""
    count = min(8, draft.members // 5)
    for _ in range(3):
        members = draft.describe(_LARGEST, count, groups.apart(1))
        draft.plan.seat(members, draft.cloud.hosts, 1)
    draft.finish()
    draft.narrow(draft.cloud.hosts, _LARGEST, 3 * count - 1, each=3)


#: By kind, what is short for even and for odd seeds.
KINDS = {
    'local': (_rack_too_small, _gpu_missing),
    'contention': (_one_rack_for_two, _too_few_places),
}
