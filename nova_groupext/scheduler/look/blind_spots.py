# SPDX-License-Identifier: Apache-2.0
"""What a look may have missed. What was not seen proves nothing.

Asked for when a group is to be refused, as that takes more requests.
"""

import collections
from urllib import parse

# What a query for candidates and one for providers have in common, besides
# what is asked for.
SHARED = ('required', 'member_of', 'in_tree')

CELL = 'a part of the cloud did not answer, or no host of it is up'
SHARING = 'hosts that use a sharing resource provider cannot hold members yet'
OWN = 'of hosts that it fills itself it is not known what else they could take'
CUT = (
    'Placement does not tell of all hosts with room: its operator has set '
    '[placement]max_allocation_candidates'
)


def providers_query(resources):
    """Return the query for providers that a query for candidates implies.

    :param resources: Nova's ResourceRequest
    :returns: [(name, value)], without the amounts; None where it asks for
        more than one provider can be asked for
    """
    query = parse.parse_qs(resources.to_querystring())
    if not query.keys() <= {'resources', 'root_required', 'limit', *SHARED}:
        return None
    wanted = {name: query.get(name, []) for name in SHARED}
    wanted['required'] += query.get('root_required', [])
    return [(name, each) for name, values in wanted.items() for each in values]


class BlindSpots:
    """Notes what may have been missed.

    :param ledger: ledger.Ledger
    :param hosts: uuids of all compute nodes' providers
    :param go_on: called before each question; raises when there is no time
    """

    def __init__(self, context, ledger, hosts, go_on):
        self._context = context
        self._ledger = ledger
        self._hosts = set(hosts)
        self._go_on = go_on
        self._noted = {}
        # (ResourceRequest, uuids of the hosts that Placement told of)
        self._asked = []

    def note(self, reason):
        """Note one that is known already."""
        self._noted[reason] = True

    def note_answer(self, resources, candidates):
        """Note what Placement has told.

        :param resources: Nova's ResourceRequest
        :param candidates: uuids of hosts
        """
        self._asked.append((resources, set(candidates)))

    def find(self):
        """Return the reasons, each a phrase; none if all was seen.

        :raises: PlacementUnavailable, OutOfTime
        """
        if any(self._is_cut(*asked) for asked in self._asked):
            self.note(CUT)
        return list(self._noted)

    def _is_cut(self, resources, told):
        """Tell whether Placement has left out a host that has room."""
        self._go_on()
        query = providers_query(resources)
        if query is not None:
            amounts = ','.join(
                f'{name}:{amount}'
                for name, amount in resources.merged_resources().items()
            )
            found = self._ledger.providers(
                self._context, [*query, ('resources', amounts)]
            )
            if (self._hosts & set(found)) - told:
                return True
        return any(
            self._has_room(resources, host)
            for host in (self._nested() & self._hosts) - told
        )

    def _nested(self):
        """Return the uuids of those providers that have children."""
        roots = collections.Counter(self._ledger.roots(self._context).values())
        return {root for root, count in roots.items() if count > 1}

    def _has_room(self, resources, host):
        self._go_on()
        found, _summaries = self._ledger.candidates(
            self._context, resources, within=host
        )
        return bool(found)
