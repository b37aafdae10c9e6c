# SPDX-License-Identifier: Apache-2.0
"""Conversion of allocation candidate queries into provider queries."""

from urllib import parse

# Parameters besides the resources that both kinds of queries have.
SHARED = ('required', 'member_of', 'in_tree')


def providers_query(resources):
    """Return the provider query that a candidate query implies.

    :param resources: Nova's ResourceRequest
    :returns: [(name, value)], without the amounts; None if the query has
        parameters that a provider query cannot express
    """
    query = parse.parse_qs(resources.to_querystring())
    if not query.keys() <= {'resources', 'root_required', 'limit', *SHARED}:
        return None
    parameters = {name: query.get(name, []) for name in SHARED}
    traits = [*parameters['required'], *query.get('root_required', [])]
    # Placement would use only the last of several lists of traits.
    parameters['required'] = [','.join(traits)] if traits else []
    return [
        (name, each) for name, values in parameters.items() for each in values
    ]
