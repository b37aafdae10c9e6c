# SPDX-License-Identifier: Apache-2.0
"""Parts of allocation candidate queries, as filters of provider queries."""

import dataclasses
from urllib import parse

# Parameters of queries without numbered groups. A policy for groups restricts
# nothing then.
UNNUMBERED = frozenset(
    ['resources', 'required', 'member_of', 'root_required', 'group_policy']
)


@dataclasses.dataclass(frozen=True)
class CandidateQuery:
    """An allocation candidate query without numbered groups.

    Negated values start with "!".

    :ivar amounts: {resource class: amount}
    :ivar required: traits; each is required of one provider of a candidate
    :ivar forbidden: negated traits, forbidden for all providers of a candidate
    :ivar root_required: traits of the root provider, some of them negated
    :ivar member_of: values of the parameter, which must all be met
    :ivar not_member_of: the negated values of the parameter
    """

    amounts: dict
    required: list
    forbidden: list
    root_required: list
    member_of: list
    not_member_of: list


def parse_candidate_query(resources):
    """Return the CandidateQuery of a request, None with numbered groups.

    :param resources: Nova's ResourceRequest
    """
    query = parse.parse_qs(resources.to_querystring())
    if not query.keys() <= UNNUMBERED:
        return None
    traits = _items(query, 'required')
    aggregates = query.get('member_of', [])
    return CandidateQuery(
        amounts=resources.merged_resources(),
        required=[each for each in traits if not _is_negated(each)],
        forbidden=[each for each in traits if _is_negated(each)],
        root_required=_items(query, 'root_required'),
        member_of=[each for each in aggregates if not _is_negated(each)],
        not_member_of=[each for each in aggregates if _is_negated(each)],
    )


def traits_filter(traits):
    """Return [(name, value)] for providers that meet all traits."""
    # Placement would use only the last of several lists of traits.
    return [('required', ','.join(traits))] if traits else []


def aggregates_filter(values):
    """Return [(name, value)] for providers that meet all values."""
    return [('member_of', value) for value in values]


def _items(query, name):
    """Return the items of all lists of a parameter."""
    return [item for value in query.get(name, []) for item in value.split(',')]


def _is_negated(value):
    return value.startswith('!')
