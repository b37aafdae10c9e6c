# SPDX-License-Identifier: Apache-2.0
"""Problems that are built to reach one limit of the solver.

Most of them are hidden in a large problem with a solution, as a small problem
is decided at once whatever the limits are.
"""

import copy
import functools
import random

from nova_groupext.solver.model import problems
from tests.benchmarks.planner import generator

# Only the added hosts have this resource, so the others cannot take a member
# that requests it.
_RESOURCE = 'CUSTOM_ADDED'


def _host(name, rack, zone, **free):
    """Return a host's entry; ``VCPU=8`` is a free amount."""
    domains = {'rack': rack, 'zone': zone}
    return {'id': name, 'domains': domains, 'free': free, 'foreign': False}


def _policy(kind, scope, **options):
    return {'type': kind, 'scope': scope, **options}


def _problem(hosts, classes, **topology):
    raw = {
        'version': 1,
        'levels': list(generator.LEVELS),
        'hosts': hosts,
        'classes': classes,
        'topology': topology,
    }
    return problems.parse(raw)


@functools.cache
def _surroundings():
    """Content of a problem with a solution, for parts that have none."""
    raw, _ = generator.generate(450, 100, 'topology', 0.9, 1)
    return raw


def _within_surroundings(hosts, classes, groups):
    raw = copy.deepcopy(_surroundings())
    raw['hosts'] += hosts
    raw['classes'].update(classes)
    raw['topology']['groups'].update(groups)
    return problems.parse(raw)


def _added_host(rack, number, free):
    return _host(f'{rack}-{number}', rack, 'added', **{_RESOURCE: free})


def suspects(number, position, is_hidden=True):
    """Parts that need all of their hosts; one of them does not fit.

    Capacity is sufficient by every sum, but not by whole members.

    :param number: of the parts
    :param position: of the part that does not fit
    :param is_hidden: whether they are hidden in a large problem
    """
    hosts, classes, groups = [], {}, {}
    for part in range(number):
        name = f'a-{part:02}'
        own = [_added_host(name, n, 10) for n in range(3)]
        hosts += own
        for size in (4, 5, 6):
            classes[f'{name}-{size}'] = {
                'request': {_RESOURCE: size},
                'hosts': [host['id'] for host in own],
            }
        others = ('five', 5, 1) if part == position else ('four', 4, 3)
        groups[name] = {
            'members': {
                label: {'class': f'{name}-{size}', 'count': count}
                for label, size, count in (('six', 6, 3), others)
            },
            'policies': [_policy('affinity', 'rack')],
        }
    if not is_hidden:
        return _problem(hosts, classes, groups=groups)
    return _within_surroundings(hosts, classes, groups)


def contradictions(number, members, hosts_per_rack=5):
    """Pairs of policies of which the last one is contradictory.

    :param number: of the pairs
    :param members: of the contradictory pair
    :param hosts_per_rack: more of them make the proof take longer
    """
    hosts = [
        _added_host(f'a-{rack}', n, 1000)
        for rack in range(4)
        for n in range(hosts_per_rack)
    ]
    classes = {
        'added': {
            'request': {_RESOURCE: 1},
            'hosts': [host['id'] for host in hosts],
        }
    }
    groups = {}
    for pair in range(number):
        is_last = pair == number - 1
        near = members * 3 // 4 if is_last else 2
        far = members - near if is_last else 2
        groups[f'a-{pair:02}'] = {
            'members': {'far': {'class': 'added', 'count': far}},
            'groups': {
                'near': {
                    'members': {'near': {'class': 'added', 'count': near}},
                    'policies': [_policy('affinity', 'rack')],
                }
            },
            'policies': [_policy('spread', 'rack', max_skew=1, min_domains=2)],
        }
    return _within_surroundings(hosts, classes, groups)


def host_sets(number, position):
    """Member sets with hosts of their own; two need the same three hosts.

    :param number: of the sets of hosts
    :param position: of the set of hosts that is too small
    """
    rng = random.Random(f'{number} {position}')
    hosts = [_host(f'h{n:03}', 'r', 'z', VCPU=100) for n in range(60)]
    few = [_host(f'few{n}', 'r', 'z', VCPU=1) for n in range(3)]
    classes, members = {}, {}
    for index in range(number):
        allowed = [host['id'] for host in rng.sample(hosts, 20)]
        if index in (position - 1, position):
            allowed = ['few0', 'few1', 'few2'][position - index - 1 :]
        name = f'm{index:03}'
        classes[name] = {'request': {'VCPU': 1}, 'hosts': allowed}
        members[name] = {'class': name, 'count': 2}
    return _problem(hosts + few, classes, members=members)


