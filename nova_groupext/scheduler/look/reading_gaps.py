# SPDX-License-Identifier: Apache-2.0
"""Reasons why a reading of the cloud may be incomplete.

A refusal needs a complete reading. The check takes more requests, so it runs
only when a group is about to be refused. Their number does not depend on the
number of hosts.
"""

import itertools

from nova_groupext.scheduler.placement import implied_candidates
from nova_groupext.scheduler.placement import queries

# Each says what helps.
CELL = (
    'a part of the cloud did not answer or has no running host (retry later)'
)
SHARING = (
    'hosts that use a sharing resource provider are not supported yet (retry '
    'when other hosts have more free capacity, or use another flavor or image)'
)
# Of allocation candidates that Placement has not returned: one of these.
LIMITED = (
    'Placement does not return all hosts with capacity (ask the operator to '
    'raise [placement]max_allocation_candidates)'
)
FREED_LATER = 'capacity became free after it was read'
NUMBERED = (
    'a flavor requests numbered resource groups (retry when more capacity is '
    'free, or use another flavor)'
)


class ReadingGaps:
    """Reasons why one reading may have missed something.

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
            freed = self._own_capacity.freed(query.amounts)
            missed = self._find_missed(implied, known, freed)
            if missed:
                self.add(self._explain_missed(resources, missed, freed))
        return list(self._reasons)

    def _find_missed(self, implied, known, freed):
        """Return {host: one of its candidates that is unknown}.

        :param freed: OwnCapacity.freed()
        """
        return {
            host: candidate
            for host in self._hosts
            for candidate in _first_unknown(
                implied.of_host(host, freed.get(host, ())), known
            )
        }

    def _explain_missed(self, resources, missed, freed):
        """Return why candidates that exist now are unknown.

        All those of the group's own hosts were known before.
        """
        self._check_deadline()
        requests, _summaries = self._placement_client.candidates(
            self._context, resources
        )
        returned = set(map(implied_candidates.key, requests))
        is_limited = any(
            candidate not in returned
            for host, candidate in missed.items()
            if host not in freed
        )
        return LIMITED if is_limited else FREED_LATER


def _first_unknown(candidates, known):
    """Return a list of the first unknown candidate, or an empty list."""
    unknown = (each for each in candidates if each not in known)
    return list(itertools.islice(unknown, 1))
