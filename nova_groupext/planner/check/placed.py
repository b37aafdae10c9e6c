# SPDX-License-Identifier: Apache-2.0
"""Is a plan lawful, and does it cost what the answer says?"""

import math

from nova_groupext.planner import invalid
from nova_groupext.planner import rules
from nova_groupext.planner.check.finding import Finding


def findings(problem, raw):
    """What is wrong with the answer ``placed``."""
    strange = [*_unknown(problem, raw), *_ways(problem, raw)]
    yield from strange
    if not strange:
        plan = rules.Plan(raw['placement'], raw['alternative'])
        for fault in rules.faults(problem, plan):
            yield Finding(
                '$.placement',
                f'breaks {fault.code} at {invalid.quote(fault.at)}',
            )
        yield from _left_out(problem, raw)
        yield from _costs(problem, raw)
        yield from _violations(problem, raw)


def _unknown(problem, raw):
    for path, host_id in raw['placement'].items():
        where = invalid.child('$.placement', path)
        if path not in problem.class_of:
            yield Finding(where, 'is no member of this problem')
        if host_id not in problem.hosts:
            name = invalid.quote(host_id)
            yield Finding(where, f'{name} is no host of this problem')


def _ways(problem, raw):
    """Which alternative was taken has to be told wherever there are some."""
    for path in raw['alternative'].keys() | raw['placement'].keys():
        host_id = raw['placement'].get(path)
        ways = []
        if path in problem.class_of and path not in problem.pinned:
            ways = problem.class_of[path].alternatives.get(host_id, [])
        where = invalid.child('$.alternative', path)
        taken = raw['alternative'].get(path)
        if taken is None and ways:
            yield Finding(where, 'is missing')
        elif taken is not None and taken >= len(ways):
            yield Finding(where, f'{taken} is none of {len(ways)}')


def _left_out(problem, raw):
    members = [member.path for member in problem.topology.members]
    missing = [path for path in members if path not in raw['placement']]
    if sorted(raw['unplaced']) != sorted(missing):
        yield Finding('$.unplaced', 'is not what the placement leaves out')


def _costs(problem, raw):
    cost = raw['cost']
    for key, measure in (
        ('soft', rules.soft_cost),
        ('preference', rules.preference),
    ):
        right = float(measure(problem, raw['placement']))
        if not _is_equal(cost[key], right):
            yield Finding(f'$.cost.{key}', f'must be {right}')
    if cost['bound'] > cost['soft'] and not _is_equal(
        cost['bound'], cost['soft']
    ):
        yield Finding('$.cost.bound', 'must not be more than soft')


def _violations(problem, raw):
    costs = rules.costs(problem, raw['placement'])
    right = sorted(
        (p.at, p.type, p.scope, float(cost)) for p, cost in costs.items()
    )
    told = sorted(
        (v['at'], v['policy']['type'], v['policy']['scope'], v['cost'])
        for v in raw['violations']
    )
    if len(right) != len(told) or not all(
        a[:3] == b[:3] and _is_equal(a[3], b[3])
        for a, b in zip(right, told, strict=True)
    ):
        yield Finding(
            '$.violations', 'are not the soft policies that are not met'
        )


def _is_equal(a, b):
    """Whether two amounts are the same but for the rounding of their sum."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
