# SPDX-License-Identifier: Apache-2.0
"""Verification of a plan: its feasibility and its costs."""

from collections.abc import Iterator
import math

from nova_groupext.solver.language import validation
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.verify.finding import Finding


def findings(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[Finding]:
    """Yield errors in the answer ``placed``."""
    mismatches = [*_unknown(problem, answer), *_options(problem, answer)]
    yield from mismatches
    if not mismatches:
        plan = violations.as_plan(
            problem, answer.placement, answer.alternative
        )
        for violation in violations.find(problem, plan):
            path = validation.quote(violation.at)
            yield Finding(
                '$.placement', f'violates {violation.code} at {path}'
            )
        yield from _left_out(problem, answer)
        yield from _costs(problem, plan, answer)
        yield from _violations(problem, plan, answer)


def _unknown(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[Finding]:
    own = {*problem.own_members}
    for path, host_id in answer.placement.items():
        where = validation.json_path('$.placement', path)
        if path not in own:
            yield Finding(where, 'is not a member of this problem')
        if host_id not in problem.hosts:
            name = validation.quote(host_id)
            yield Finding(where, f'{name} is not a host of this problem')


def _options(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[Finding]:
    """Yield members without a valid alternative where they have some."""
    for path in answer.alternative.keys() | answer.placement.keys():
        options = []
        if path in answer.placement and path in problem.movable:
            host_id = answer.placement[path]
            options = problem.class_of[path].alternatives.get(host_id, [])
        where = validation.json_path('$.alternative', path)
        option = answer.alternative.get(path)
        if option is None and options:
            yield Finding(where, 'is missing')
        elif option is not None and option >= len(options):
            yield Finding(
                where,
                f'{option} is out of range: there are '
                f'{len(options)} alternatives',
            )


def _left_out(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[Finding]:
    missing = [
        path for path in problem.own_members if path not in answer.placement
    ]
    if sorted(answer.unplaced) != sorted(missing):
        yield Finding(
            '$.unplaced', 'differs from the members that the placement omits'
        )


def _costs(
    problem: problems.Problem, plan: violations.Plan, answer: answers.Answer
) -> Iterator[Finding]:
    cost = answer.cost
    if cost is None:
        yield Finding('$.cost', 'is missing')
        return
    soft = float(violations.soft_cost(problem, plan.placement))
    if not _is_equal(cost['soft'], soft):
        yield Finding('$.cost.soft', f'must be {soft}')
    preference = float(violations.preference(problem, plan.placement))
    if not _is_equal(cost['preference'], preference):
        yield Finding('$.cost.preference', f'must be {preference}')
    changes = None
    if problem.current:
        changes = violations.count_changes(problem, plan.placement)
    if cost.get('changes') != changes:
        text = 'is unknown' if changes is None else f'must be {changes}'
        yield Finding('$.cost.changes', text)
    if cost['bound'] > cost['soft'] and not _is_equal(
        cost['bound'], cost['soft']
    ):
        yield Finding('$.cost.bound', 'must not exceed soft')


def _violations(
    problem: problems.Problem, plan: violations.Plan, answer: answers.Answer
) -> Iterator[Finding]:
    costs = violations.costs(problem, plan.placement)
    expected = sorted(
        (p.at, p.type, p.scope, float(cost)) for p, cost in costs.items()
    )
    claimed = sorted(
        (v['at'], v['policy']['type'], v['policy']['scope'], v['cost'])
        for v in answer.violations
    )
    if len(expected) != len(claimed) or not all(
        first[:3] == second[:3] and _is_equal(first[3], second[3])
        for first, second in zip(expected, claimed, strict=True)
    ):
        yield Finding(
            '$.violations',
            'differ from the soft policies that the placement violates',
        )


def _is_equal(first: float, second: float) -> bool:
    """Check whether two amounts are equal up to the rounding of their sum."""
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
