# SPDX-License-Identifier: Apache-2.0
"""Reasons why a reading of the cloud may be incomplete.

A refusal needs a complete reading. The check takes more requests, so it runs
only when a group is about to be refused.
"""

import collections

from nova_groupext.scheduler.placement import queries

CELL = 'a part of the cloud did not answer or has no running host'
SHARING = 'hosts that use a sharing resource provider are not supported yet'
OWN_CAPACITY = (
    'the remaining capacity of hosts that the group fills is unknown'
)
# Of hosts with capacity that Placement has not returned: one of these.
LIMITED = (
    'Placement does not return all hosts with capacity, because its operator '
    'has set [placement]max_allocation_candidates'
)
FREED_LATER = 'capacity became free after it was read'


class ReadingGaps:
    """Reasons why one reading may have missed something.

    :param placement_client: PlacementClient
    :param hosts: uuids of all compute nodes' providers
    :param check_deadline: called before each request; raises OutOfTime
    """

    def __init__(self, context, placement_client, hosts, check_deadline):
        self._context = context
        self._placement_client = placement_client
        self._hosts = set(hosts)
        self._check_deadline = check_deadline
        self._reasons = {}
        # (ResourceRequest, uuids of the hosts that Placement returned)
        self._answers = []

    def add(self, reason):
        """Add a reason, unless it is among them."""
        self._reasons[reason] = True

    def record_answer(self, resources, candidates):
        """Record an answer of Placement.

        :param resources: Nova's ResourceRequest
        :param candidates: uuids of hosts
        """
        self._answers.append((resources, set(candidates)))

    def find(self):
        """Return the reasons, each a phrase; none if the reading is complete.

        :raises: PlacementUnavailable, OutOfTime
        """
        for resources, returned in self._answers:
            missed = self._find_missed(resources, returned)
            if missed:
                self.add(self._explain_missed(resources, missed))
        return list(self._reasons)

    def _explain_missed(self, resources, missed):
        """Return why Placement did not return hosts that have capacity now."""
        self._check_deadline()
        candidates, summaries = self._placement_client.candidates(
            self._context, resources
        )
        returned = {
            summaries[provider]['root_provider_uuid']
            for candidate in candidates
            for provider in candidate['allocations']
        }
        return FREED_LATER if missed <= returned else LIMITED

    def _find_missed(self, resources, returned):
        """Return hosts with capacity that Placement did not return.

        Of hosts with child providers one is enough.
        """
        self._check_deadline()
        query = queries.providers_query(resources)
        if query is not None:
            amounts = ','.join(
                f'{name}:{amount}'
                for name, amount in resources.merged_resources().items()
            )
            providers = self._placement_client.providers(
                self._context, [*query, ('resources', amounts)]
            )
            missed = (self._hosts & set(providers)) - returned
            if missed:
                return missed
        nested = (self._nested() & self._hosts) - returned
        for host in nested:
            if self._has_capacity(resources, host):
                return {host}
        return set()

    def _nested(self):
        """Return the uuids of root providers that have children."""
        roots = collections.Counter(
            self._placement_client.roots(self._context).values()
        )
        return {root for root, count in roots.items() if count > 1}

    def _has_capacity(self, resources, host):
        self._check_deadline()
        candidates, _summaries = self._placement_client.candidates(
            self._context, resources, within=host
        )
        return bool(candidates)
