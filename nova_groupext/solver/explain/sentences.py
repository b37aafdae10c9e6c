# SPDX-License-Identifier: Apache-2.0
"""Explanation texts for the owner of a group.

They name members and policies as the owner described them: no host, domain,
amount or class.
"""

from nova_groupext.solver.explain import reasons
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.policies import violations

# Limit on listed names.
_MOST = 5

# Nouns for policies whose type is not a noun.
_NOUNS = {
    'exclusive': 'exclusivity',
    'network-proximity': 'network proximity',
    'survive': 'survival',
}


def item(problem, each):
    """Return an assumption as an item of the answer's conflict."""
    if isinstance(each, assumptions.PolicyAssumption):
        return {
            'kind': 'policy',
            'at': each.at,
            'policy': {'type': each.type, 'scope': each.scope},
            'code': violations.code(each),
            'text': phrase(problem, each),
        }
    stem = _stem(problem, each)
    return {
        'kind': 'members',
        'at': stem.node,
        'members': stem.name,
        'code': 'vrt.members',
        'text': phrase(problem, each),
    }


def phrase(problem, each):
    """Return a noun phrase for an assumption."""
    if isinstance(each, assumptions.PolicyAssumption):
        noun = _NOUNS.get(each.type, each.type)
        return f'{each.scope} {noun} {_place(problem, each)}'
    stem = _stem(problem, each)
    return f'{_number(stem)}{name(stem)}'


def name(stem):
    """Return a member set's name and its node."""
    return f'{stem.name} in {stem.node}' if stem.node else stem.name


def is_counted(stem):
    """Check whether a member set was described with a count."""
    return stem.members[0].path != stem.path


def part(stem, number):
    """Return a phrase for some members of a set, for all if number is 0."""
    if number:
        return f'{number} of {stem.count} {name(stem)}'
    return f'any {name(stem)}' if is_counted(stem) else name(stem)


def in_a_row(texts):
    """Join texts with commas, and with "and" before the last."""
    if len(texts) > _MOST:
        more = len(texts) - _MOST + 1
        texts = [*texts[: _MOST - 1], f'{more} more']
    if len(texts) < 2:
        return ''.join(texts)
    return f'{", ".join(texts[:-1])} and {texts[-1]}'


def reason(problem, core, code):
    """Return one sentence on why a conflict has no plan."""
    told = [phrase(problem, each) for each in core]
    kinds = [isinstance(each, assumptions.PolicyAssumption) for each in core]
    policies = [
        text for text, is_rule in zip(told, kinds, strict=True) if is_rule
    ]
    members = [
        text for text, is_rule in zip(told, kinds, strict=True) if not is_rule
    ]
    subject = in_a_row(members) or 'the group'
    condition = f' with the {in_a_row(policies)}' if policies else ''
    if code == reasons.PINNED and not members:
        return (
            f'The {in_a_row(policies)} cannot be kept: servers that the group '
            'has already break it.'
        )
    return _SENTENCES[code].format(subject=subject, condition=condition)


_SENTENCES = {
    reasons.CAPACITY: (
        'There is not enough free room for {subject}{condition}.'
    ),
    reasons.OCCUPIED: (
        'What others have in this cloud leaves no place for '
        '{subject}{condition}.'
    ),
    reasons.HOSTS: ('Too few hosts can take {subject}{condition}.'),
    reasons.PINNED: (
        'The servers that the group has already leave no place for '
        '{subject}{condition}.'
    ),
    reasons.POLICIES: (
        'However much room were free, there would be no place for '
        '{subject}{condition}.'
    ),
    reasons.UNKNOWN: 'There is no place for {subject}{condition}.',
}


def _stem(problem, each):
    return next(s for s in problem.topology.stems if s.path == each.path)


def _number(stem):
    if not is_counted(stem):
        return ''
    if stem.min_count < stem.count:
        return f'at least {stem.min_count} of {stem.count} '
    return f'{stem.count} '


def _place(problem, rule):
    """Return a phrase for the node or relationship of a policy."""
    for relationship in problem.topology.relationships:
        if relationship.path == rule.at and _is_on(
            problem, rule, relationship
        ):
            return f'between {in_a_row(relationship.between)}'
    return f'of {rule.at}' if rule.at else 'of the group'


def _is_on(problem, rule, relationship):
    """Check whether a policy is on a relationship, not on its namesake."""
    policies = assumptions.policies(problem, {rule})
    return all(p.where.startswith(f'{relationship.where}.') for p in policies)
