# SPDX-License-Identifier: Apache-2.0
"""Builders of small problems."""

import copy
import dataclasses
import itertools
import random

from nova_groupext.solver.model import problems
from nova_groupext.solver.solve import stages

LEVELS = ['host', 'rack', 'zone']


def host(name, rack=None, zone=None, cpu=8, foreign=False):
    """A host entry; without a rack or zone it has no such domain."""
    domains = {'rack': rack, 'zone': zone}
    return {
        'id': name,
        'domains': {k: v for k, v in domains.items() if v is not None},
        'free': {'VCPU': cpu},
        'foreign': foreign,
    }


def racks(**cpus):
    """Hosts a1, a2, b1... for racks a=(8, 8), b=(4,); all in zone z."""
    return [
        host(f'{rack}{number}', rack, 'z', cpu)
        for rack, row in cpus.items()
        for number, cpu in enumerate(row, 1)
    ]


def policy(kind, scope, strict=True, **options):
    """A policy entry."""
    return {'type': kind, 'scope': scope, 'strict': strict, **options}


def group(policies=(), relationships=(), groups=None, **members):
    """A topology node; ``web=3`` are three members of one VCPU."""
    return {
        'members': {
            name: {'class': 'one', 'count': value}
            if isinstance(value, int)
            else value
            for name, value in members.items()
        },
        'groups': groups or {},
        'policies': list(policies),
        'relationships': list(relationships),
    }


def tie(first, second, *policies, bandwidth=1):
    """A relationship entry."""
    return {
        'name': 'tie',
        'between': [first, second],
        'bandwidth': bandwidth,
        'policies': list(policies),
    }


def raw_problem(hosts, topology, classes=None, levels=None, **others):
    """A problem file's content; class ``one`` asks for one VCPU."""
    return {
        'version': 1,
        'levels': levels or LEVELS,
        'hosts': hosts,
        'classes': {'one': {'request': {'VCPU': 1}}, **(classes or {})},
        'topology': topology,
        **others,
    }


def problem(*args, **kwargs):
    """The same, parsed."""
    return problems.parse(raw_problem(*args, **kwargs))


def changed(raw, path, value):
    """A JSON value with one part set, ``path`` being keys and indexes."""
    raw = copy.deepcopy(raw)
    *parents, last = path
    parent = raw
    for key in parents:
        parent = parent[key]
    parent[last] = value
    return raw


def solve(*args, **kwargs):
    """The answer to such a problem, found in this process."""
    return stages.solve(problem(*args, **kwargs))


def by_host(answer):
    """Host id -> paths of the members there."""
    items = sorted(answer.placement.items(), key=lambda item: item[1])
    return {
        name: sorted(path for path, _ in inside)
        for name, inside in itertools.groupby(items, lambda item: item[1])
    }


def raw_slow_problem(**others):
    """A problem placed at once, whose least cost takes long to prove."""
    cpus = random.Random(1).choices(range(9), k=120)
    rows = {f'r{n}': cpus[3 * n : 3 * n + 3] for n in range(40)}
    near = tie('a', 'b', policy('network-proximity', 'rack', False))
    policies = [
        policy('spread', 'rack', False, min_domains=9),
        policy('affinity', 'rack', False),
    ]
    topology = group(policies, [near], a=100, b={'class': 'two', 'count': 100})
    two = {'two': {'request': {'VCPU': 2}}}
    return raw_problem(racks(**rows), topology, two, **others)


def slow_problem(**others):
    """The same, parsed."""
    return problems.parse(raw_slow_problem(**others))


def raw_hard_problem(**others):
    """A problem whose plans use every VCPU and take long to find."""
    chance = random.Random(2)
    hosts, sizes = [], []
    for number in range(60):
        three = [chance.randint(26, 49) for _ in range(3)]
        sizes += three
        hosts.append(host(f'h{number:02}', 'r', 'z', sum(three)))
    sizes.sort(key=lambda size: chance.random())
    classes = {f'c{n}': {'request': {'VCPU': n}} for n in set(sizes)}
    members = {
        f'm{number}': {'class': f'c{size}'}
        for number, size in enumerate(sizes)
    }
    return raw_problem(hosts, group(**members), classes, **others)


def hard_problem(**others):
    """The same, parsed."""
    return problems.parse(raw_hard_problem(**others))


def untimed(answer):
    """An answer without its measurements."""
    differs = ('seconds', 'first_seconds', 'peak_mib')
    stats = {k: v for k, v in answer.stats.items() if k not in differs}
    return dataclasses.replace(answer, stats=stats)
