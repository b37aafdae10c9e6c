# SPDX-License-Identifier: Apache-2.0
"""Problems with a hidden solution.

A group is planted on an empty cloud, the cloud is filled with ordinary
servers, and the group is removed again. The capacity that it leaves is enough
for it, and often no other capacity is.

``python -m tests.benchmarks.planner.generator HOSTS MEMBERS FAMILY FILL SEED``
prints a problem file; FILL is a share such as 0.9.
"""

import argparse
import json
import random
import sys

from tests.benchmarks.planner import cloud as clouds
from tests.benchmarks.planner import groups
from tests.benchmarks.planner import planting

LEVELS = ('host', 'rack', 'zone')

#: Seconds; the benchmark sets its own.
TIME_LIMIT = 60.0


def generate(hosts, members, family, fill, seed):
    """A problem that can be solved.

    :param hosts: how many hosts
    :param members: how many members
    :param family: 'plain' (no topology), 'topology', 'scarce' (few hosts have
        what some members need), 'bound' (most members share a rack or a zone),
        'elastic' (some sets have optional members, more than planted) or
        'exact' (hosts of equal size have nothing free but what is planted)
    :param fill: how full the cloud is with the group, 0 to 1; 'exact' ignores
        it
    :param seed: number; the same one gives the same problem
    :returns: a problem file's content, and a feasible plan (member path ->
        host id)
    """
    rng = random.Random(f'{hosts} {members} {family} {fill} {seed}')
    cloud = clouds.build(
        *(rng, hosts),
        with_gpus=family == 'scarce',
        with_one_model=family == 'exact',
    )
    plan = planting.PlantedPlan(rng, cloud, _restricted(rng, cloud, family))
    group = groups.GroupGenerator(rng, cloud, plan)
    topology = group.generate(family, members)
    if family == 'elastic':
        group.stretch(topology)
    if family == 'exact':
        clouds.fill_up(cloud)
    else:
        clouds.fill(rng, cloud, fill)
    plan.release()
    return write(cloud, plan, topology, seed), plan.placement


def write(cloud, plan, topology, seed):
    """The content of a problem file."""
    return {
        'version': 1,
        'levels': list(LEVELS),
        'hosts': [_host(host) for host in cloud.hosts],
        'classes': {
            name: _class(cloud, name, plan.restricted.get(name))
            for name in sorted(plan.used)
        },
        'topology': topology,
        'pinned': {},
        'time_limit': TIME_LIMIT,
        'seed': seed,
    }


def _restricted(rng, cloud, family):
    """Class name -> ids of the hosts set aside for it."""
    if family != 'scarce':
        return {}
    reserved = rng.sample(cloud.hosts, len(cloud.hosts) // 8)
    ids = frozenset(host.id for host in reserved)
    return {'m4-fast': ids, 'c8-fast': ids, 'm16-fast': ids}


def _host(host):
    return {
        'id': host.id,
        'domains': {'rack': host.rack, 'zone': host.zone},
        'free': dict(host.free),
        'foreign': host.foreign,
    }


def _class(cloud, name, allowed):
    hosts = [h for h in cloud.hosts if allowed is None or h.id in allowed]
    member_class = {
        'request': planting.request(name),
        'scores': _scores(hosts),
    }
    return (
        member_class
        if allowed is None
        else {**member_class, 'hosts': sorted(allowed)}
    )


def _scores(hosts):
    """Nova's CPU and RAM weighers, as they come: the emptiest is best."""
    max_free = {
        resource: max(host.free[resource] for host in hosts) or 1
        for resource in ('VCPU', 'MEMORY_MB')
    }
    return {
        host.id: round(sum(host.free[r] / n for r, n in max_free.items()), 3)
        for host in hosts
    }


def main(argv=None):
    """Print one problem file."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('hosts', type=int)
    parser.add_argument('members', type=int)
    parser.add_argument('family', choices=sorted(groups.FAMILIES))
    parser.add_argument('fill', type=float)
    parser.add_argument('seed', type=int)
    problem, _ = generate(**vars(parser.parse_args(argv)))
    json.dump(problem, sys.stdout)


if __name__ == '__main__':
    main()
