# SPDX-License-Identifier: Apache-2.0
"""Verification of a plan: its feasibility and its costs."""

import math

from nova_groupext.solver.language import validation
from nova_groupext.solver.model import violations
from nova_groupext.solver.verify.finding import Finding


def findings(problem, raw):
    """Yield errors in the answer ``placed``."""
    mismatches = [*_unknown(problem, raw), *_options(problem, raw)]
    yield from mismatches
    if not mismatches:
        plan = violations.as_plan(
            problem, raw['placement'], raw['alternative']
        )
        for violation in violations.find(problem, plan):
            path = validation.quote(violation.at)
            yield Finding(
                '$.placement', f'violates {violation.code} at {path}'
            )
        yield from _left_out(problem, raw)
        yield from _costs(problem, plan, raw)
        yield from _violations(problem, plan, raw)


def _unknown(problem, raw):
    own = {*problem.own_members}
    for path, host_id in raw['placement'].items():
        where = validation.json_path('$.placement', path)
        if path not in own:
            yield Finding(where, 'is not a member of this problem')
        if host_id not in problem.hosts:
            name = validation.quote(host_id)
            yield Finding(where, f'{name} is not a host of this problem')


def _options(problem, raw):
    """Yield members without a valid alternative where they have some."""
    for path in raw['alternative'].keys() | raw['placement'].keys():
        host_id = raw['placement'].get(path)
        options = []
        if path in problem.class_of and path not in problem.pinned:
            options = problem.class_of[path].alternatives.get(host_id, [])
        where = validation.json_path('$.alternative', path)
        option = raw['alternative'].get(path)
        if option is None and options:
            yield Finding(where, 'is missing')
        elif option is not None and option >= len(options):
            yield Finding(
                where,
                f'{option} is out of range: there are '
                f'{len(options)} alternatives',
            )


def _left_out(problem, raw):
    missing = [
        path for path in problem.own_members if path not in raw['placement']
    ]
    if sorted(raw['unplaced']) != sorted(missing):
        yield Finding(
            '$.unplaced', 'differs from the members that the placement omits'
        )


def _costs(problem, plan, raw):
    cost = raw['cost']
    for key, compute in (
        ('soft', violations.soft_cost),
        ('preference', violations.preference),
    ):
        expected = float(compute(problem, plan.placement))
        if not _is_equal(cost[key], expected):
            yield Finding(f'$.cost.{key}', f'must be {expected}')
    if cost['bound'] > cost['soft'] and not _is_equal(
        cost['bound'], cost['soft']
    ):
        yield Finding('$.cost.bound', 'must not exceed soft')


def _violations(problem, plan, raw):
    costs = violations.costs(problem, plan.placement)
    expected = sorted(
        (p.at, p.type, p.scope, float(cost)) for p, cost in costs.items()
    )
    claimed = sorted(
        (v['at'], v['policy']['type'], v['policy']['scope'], v['cost'])
        for v in raw['violations']
    )
    if len(expected) != len(claimed) or not all(
        first[:3] == second[:3] and _is_equal(first[3], second[3])
        for first, second in zip(expected, claimed, strict=True)
    ):
        yield Finding(
            '$.violations',
            'differ from the soft policies that the placement violates',
        )


def _is_equal(first, second):
    """Check whether two amounts are equal up to the rounding of their sum."""
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
