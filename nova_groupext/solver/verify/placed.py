# SPDX-License-Identifier: Apache-2.0
"""Verification of a plan: its feasibility and its costs."""

import math

from nova_groupext.solver.language import validation
from nova_groupext.solver.policies import violations
from nova_groupext.solver.verify.finding import Finding


def findings(problem, raw):
    """Yield errors in the answer ``placed``."""
    strange = [*_unknown(problem, raw), *_ways(problem, raw)]
    yield from strange
    if not strange:
        plan = violations.as_plan(
            problem, raw['placement'], raw['alternative']
        )
        for fault in violations.find(problem, plan):
            yield Finding(
                '$.placement',
                f'breaks {fault.code} at {validation.quote(fault.at)}',
            )
        yield from _left_out(problem, raw)
        yield from _costs(problem, plan, raw)
        yield from _violations(problem, plan, raw)


def _unknown(problem, raw):
    own = {*problem.own}
    for path, host_id in raw['placement'].items():
        where = validation.json_path('$.placement', path)
        if path not in own:
            yield Finding(where, 'is no member of this problem')
        if host_id not in problem.hosts:
            name = validation.quote(host_id)
            yield Finding(where, f'{name} is no host of this problem')


def _ways(problem, raw):
    """Yield members without a valid alternative where they have some."""
    for path in raw['alternative'].keys() | raw['placement'].keys():
        host_id = raw['placement'].get(path)
        ways = []
        if path in problem.class_of and path not in problem.pinned:
            ways = problem.class_of[path].alternatives.get(host_id, [])
        where = validation.json_path('$.alternative', path)
        taken = raw['alternative'].get(path)
        if taken is None and ways:
            yield Finding(where, 'is missing')
        elif taken is not None and taken >= len(ways):
            yield Finding(where, f'{taken} is none of {len(ways)}')


def _left_out(problem, raw):
    missing = [path for path in problem.own if path not in raw['placement']]
    if sorted(raw['unplaced']) != sorted(missing):
        yield Finding('$.unplaced', 'is not what the placement leaves out')


def _costs(problem, plan, raw):
    cost = raw['cost']
    for key, measure in (
        ('soft', violations.soft_cost),
        ('preference', violations.preference),
    ):
        right = float(measure(problem, plan.placement))
        if not _is_equal(cost[key], right):
            yield Finding(f'$.cost.{key}', f'must be {right}')
    if cost['bound'] > cost['soft'] and not _is_equal(
        cost['bound'], cost['soft']
    ):
        yield Finding('$.cost.bound', 'must not be more than soft')


def _violations(problem, plan, raw):
    costs = violations.costs(problem, plan.placement)
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
    """Check whether two amounts are equal up to the rounding of their sum."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
