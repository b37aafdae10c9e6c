# SPDX-License-Identifier: Apache-2.0
"""Verification of a refusal: the conflict, its minimality, the relaxations.

Each check solves a problem of its own, derived from the text of the answer.
"""

import dataclasses

from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import validation
from nova_groupext.solver.policies import violations
from nova_groupext.solver.search import feasible
from nova_groupext.solver.verify.finding import Finding

# Share of the remaining time for one check.
_SHARE = 1 / 2


def findings(problem, raw, budget):
    """Yield errors in the answer ``refused``.

    :param budget: time_budget.TimeBudget
    """
    strange = [
        *_strange_conflict(problem, raw),
        *_strange_changes(problem, raw),
    ]
    yield from strange
    if strange:
        return
    conflict = raw['conflict']
    without_plan = _only(problem, conflict)
    yield from _ask(without_plan, budget, '$.conflict', 'leaves a plan')
    if raw['minimal']:
        for number in range(len(conflict)):
            others = conflict[:number] + conflict[number + 1 :]
            yield from _ask_for_plan(
                _only(problem, others),
                budget,
                f'$.conflict[{number}]',
                'is not needed, so the conflict is not minimal',
            )
    for number, entry in enumerate(raw['relaxations']):
        where = f'$.relaxations[{number}]'
        changed = _change(problem, entry['change'])
        yield from _ask_for_plan(changed, budget, where, 'does not help')


def _ask(problem, budget, where, complaint, is_plan_right=False):
    """Yield a Finding if there is a plan, or none, against expectation."""
    verdict = _find(problem, budget)
    if verdict.plan is not None:
        faults = violations.find(problem, verdict.plan)
        if faults:
            raise RuntimeError(f'unlawful: {faults}')
    elif not verdict.is_impossible:
        yield Finding(where, 'was not verified in time', is_fault=False)
        return
    if (verdict.plan is not None) is not is_plan_right:
        yield Finding(where, complaint)


def _find(problem, budget):
    """Search for a plan, in the time for one check."""
    if fixed.broken(problem):
        # The solver assumes that pinned members keep the policies.
        return feasibility.Verdict(is_impossible=True)
    return feasible.find(problem, budget.slice(budget.left() * _SHARE))


def _ask_for_plan(problem, budget, where, complaint):
    return _ask(problem, budget, where, complaint, is_plan_right=True)


def _only(problem, conflict):
    """Return the problem with only the assumptions of a conflict."""
    kept = {_rule_of(item) for item in conflict}
    needed = {_path_of(item) for item in conflict}
    stems = [
        stem if stem.path in needed else dataclasses.replace(stem, min_count=0)
        for stem in problem.topology.stems
    ]
    policies = [p for p in _strict(problem) if _rule(p) in kept]
    return _with(problem, policies, stems)


def _change(problem, change):
    """Return the problem after a relaxation."""
    parts = _parts(change)
    softer = {_rule_of(part) for part in parts}
    least = {path: n for part in parts for path, n in _least(part).items()}
    return _with(
        problem,
        [policy for policy in _strict(problem) if _rule(policy) not in softer],
        [
            dataclasses.replace(
                stem,
                min_count=min(
                    stem.min_count, least.get(stem.path, stem.count)
                ),
            )
            for stem in problem.topology.stems
        ],
    )


def _with(problem, policies, stems):
    """Return the problem with other member sets and strict policies."""
    useful = {path for p in policies for side in p.sides for path in side}
    useful.update(problem.pinned)
    # Drop member sets that are neither required nor pinned nor in a policy.
    stems = [
        stem
        for stem in stems
        if stem.min_count or any(m.path in useful for m in stem.members)
    ]
    return dataclasses.replace(
        problem,
        topology=dataclasses.replace(
            problem.topology,
            policies=tuple(policies),
            stems=tuple(stems),
            members=tuple(m for stem in stems for m in stem.members),
        ),
    )


def _strange_conflict(problem, raw):
    """Yield items of the conflict that do not fit the problem."""
    if not raw['conflict']:
        yield Finding('$.conflict', 'must name something')
    for number, item in enumerate(raw['conflict']):
        where = f'$.conflict[{number}]'
        yield from _strange(problem, item, where)
        kind = item['policy']['type'] if 'policy' in item else 'members'
        if item['code'] != f'vrt.{kind}':
            yield Finding(f'{where}.code', f'must be vrt.{kind}')


def _strange_changes(problem, raw):
    """Yield relaxations that do not fit the problem."""
    for number, entry in enumerate(raw['relaxations']):
        for part in _parts(entry['change']):
            where = f'$.relaxations[{number}].change'
            yield from _strange(problem, part, where)


def _strange(problem, item, where):
    known = {_rule(policy) for policy in _strict(problem)}
    if 'policy' in item and _rule_of(item) not in known:
        yield Finding(where, 'names no strict policy of this problem')
    stems = {stem.path for stem in problem.topology.stems}
    paths = {_path_of(item)} if 'members' in item else _least(item)
    for path in sorted(paths):
        if path not in stems:
            name = validation.quote(path)
            yield Finding(where, f'{name} are no members of this problem')


def _strict(problem):
    return [policy for policy in problem.topology.policies if policy.strict]


def _rule(policy):
    """Return the attributes by which an answer identifies a policy."""
    return policy.at, policy.type, policy.scope


def _rule_of(item):
    """Return the same for an item of a conflict or part of a relaxation."""
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


def _least(part):
    """Map paths of member sets to their minimum after a relaxation."""
    if 'members' in part:
        return {_path_of(part): part['min_count']}
    return part.get('min_counts', {})
