# SPDX-License-Identifier: Apache-2.0
"""Explanation texts for the owner of a group.

They name members and policies as the owner described them: no host, domain,
amount or class.
"""

from collections.abc import Iterable
from collections.abc import Sequence

from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.explain import reasons
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import topology
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems

# Limit on listed names.
_MAX_NAMES = 5


def member_set(
    problem: problems.Problem, assumption: assumptions.MemberAssumption
) -> topology.MemberSet:
    """Return the member set of an assumption."""
    return next(
        each
        for each in problem.topology.member_sets
        if each.path == assumption.path
    )


def phrase(
    problem: problems.Problem, assumption: assumptions.Assumption
) -> str:
    """Return a noun phrase for an assumption."""
    if isinstance(assumption, assumptions.PolicyAssumption):
        noun = _noun(problem, assumption.type)
        return f'{assumption.scope} {noun} {_target(problem, assumption)}'
    required = member_set(problem, assumption)
    return f'{_number(required)}{name(required)}'


def members_in(problem: problems.Problem, at: Path) -> str:
    """Return a phrase for the required members of a subtree."""
    inside = [
        each
        for each in problem.topology.member_sets
        if each.min_count and paths.is_in_subtree(each.node, at)
    ]
    count = sum(each.count for each in inside)
    least = sum(each.min_count for each in inside)
    number = count if least == count else f'at least {least} of {count}'
    return f'{number} members {_of_node(at)}'


def policies_in(
    problem: problems.Problem, at: Path, kind: str, scope: Level
) -> str:
    """Return a phrase for the policies of one type in a subtree."""
    where = f'in {at}' if at else 'in the group'
    return f'{scope} {_noun(problem, kind)} of all parts {where}'


def _noun(problem: problems.Problem, kind: str) -> str:
    return next(p.noun for p in problem.topology.policies if p.type == kind)


def _of_node(at: Path) -> str:
    return f'of {at}' if at else 'of the group'


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


def reason(conflict: Iterable[answer_parts.ConflictItem], code: str) -> str:
    """Return one sentence on why a conflict has no plan."""
    policies: list[str] = []
    members: list[str] = []
    for each in conflict:
        phrases = policies if each['kind'] == 'policy' else members
        phrases.append(each['text'])
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
    return _of_node(assumption.at)


def _is_on(
    problem: problems.Problem,
    assumption: assumptions.PolicyAssumption,
    relationship: topology.Relationship,
) -> bool:
    """Check whether a policy is on a relationship, not on its namesake."""
    policies = assumptions.assumed_policies(problem, {assumption})
    return all(p.where.startswith(f'{relationship.where}.') for p in policies)
