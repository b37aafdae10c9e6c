# SPDX-License-Identifier: Apache-2.0
"""Verification of a refusal: the conflict, its minimality, the relaxations.

Each check solves a problem of its own, derived from the text of the answer.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import itertools

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import topology
from nova_groupext.solver.language import validation
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.time_budget import TimeBudget
from nova_groupext.solver.policies import base
from nova_groupext.solver.search import feasible
from nova_groupext.solver.verify.finding import Finding


def findings(
    problem: problems.Problem, answer: answers.Answer, budget: TimeBudget
) -> Iterator[Finding]:
    """Yield errors in the answer ``refused``."""
    mismatches = [
        *_conflict_mismatches(problem, answer),
        *_relaxation_mismatches(problem, answer),
    ]
    yield from mismatches
    if mismatches:
        return
    conflict = [_assumptions(problem, item) for item in answer.conflict]
    yield from _check_infeasible(
        _restrict_to(problem, itertools.chain(*conflict)),
        budget,
        '$.conflict',
        'does not prevent a plan',
    )
    if answer.minimal:
        for number in range(len(conflict)):
            others = conflict[:number] + conflict[number + 1 :]
            yield from _check_feasible(
                _restrict_to(problem, itertools.chain(*others)),
                budget,
                f'$.conflict[{number}]',
                'is not needed, so the conflict is not minimal',
            )
    for number, entry in enumerate(answer.relaxations):
        where = f'$.relaxations[{number}]'
        relaxed = _relax(problem, entry['change'])
        yield from _check_feasible(
            relaxed, budget, where, 'does not make a plan possible'
        )


def _check_infeasible(
    problem: problems.Problem, budget: TimeBudget, where: str, text: str
) -> Iterator[Finding]:
    """Yield a finding with a text if a problem has a plan."""
    return _check(problem, budget, Finding(where, text), is_feasible=False)


def _check_feasible(
    problem: problems.Problem, budget: TimeBudget, where: str, text: str
) -> Iterator[Finding]:
    """Yield a finding with a text if a problem has no plan."""
    return _check(problem, budget, Finding(where, text), is_feasible=True)


def _check(
    problem: problems.Problem,
    budget: TimeBudget,
    finding: Finding,
    is_feasible: bool,
) -> Iterator[Finding]:
    """Yield a finding unless a problem is as feasible as expected."""
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


def _find(
    problem: problems.Problem, budget: TimeBudget
) -> feasibility.Verdict:
    """Search for a plan, in the time for one check."""
    if fixed.find_violated(problem):
        # The solver assumes that pinned members keep the policies.
        return feasibility.Verdict(is_infeasible=True)
    return feasible.find(
        problem, budget.slice(budget.remaining() * tuning.CHECK_SHARE)
    )


def _restrict_to(
    problem: problems.Problem, assumed: Iterable[assumptions.Assumption]
) -> problems.Problem:
    """Return the problem with only the assumptions of a conflict."""
    conflict = frozenset(assumed)
    member_sets = [
        member_set
        if assumptions.MemberAssumption(member_set.path) in conflict
        else dataclasses.replace(member_set, min_count=0)
        for member_set in problem.topology.member_sets
    ]
    policies = assumptions.assumed_policies(problem, conflict)
    return _with(problem, policies, member_sets)


def _relax(
    problem: problems.Problem, change: answer_parts.Change
) -> problems.Problem:
    """Return the problem after a relaxation."""
    softened: set[assumptions.PolicyAssumption] = set()
    min_counts: dict[Path, int] = {}
    for part in _parts(change):
        softened.update(_softened(part))
        min_counts.update(_min_counts(part))
    return _with(
        problem,
        [
            policy
            for policy in _strict(problem)
            if assumptions.of_policy(policy) not in softened
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


def _with(
    problem: problems.Problem,
    policies: Iterable[base.Policy],
    member_sets: Iterable[topology.MemberSet],
) -> problems.Problem:
    """Return the problem with other member sets and strict policies."""
    relevant = set(problem.pinned).union(*(p.members for p in policies))
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


def _conflict_mismatches(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[Finding]:
    """Yield items of the conflict that do not fit the problem."""
    if not answer.conflict:
        yield Finding('$.conflict', 'must not be empty')
    for number, item in enumerate(answer.conflict):
        where = f'$.conflict[{number}]'
        yield from _mismatches(problem, _assumptions(problem, item), where)
        code = violations.code(
            item['policy']['type'] if item['kind'] == 'policy' else 'members'
        )
        if item['code'] != code:
            yield Finding(f'{where}.code', f'must be {code}')


def _relaxation_mismatches(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[Finding]:
    """Yield relaxations that do not fit the problem."""
    for number, entry in enumerate(answer.relaxations):
        for part in _parts(entry['change']):
            members = map(assumptions.MemberAssumption, _min_counts(part))
            yield from _mismatches(
                problem,
                [*_softened(part), *sorted(members)],
                f'$.relaxations[{number}].change',
            )


def _mismatches(
    problem: problems.Problem,
    named: Iterable[assumptions.Assumption],
    where: str,
) -> Iterator[Finding]:
    """Yield named policies and members that are not in the problem."""
    strict = {assumptions.of_policy(policy) for policy in _strict(problem)}
    member_sets = {
        member_set.path for member_set in problem.topology.member_sets
    }
    for each in named:
        if isinstance(each, assumptions.PolicyAssumption):
            if each not in strict:
                yield Finding(where, 'names no strict policy of this problem')
        elif each.path not in member_sets:
            name = validation.quote(each.path)
            yield Finding(where, f'{name} are not members of this problem')


def _strict(problem: problems.Problem) -> list[base.Policy]:
    return [policy for policy in problem.topology.policies if policy.strict]


def _assumptions(
    problem: problems.Problem, item: answer_parts.ConflictItem
) -> list[assumptions.Assumption]:
    """Return the assumptions that an item of a conflict names."""
    if item['kind'] == 'policy':
        policy = item['policy']
        named = assumptions.PolicyAssumption(
            item['at'], policy['type'], policy['scope']
        )
        if 'subtree' not in item:
            return [named]
        return [
            each
            for each in map(assumptions.of_policy, _strict(problem))
            if each[1:] == named[1:]
            and paths.is_in_subtree(each.at, item['at'])
        ]
    if 'subtree' not in item:
        path = paths.join(item['at'], item['members'])
        return [assumptions.MemberAssumption(path)]
    return [
        assumptions.MemberAssumption(member_set.path)
        for member_set in problem.topology.member_sets
        if paths.is_in_subtree(member_set.node, item['at'])
    ]


def _parts(change: answer_parts.Change) -> list[answer_parts.SingleChange]:
    if 'together' in change:
        return change['together']
    return [change]


def _softened(
    part: answer_parts.SingleChange,
) -> list[assumptions.PolicyAssumption]:
    """Return the policies that a part of a relaxation makes soft."""
    if 'policy' in part:
        return [
            assumptions.PolicyAssumption(
                part['at'], part['policy'], part['scope']
            )
        ]
    return []


def _min_counts(part: answer_parts.SingleChange) -> dict[Path, int]:
    """Return the minimums of member sets after a part of a relaxation."""
    if 'members' in part:
        return {paths.join(part['at'], part['members']): part['min_count']}
    if 'min_counts' in part:
        return part['min_counts']
    return {}
