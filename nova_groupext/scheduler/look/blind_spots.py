# SPDX-License-Identifier: Apache-2.0
"""Reasons why a reading of the cloud may be incomplete.

A refusal needs a complete reading. The check takes more requests, so it runs
only when a group is about to be refused.
"""

import collections

from nova_groupext.scheduler.placement import queries

CELL = 'a part of the cloud did not answer, or no host of it is up'
SHARING = 'hosts that use a sharing resource provider cannot hold members yet'
OWN = 'of hosts that it fills itself it is not known what else they could take'
CUT = (
    'Placement does not tell of all hosts with room: its operator has set '
    '[placement]max_allocation_candidates'
)

GROWN = 'there is room by now that was not there when it was looked for'


class BlindSpots:
    """Record of what a reading may have missed.

    :param ledger: PlacementClient
    :param hosts: uuids of all compute nodes' providers
    :param go_on: called before each request; raises when there is no time
    """

    def __init__(self, context, ledger, hosts, go_on):
        self._context = context
        self._ledger = ledger
        self._hosts = set(hosts)
        self._go_on = go_on
        self._noted = {}
        # (ResourceRequest, uuids of the hosts that Placement returned)
        self._asked = []

    def note(self, reason):
        """Add a known reason."""
        self._noted[reason] = True

    def note_answer(self, resources, candidates):
        """Record an answer of Placement.

        :param resources: Nova's ResourceRequest
        :param candidates: uuids of hosts
        """
        self._asked.append((resources, set(candidates)))

    def find(self):
        """Return the reasons, each a phrase; none if the reading is complete.

        :raises: PlacementUnavailable, OutOfTime
        """
        for resources, told in self._asked:
            missed = self._missed(resources, told)
            if missed:
                self.note(self._why_missed(resources, missed))
        return list(self._noted)

    def _why_missed(self, resources, missed):
        """Return why Placement did not return hosts that have capacity now."""
        self._go_on()
        candidates, summaries = self._ledger.candidates(
            self._context, resources
        )
        told = {
            summaries[provider]['root_provider_uuid']
            for candidate in candidates
            for provider in candidate['allocations']
        }
        return GROWN if missed <= told else CUT

    def _missed(self, resources, told):
        """Return hosts with capacity that Placement did not return.

        Of hosts with child providers one is enough.
        """
        self._go_on()
        query = queries.providers_query(resources)
        if query is not None:
            amounts = ','.join(
                f'{name}:{amount}'
                for name, amount in resources.merged_resources().items()
            )
            found = self._ledger.providers(
                self._context, [*query, ('resources', amounts)]
            )
            missed = (self._hosts & set(found)) - told
            if missed:
                return missed
        nested = (self._nested() & self._hosts) - told
        for host in nested:
            if self._has_room(resources, host):
                return {host}
        return set()

    def _nested(self):
        """Return the uuids of root providers that have children."""
        roots = collections.Counter(self._ledger.roots(self._context).values())
        return {root for root, count in roots.items() if count > 1}

    def _has_room(self, resources, host):
        self._go_on()
        found, _summaries = self._ledger.candidates(
            self._context, resources, within=host
        )
        return bool(found)
