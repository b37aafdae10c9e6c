# SPDX-License-Identifier: Apache-2.0
"""CP-SAT of OR-Tools as a peer, in a Python of its own.

OR-Tools needs other versions of some packages than OpenStack. So a process of
another Python, which has OR-Tools and nothing of this project, gets the
members, hosts and strict policies as numbers: cp_sat_program.py.
"""

import collections
import json
import pathlib
import subprocess

from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import violations

_PROGRAM = pathlib.Path(__file__).with_name('cp_sat_program.py')

#: Time of the process over that of its search, in wall seconds.
_PATIENCE = 3

_KINDS = ('affinity', 'anti-affinity', 'spread', 'survive')


def measure(problem, seconds, python):
    """Return the processor seconds until CP-SAT has a plan, None without one.

    :param python: path of the other Python
    :raises ValueError: the problem has what this peer does not know, or the
        plan is wrong
    """
    classes = equivalence.equivalence_classes(problem)
    hosts = sorted(problem.hosts)
    done = subprocess.run(
        [python, _PROGRAM],
        input=json.dumps(
            {**_describe(problem, classes, hosts), 'seconds': seconds}
        ),
        capture_output=True,
        check=True,
        text=True,
        timeout=_PATIENCE * seconds + 60,
    )
    answer = json.loads(done.stdout)
    if answer['counts'] is None:
        return None
    placement = _place(classes, hosts, answer['counts'])
    if found := violations.find(problem, violations.Plan(placement, {})):
        raise ValueError(f'the plan of CP-SAT is wrong: {found}')
    return answer['seconds']


def _place(classes, hosts, counts):
    """Return {path: host id} of the numbers of members by class and host."""
    placement = {}
    for eq_class, by_host in zip(classes, counts, strict=True):
        paths = iter(eq_class.members)
        for host, number in by_host:
            placement |= {next(paths): hosts[host] for _ in range(number)}
    return placement


def _describe(problem, classes, hosts):
    """Return members, hosts and policies as JSON.

    A class is {count, optional, request, hosts: {host: how many fit}}.
    """
    arrays = host_arrays.of(problem)
    numbers = {host: number for number, host in enumerate(hosts)}
    described = []
    for eq_class in classes:
        fits = arrays.max_members(eq_class.member_class)
        described.append(
            {
                'count': len(eq_class.members),
                'request': dict(eq_class.member_class.request),
                'hosts': [
                    [numbers[host], int(min(number, len(eq_class.members)))]
                    for host, number in zip(arrays.ids, fits, strict=True)
                    if number
                    and all(
                        problem.domain(host, scope) is not None
                        for scope in eq_class.scopes
                    )
                ],
            }
        )
    return {
        'free': [problem.hosts[host].free for host in hosts],
        'classes': described,
        'member_sets': _member_sets(problem, classes),
        'policies': [
            _policy(problem, policy, classes, hosts)
            for policy in problem.topology.policies
            if policy.strict
        ],
    }


def _member_sets(problem, classes):
    """Return the least number of members of some classes, [number, classes].

    A class without optional members is required as a whole.
    """
    optional = collections.defaultdict(list)
    rows = []
    for number, eq_class in enumerate(classes):
        if eq_class.optional:
            optional[eq_class.optional].append(number)
        else:
            rows.append([len(eq_class.members), [number]])
    least = {s.path: s.min_count for s in problem.topology.member_sets}
    return rows + [[least[path], inside] for path, inside in optional.items()]


def _policy(problem, policy, classes, hosts):
    # Two sides that are close at one level share a domain of it.
    kind = 'affinity' if policy.binds_one_domain else policy.type
    if kind not in _KINDS:
        raise ValueError(f'CP-SAT has no rows for {policy}')
    numbers = {}
    at = [problem.domain(host, policy.scope) for host in hosts]
    return {
        'type': kind,
        'classes': [
            number
            for number, eq_class in enumerate(classes)
            if eq_class.members[0] in policy.paths
        ],
        'domains': [numbers.setdefault(name, len(numbers)) for name in at],
        **{
            name: getattr(policy, name)
            for name in (
                *('max_per_domain', 'max_skew', 'min_domains'),
                *('failures', 'min_members'),
            )
            if hasattr(policy, name)
        },
    }
