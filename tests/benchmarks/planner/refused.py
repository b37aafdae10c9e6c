# SPDX-License-Identifier: Apache-2.0
"""Problems that have no solution, for a reason that can be counted.

A group is planted as for a problem with a solution; then more ordinary
servers are added, no more than needed, until a required capacity is one too
small.
"""

import random

from tests.benchmarks.planner import cloud as clouds
from tests.benchmarks.planner import generator
from tests.benchmarks.planner import groups
from tests.benchmarks.planner import planting

FILL = 0.9

#: Few hosts have capacity for one of these.
_LARGE = 'm24'
_LARGEST = 'm32'


def generate_refused(hosts, members, kind, seed):
    """A problem that has no solution.

    :param hosts: how many hosts, 100 at least
    :param members: how many members, 20 at least
    :param kind: 'local' (one part does not fit even if alone) or 'contention'
        (several parts need the same capacity)
    :param seed: number; odd and even ones lack different capacity
    :returns: a problem file's content
    """
    rng = random.Random(f'refused {hosts} {members} {kind} {seed}')
    variant = KINDS[kind][seed % 2]
    draft = _Draft(rng, hosts, members)
    variant(draft)
    return generator.write(draft.cloud, draft.plan, draft.topology, seed)


class _Draft:
    """A feasible group, some parts of which depend on scarce capacity."""

    def __init__(self, rng, hosts, members):
        self.rng = rng
        self.members = members
        self.cloud = clouds.build(rng, hosts, with_gpus=True)
        self.plan = planting.PlantedPlan(rng, self.cloud, {})
        self.generator = groups.GroupGenerator(rng, self.cloud, self.plan)
        # No other part may depend on the scarce capacity.
        self.generator.flavors = tuple(
            name for name in self.generator.flavors if name != _LARGEST
        )
        self.parts = {}

    def describe(self, name, count, *policies):
        """A part with one member set: pairs of path and class."""
        path = f'job-{len(self.parts)}'
        self.parts[path] = {
            'members': {'server': {'class': name, 'count': count}},
            'policies': list(policies),
        }
        return [(f'{path}/server-{n}', name) for n in range(count)]

    def describe_pods(self, number, name, count):
        """Parts that need a rack with that many hosts for such a class."""
        policies = groups.policy('affinity', 'rack'), groups.host_limit(1)
        pods = [self.describe(name, count, *policies) for _ in range(number)]
        self.generator.assign_in_racks(pods, self.generator.all_racks)

    def finish(self):
        """Describe the other members, and fill the cloud."""
        count = self.members - len(self.plan)
        self.topology = self.generator.generate('topology', count)
        self.topology['groups'].update(self.parts)
        clouds.fill(self.rng, self.cloud, FILL)
        self.plan.release()

    def shuffled(self, hosts):
        """Return hosts in random order, those that other parts need last."""
        needed = {
            host_id
            for path, host_id in self.plan.placement.items()
            if path.partition('/')[0] not in self.parts
        }
        order = self.rng.sample(hosts, len(hosts))
        return sorted(order, key=lambda host: host.id in needed)

    def reduce_capacity(self, hosts, name, max_capacity, each):
        """Add servers until hosts have no more capacity than that.

        :param name: class in whose servers capacity is counted
        :param each: maximum capacity that counts for one host
        """
        request = planting.request(name)
        total = sum(host.count_fits(request, each) for host in hosts)
        for host in self.shuffled(hosts):
            capacity = host.count_fits(request, each)
            target = max(0, capacity - max(0, total - max_capacity))
            while host.count_fits(request, each) > target:
                clouds.add_server(host, self.rng.choice(('m1', 'c2', 'm2')))
            total -= capacity - host.count_fits(request, each)


def _rack_too_small(draft):
    """No rack has enough hosts for a part that must be in one rack."""
    count = min(12, draft.members * 2 // 5)
    draft.describe_pods(1, _LARGE, count)
    draft.finish()
    for hosts in draft.cloud.racks.values():
        draft.reduce_capacity(hosts, _LARGE, count - 1, each=1)


def _gpu_missing(draft):
    """One GPU less is free than a part needs."""
    members = draft.describe('g8', 5, groups.host_limit(2))
    gpu_hosts = [h for h in draft.cloud.hosts if clouds.GPU in h.total]
    draft.plan.assign(members, gpu_hosts, 2)
    draft.finish()
    free_gpus = [
        host for host in gpu_hosts for _ in range(host.free[clouds.GPU])
    ]
    for host in draft.rng.sample(free_gpus, len(free_gpus) - 4):
        host.free[clouds.GPU] -= 1


def _one_rack_for_two(draft):
    """Two parts need a rack each, and only one rack is large enough."""
    count = min(10, draft.members * 3 // 10)
    draft.describe_pods(2, _LARGE, count)
    draft.finish()
    first = draft.plan.placement['job-0/server-0']
    for hosts in draft.cloud.racks.values():
        if any(host.id == first for host in hosts):
            draft.reduce_capacity(hosts, _LARGE, 2 * count - 1, each=2)
        else:
            draft.reduce_capacity(hosts, _LARGE, count - 1, each=1)


def _too_few_large_hosts(draft):
    """Three parts need large hosts, of which there is one too few."""
    count = min(8, draft.members // 5)
    for _ in range(3):
        members = draft.describe(_LARGEST, count, groups.host_limit(1))
        draft.plan.assign(members, draft.cloud.hosts, 1)
    draft.finish()
    draft.reduce_capacity(draft.cloud.hosts, _LARGEST, 3 * count - 1, each=3)


#: Kind -> missing capacity for even and for odd seeds.
KINDS = {
    'local': (_rack_too_small, _gpu_missing),
    'contention': (_one_rack_for_two, _too_few_large_hosts),
}
