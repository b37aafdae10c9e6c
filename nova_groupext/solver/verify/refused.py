# SPDX-License-Identifier: Apache-2.0
"""Verification of a refusal: the conflict, its minimality, the relaxations.

Each check solves a problem of its own, derived from the text of the answer.
"""

import dataclasses

from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import validation
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import feasible
from nova_groupext.solver.verify.finding import Finding

# Share of the remaining time for one check.
_SHARE = 1 / 2


def findings(problem, raw, budget):
    """Yield errors in the answer ``refused``.

    :param budget: time_budget.TimeBudget
    """
    mismatches = [
        *_conflict_mismatches(problem, raw),
        *_relaxation_mismatches(problem, raw),
    ]
    yield from mismatches
    if mismatches:
        return
    conflict = raw['conflict']
    yield from _check_infeasible(
        _restrict_to(problem, conflict),
        budget,
        '$.conflict',
        'does not prevent a plan',
    )
    if raw['minimal']:
        for number in range(len(conflict)):
            others = conflict[:number] + conflict[number + 1 :]
            yield from _check_feasible(
                _restrict_to(problem, others),
                budget,
                f'$.conflict[{number}]',
                'is not needed, so the conflict is not minimal',
            )
    for number, entry in enumerate(raw['relaxations']):
        where = f'$.relaxations[{number}]'
        relaxed = _relax(problem, entry['change'])
        yield from _check_feasible(
            relaxed, budget, where, 'does not make a plan possible'
        )


def _check_infeasible(problem, budget, where, text):
    """Yield a Finding with a text if a problem has a plan."""
    return _check(problem, budget, Finding(where, text), is_feasible=False)


def _check_feasible(problem, budget, where, text):
    """Yield a Finding with a text if a problem has no plan."""
    return _check(problem, budget, Finding(where, text), is_feasible=True)


def _check(problem, budget, finding, is_feasible):
    """Yield a Finding unless a problem is as feasible as expected."""
    verdict = _find(problem, budget)
    if verdict.plan is not None:
        violated = violations.find(problem, verdict.plan)
        if violated:
            raise RuntimeError(f'the plan has violations: {violated}')
    elif not verdict.is_infeasible:
        yield Finding(
            finding.where, 'was not verified in time', is_error=False
        )
        return
    if (verdict.plan is not None) is not is_feasible:
        yield finding


def _find(problem, budget):
    """Search for a plan, in the time for one check."""
    if fixed.find_violated(problem):
        # The solver assumes that pinned members keep the policies.
        return feasibility.Verdict(is_infeasible=True)
    return feasible.find(problem, budget.slice(budget.remaining() * _SHARE))


def _restrict_to(problem, conflict):
    """Return the problem with only the assumptions of a conflict."""
    kept = {_item_key(item) for item in conflict}
    required = {_path_of(item) for item in conflict}
    member_sets = [
        member_set
        if member_set.path in required
        else dataclasses.replace(member_set, min_count=0)
        for member_set in problem.topology.member_sets
    ]
    policies = [p for p in _strict(problem) if _policy_key(p) in kept]
    return _with(problem, policies, member_sets)


def _relax(problem, change):
    """Return the problem after a relaxation."""
    parts = _parts(change)
    softened = {_item_key(part) for part in parts}
    min_counts = {}
    for part in parts:
        min_counts.update(_min_counts(part))
    return _with(
        problem,
        [
            policy
            for policy in _strict(problem)
            if _policy_key(policy) not in softened
        ],
        [
            dataclasses.replace(
                member_set,
                min_count=min(
                    member_set.min_count,
                    min_counts.get(member_set.path, member_set.count),
                ),
            )
            for member_set in problem.topology.member_sets
        ],
    )


def _with(problem, policies, member_sets):
    """Return the problem with other member sets and strict policies."""
    relevant = {path for p in policies for side in p.sides for path in side}
    relevant.update(problem.pinned)
    # Drop member sets that are neither required nor pinned nor in a policy.
    member_sets = [
        member_set
        for member_set in member_sets
        if member_set.min_count
        or any(m.path in relevant for m in member_set.members)
    ]
    return dataclasses.replace(
        problem,
        topology=dataclasses.replace(
            problem.topology,
            policies=tuple(policies),
            member_sets=tuple(member_sets),
            members=tuple(
                m for member_set in member_sets for m in member_set.members
            ),
        ),
    )


def _conflict_mismatches(problem, raw):
    """Yield items of the conflict that do not fit the problem."""
    if not raw['conflict']:
        yield Finding('$.conflict', 'must not be empty')
    for number, item in enumerate(raw['conflict']):
        where = f'$.conflict[{number}]'
        yield from _mismatches(problem, item, where)
        kind = item['policy']['type'] if 'policy' in item else 'members'
        if item['code'] != f'vrt.{kind}':
            yield Finding(f'{where}.code', f'must be vrt.{kind}')


def _relaxation_mismatches(problem, raw):
    """Yield relaxations that do not fit the problem."""
    for number, entry in enumerate(raw['relaxations']):
        for part in _parts(entry['change']):
            where = f'$.relaxations[{number}].change'
            yield from _mismatches(problem, part, where)


def _mismatches(problem, item, where):
    strict = {_policy_key(policy) for policy in _strict(problem)}
    if 'policy' in item and _item_key(item) not in strict:
        yield Finding(where, 'names no strict policy of this problem')
    member_sets = {
        member_set.path for member_set in problem.topology.member_sets
    }
    named = {_path_of(item)} if 'members' in item else _min_counts(item)
    for path in sorted(named):
        if path not in member_sets:
            name = validation.quote(path)
            yield Finding(where, f'{name} are not members of this problem')


def _strict(problem):
    return [policy for policy in problem.topology.policies if policy.strict]


def _policy_key(policy):
    """Return the attributes by which an answer identifies a policy."""
    return policy.at, policy.type, policy.scope


def _item_key(item):
    """Return this key for an item of a conflict or part of a relaxation."""
    policy = item.get('policy')
    if isinstance(policy, dict):
        return item['at'], policy['type'], policy['scope']
    return item.get('at'), policy, item.get('scope')


def _path_of(item):
    """Return the path of the member set that an item names, or None."""
    if 'members' in item:
        return paths.join(item['at'], item['members'])
    return None


def _parts(change):
    return change.get('together', [change])


def _min_counts(part):
    """Map paths of member sets to their minimum after a relaxation."""
    if 'members' in part:
        return {_path_of(part): part['min_count']}
    return part.get('min_counts', {})
