# SPDX-License-Identifier: Apache-2.0
"""Reasons why a reading of the cloud may be incomplete.

A refusal needs a complete reading. The check takes more requests, so it runs
only when a group is about to be refused. Their number does not depend on the
number of hosts.
"""

import itertools

from nova_groupext.scheduler.placement import implied_candidates
from nova_groupext.scheduler.placement import queries

CELL = 'a part of the cloud did not answer or has no running host'
SHARING = 'hosts that use a sharing resource provider are not supported yet'
OWN_CAPACITY = (
    'the remaining capacity of hosts that the group fills is unknown'
)
# Of allocation candidates that Placement has not returned: one of these.
LIMITED = (
    'Placement does not return all hosts with capacity, because its operator '
    'has set [placement]max_allocation_candidates'
)
FREED_LATER = 'capacity became free after it was read'
NUMBERED = 'a flavor requests numbered resource groups'


class ReadingGaps:
    """Reasons why one reading may have missed something.

    :param placement_client: PlacementClient
    :param hosts: uuids of all compute nodes' providers
    :param own_capacity: own_capacity.OwnCapacity of the group
    :param check_deadline: called before each request; raises OutOfTime
    """

    def __init__(
        self, context, placement_client, hosts, own_capacity, check_deadline
    ):
        self._context = context
        self._placement_client = placement_client
        self._hosts = set(hosts)
        self._own_capacity = own_capacity
        self._check_deadline = check_deadline
        self._reasons = {}
        # (ResourceRequest, set of the candidates that are known)
        self._answers = []

    def add(self, reason):
        """Add a reason, unless it is among them."""
        self._reasons[reason] = True

    def record_candidates(self, resources, candidates):
        """Record the allocation candidates that are known for one member.

        :param resources: Nova's ResourceRequest
        :param candidates: set of implied_candidates.key()
        """
        self._answers.append((resources, candidates))

    def find(self):
        """Return the reasons, each a phrase; none if the reading is complete.

        :raises: PlacementUnavailable, OutOfTime
        """
        providers = implied_candidates.ProviderQueries(
            self._context, self._placement_client, self._check_deadline
        )
        for resources, known in self._answers:
            query = queries.parse_candidate_query(resources)
            if query is None:
                self.add(NUMBERED)
                continue
            implied = implied_candidates.ImpliedCandidates(providers, query)
            missed = self._find_missed(implied, known)
            if missed:
                self.add(self._explain_missed(resources, missed))
            if self._may_free_more(query, implied, known):
                self.add(OWN_CAPACITY)
        return list(self._reasons)

    def _find_missed(self, implied, known):
        """Return candidates that are unknown, at most one for each host."""
        return {
            candidate
            for host in self._hosts
            for candidate in _first_unknown(implied.of_host(host), known)
        }

    def _may_free_more(self, query, implied, known):
        """Check whether the group's holds may free unknown candidates."""
        return any(
            _first_unknown(implied.of_host(host, freed), known)
            for host, freed in self._own_capacity.freed(query.amounts).items()
        )

    def _explain_missed(self, resources, missed):
        """Return why Placement did not return candidates that exist now."""
        self._check_deadline()
        requests, _summaries = self._placement_client.candidates(
            self._context, resources
        )
        returned = map(implied_candidates.key, requests)
        return FREED_LATER if missed <= {*returned} else LIMITED


def _first_unknown(candidates, known):
    """Return a list of the first unknown candidate, or an empty list."""
    unknown = (each for each in candidates if each not in known)
    return list(itertools.islice(unknown, 1))