def odd_amounts(steps):
    """Amounts without a common divisor, of which no sum fills a host.

    :param steps: free amount of a host
    """
    hosts = [_host(f'h{n:02}', 'r', 'z', VCPU=steps) for n in range(30)]
    requests = {'a': steps // 3 + 21, 'b': steps * 4 // 15 + 9}
    classes = {
        name: {'request': {'VCPU': amount}}
        for name, amount in requests.items()
    }
    members = {
        'a': {'class': 'a', 'count': 55},
        'b': {'class': 'b', 'count': 39},
    }
    return _problem(hosts, classes, members=members)


def several_conflicts(number):
    """Parts of three members, in one zone and on different hosts.

    A zone has two hosts for them, so either policy has to become soft.

    :param number: of the parts
    """
    hosts, classes, groups = [], {}, {}
    for part in range(number):
        name = f'p{part:02}'
        own = [
            _host(f'{name}-{zone}{n}', name, f'{name}-{zone}', VCPU=8)
            for zone in 'ab'
            for n in range(2)
        ]
        hosts += own
        classes[name] = {
            'request': {'VCPU': 1},
            'hosts': [host['id'] for host in own],
        }
        groups[name] = {
            'members': {'m': {'class': name, 'count': 3}},
            'policies': [
                _policy('anti-affinity', 'host'),
                _policy('affinity', 'zone'),
            ],
        }
    return _problem(hosts, classes, groups=groups)


def member_sets(number):
    """Member sets of two, with capacity for all members but one.

    :param number: of the member sets
    """
    hosts = [
        _host(f'h{n:02}', 'r', 'z', VCPU=1, MEMORY_MB=1000)
        for n in range(2 * number - 1)
    ]
    classes = {
        f'c{n:02}': {'request': {'VCPU': 1, 'MEMORY_MB': n + 1}}
        for n in range(number)
    }
    members = {
        f'm{n:02}': {'class': f'c{n:02}', 'count': 2} for n in range(number)
    }
    return _problem(hosts, classes, members=members)


def moves(number):
    """A group of which some members move between two racks.

    :param number: of the moving members
    :returns: problem, and possible hosts by path of all members but one
    """
    hosts = [
        _host(f'{rack}{n}', rack, 'z', VCPU=9) for rack in 'abcd' for n in '12'
    ]
    problem = _problem(
        hosts,
        {'one': {'request': {'VCPU': 1}}},
        members={'m': {'class': 'one', 'count': number + 4}},
        policies=[_policy('spread', 'rack', max_skew=9)],
    )
    possible_hosts = {f'm-{n}': {'a1', 'b1'} for n in range(1, number + 1)}
    for index in range(number + 1, number + 4):
        possible_hosts[f'm-{index}'] = {'c1'}
    return problem, possible_hosts


def optional(seed, factor):
    """Part of the members of a group have to come, and some do not fit.

    :param factor: number of members over those that fit at 95 %
    """
    raw, _ = generator.generate(450, 100, 'scarce', 0.95, seed)
    for member_set in _member_sets(raw['topology']):
        number = member_set['count']
        member_set['min_count'] = number // 2
        member_set['count'] = number * factor
    return problems.parse(raw)


def _member_sets(node):
    yield from node.get('members', {}).values()
    for inner in node.get('groups', {}).values():
        yield from _member_sets(inner)


def failed_hosts(number, *instance):
    """Return a problem of members of which some hosts have failed.

    As many of the others as possible are to stay.

    :param number: of the failed hosts
    :param instance: arguments of generator.generate()
    """
    raw, placement = generator.generate(*instance)
    used = sorted(set(placement.values()))
    failed = random.Random(number).sample(used, number)
    for host in raw['hosts']:
        if host['id'] in failed:
            host['free'] = {}
    return problems.parse(
        {**raw, 'current': placement, 'objective': 'changes'}
    )
