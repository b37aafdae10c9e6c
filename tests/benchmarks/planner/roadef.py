# SPDX-License-Identifier: Apache-2.0
"""Machines that fail, in instances of the ROADEF/EURO challenge 2012.

The challenge's machine reassignment is the closest public problem: processes
are on machines, at most one of a service on each, and a service needs several
locations. Here some machines fail, and the planner looks for a plan in which
as few processes as possible change their machines::

    python -m tests.benchmarks.planner.roadef FOLDER

The folder has files ``model_X.txt`` and ``assignment_X.txt`` of the challenge,
which are not part of this project. What the topology language cannot say is
left out: transient resources, dependencies between services, and the costs of
loads and balances.
"""

import argparse
import collections
import json
import pathlib
import random
import sys
import time

from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import child

LEVELS = ('host', 'zone')


class _Numbers:
    """Numbers of a file, one after the other."""

    def __init__(self, text):
        self._numbers = map(int, text.split())

    def one(self):
        return next(self._numbers)

    def some(self, count):
        return [next(self._numbers) for _ in range(count)]


def read(model, assignment):
    """Return the content of a problem file; locations are zones.

    :param model: text of the file ``model_X.txt``
    :param assignment: text of the file ``assignment_X.txt``
    """
    numbers = _Numbers(model)
    resources = numbers.one()
    numbers.some(2 * resources)
    hosts = _read_machines(numbers, resources)
    spreads = []
    for _ in range(numbers.one()):
        spread, dependencies = numbers.some(2)
        numbers.some(dependencies)
        spreads.append(spread)
    services, classes = [], {}
    for process in range(numbers.one()):
        services.append(numbers.one())
        classes[f'p{process}'] = {'request': _amounts(numbers.some(resources))}
        numbers.one()
    machines = [f'm{number}' for number in map(int, assignment.split())]
    topology, names = _describe(services, spreads)
    return {
        'version': 1,
        'levels': list(LEVELS),
        'hosts': hosts,
        'classes': classes,
        'topology': topology,
        'current': dict(zip(names, machines, strict=True)),
        'objective': 'changes',
    }


def _read_machines(numbers, resources):
    hosts = []
    machines = numbers.one()
    for machine in range(machines):
        _neighborhood, location = numbers.some(2)
        free = _amounts(numbers.some(resources))
        # Safety capacities, and costs of moves to each machine.
        numbers.some(resources + machines)
        zone = f'l{location}'
        hosts.append(
            {'id': f'm{machine}', 'domains': {'zone': zone}, 'free': free}
        )
    return hosts


def _amounts(numbers):
    return {f'R{n}': amount for n, amount in enumerate(numbers) if amount}


def _describe(services, spreads):
    """Return a topology, and the paths of the processes.

    Services of several processes are subgroups.

    :param services: number of the service of each process
    :param spreads: least number of locations of each service
    """
    sizes = collections.Counter(services)
    topology, paths = {'members': {}, 'groups': {}}, []
    for process, service in enumerate(services):
        name, node, path = f'p{process}', topology, f'p{process}'
        if sizes[service] > 1:
            path = f's{service}/{name}'
            node = topology['groups'].setdefault(
                f's{service}',
                {
                    'members': {},
                    'policies': _policies(sizes[service], spreads[service]),
                },
            )
        node['members'][name] = {'class': name}
        paths.append(path)
    return topology, paths


def _policies(size, spread):
    apart = {'type': 'anti-affinity', 'scope': 'host'}
    if spread < 2:
        return [apart]
    several = {'type': 'spread', 'scope': 'zone', 'min_domains': spread}
    return [apart, {**several, 'max_skew': size}]


def fail(content, share, seed):
    """Return the content without a share of the hosts, drawn at random."""
    rng = random.Random(seed)
    hosts = content['hosts']
    kept = rng.sample(hosts, round(len(hosts) * (1 - share)))
    return {**content, 'hosts': kept, 'seed': seed}


def measure(content, seconds):
    """Decide a problem; return a line of the table as a dict."""
    problem = problems.parse({**content, 'time_limit': seconds})
    began = time.monotonic()
    answer = child.run(problem)
    wrong = answer.status == 'placed' and violations.find(
        problem, violations.Plan(answer.placement, answer.alternative)
    )
    return {
        'hosts': len(problem.hosts),
        'members': len(problem.class_of),
        'must move': len(problem.class_of) - len(problem.may_stay),
        'status': 'wrong' if wrong else answer.status,
        'moved': (answer.cost or {}).get('changes', '-'),
        'first, s': answer.stats.get('first_seconds', '-'),
        'end, s': round(time.monotonic() - began, 1),
    }


def main(argv=None):
    """Measure all instances in a folder; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add('folder', type=pathlib.Path)
    add('--failed', type=float, default=0.03, help='share of the machines')
    add('--time-limit', type=float, default=30, help='seconds, of each')
    add('--seed', type=int, default=0)
    options = parser.parse_args(argv)
    is_wrong = False
    for path in sorted(options.folder.glob('model_*.txt')):
        name = path.stem.removeprefix('model_')
        assignment = path.with_name(f'assignment_{name}.txt')
        content = read(path.read_text(), assignment.read_text())
        line = measure(
            fail(content, options.failed, options.seed), options.time_limit
        )
        is_wrong |= line['status'] == 'wrong'
        sys.stdout.write(f'{name}: {json.dumps(line)}\n')
        sys.stdout.flush()
    return int(is_wrong)


if __name__ == '__main__':
    sys.exit(main())
