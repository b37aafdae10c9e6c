# SPDX-License-Identifier: Apache-2.0
"""Explanation texts for the owner of a group.

They name members and policies as the owner described them: no host, domain,
amount or class.
"""

from collections.abc import Iterable
from collections.abc import Sequence

from nova_groupext.solver.explain import reasons
from nova_groupext.solver.language import topology
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations

# Limit on listed names.
_MAX_NAMES = 5


def item(
    problem: problems.Problem, assumption: assumptions.Assumption
) -> answer_parts.ConflictItem:
    """Return an assumption as an item of the answer's conflict."""
    if isinstance(assumption, assumptions.PolicyAssumption):
        return {
            'kind': 'policy',
            'at': assumption.at,
            'policy': {'type': assumption.type, 'scope': assumption.scope},
            'code': violations.code(assumption.type),
            'text': phrase(problem, assumption),
        }
    member_set = _member_set(problem, assumption)
    return {
        'kind': 'members',
        'at': member_set.node,
        'members': member_set.name,
        'code': 'vrt.members',
        'text': phrase(problem, assumption),
    }


def phrase(
    problem: problems.Problem, assumption: assumptions.Assumption
) -> str:
    """Return a noun phrase for an assumption."""
    if isinstance(assumption, assumptions.PolicyAssumption):
        noun = next(
            policy.noun
            for policy in problem.topology.policies
            if policy.type == assumption.type
        )
        return f'{assumption.scope} {noun} {_target(problem, assumption)}'
    member_set = _member_set(problem, assumption)
    return f'{_number(member_set)}{name(member_set)}'


def name(member_set: topology.MemberSet) -> str:
    """Return a member set's name and its node."""
    return (
        f'{member_set.name} in {member_set.node}'
        if member_set.node
        else member_set.name
    )


def is_counted(member_set: topology.MemberSet) -> bool:
    """Check whether a member set was described with a count."""
    return member_set.members[0].path != member_set.path


def part(member_set: topology.MemberSet, number: int) -> str:
    """Return a phrase for some members of a set, for all if number is 0."""
    if number:
        return f'{number} of {member_set.count} {name(member_set)}'
    return (
        f'any {name(member_set)}'
        if is_counted(member_set)
        else name(member_set)
    )


def join_list(texts: Sequence[str]) -> str:
    """Join texts with commas, and with "and" before the last."""
    if len(texts) > _MAX_NAMES:
        more = len(texts) - _MAX_NAMES + 1
        texts = [*texts[: _MAX_NAMES - 1], f'{more} more']
    if len(texts) < 2:
        return ''.join(texts)
    return f'{", ".join(texts[:-1])} and {texts[-1]}'


def reason(
    problem: problems.Problem,
    assumed: Iterable[assumptions.Assumption],
    code: str,
) -> str:
    """Return one sentence on why a conflict has no plan."""
    policies: list[str] = []
    members: list[str] = []
    for each in assumed:
        is_policy = isinstance(each, assumptions.PolicyAssumption)
        phrases = policies if is_policy else members
        phrases.append(phrase(problem, each))
    subject = join_list(members) or 'the group'
    condition = f' with the {join_list(policies)}' if policies else ''
    if code == reasons.PINNED and not members:
        return (
            'The existing servers of the group violate the '
            f'{join_list(policies)}.'
        )
    return _SENTENCES[code].format(subject=subject, condition=condition)


_SENTENCES = {
    reasons.CAPACITY: (
        'There is not enough free capacity for {subject}{condition}.'
    ),
    reasons.FOREIGN: (
        'Servers outside of the group leave no hosts for {subject}{condition}.'
    ),
    reasons.HOSTS: ('Too few hosts can take {subject}{condition}.'),
    reasons.PINNED: (
        'The existing servers of the group leave no hosts for '
        '{subject}{condition}.'
    ),
    reasons.POLICIES: (
        'Even with unlimited capacity there is no plan for '
        '{subject}{condition}.'
    ),
    reasons.UNKNOWN: 'There is no plan for {subject}{condition}.',
}


def _member_set(
    problem: problems.Problem, assumption: assumptions.MemberAssumption
) -> topology.MemberSet:
    return next(
        member_set
        for member_set in problem.topology.member_sets
        if member_set.path == assumption.path
    )


def _number(member_set: topology.MemberSet) -> str:
    if not is_counted(member_set):
        return ''
    if member_set.min_count < member_set.count:
        return f'at least {member_set.min_count} of {member_set.count} '
    return f'{member_set.count} '


def _target(
    problem: problems.Problem, assumption: assumptions.PolicyAssumption
) -> str:
    """Return a phrase for the node or relationship of a policy."""
    for relationship in problem.topology.relationships:
        if relationship.path == assumption.at and _is_on(
            problem, assumption, relationship
        ):
            return f'between {join_list(relationship.between)}'
    return f'of {assumption.at}' if assumption.at else 'of the group'


def _is_on(
    problem: problems.Problem,
    assumption: assumptions.PolicyAssumption,
    relationship: topology.Relationship,
) -> bool:
    """Check whether a policy is on a relationship, not on its namesake."""
    policies = assumptions.assumed_policies(problem, {assumption})
    return all(p.where.startswith(f'{relationship.where}.') for p in policies)
