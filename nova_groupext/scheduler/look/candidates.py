# SPDX-License-Identifier: Apache-2.0
"""The hosts that can take the members of a class, and their scores.

They are the hosts with capacity for one member, and those where the group's
own holds have that capacity, as far as they pass the operator's filters.
"""

import collections
import copy
import functools

from oslo_log import log as logging
from oslo_serialization import jsonutils

from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import reading_gaps
from nova_groupext.scheduler.placement import implied_candidates
from nova_groupext.scheduler.placement import queries

LOG = logging.getLogger(__name__)


class CandidateSearch:
    """Candidates of the classes of one group, in one reading.

    :param reading: kept_reading.Reading; Placement's summaries are added to it
    :param own_capacity: own_capacity.OwnCapacity of the group
    :param excluded: (class name, host id) pairs to exclude
    :param gaps: reading_gaps.ReadingGaps of this look
    """

    def __init__(self, context, group, reading, own_capacity, excluded, gaps):
        self._context = context
        self._group = group
        self._reading = reading
        self._own_capacity = own_capacity
        self._excluded = excluded
        self._gaps = gaps

    def find(self, member_class, resources, answer):
        """Store the candidates that Placement has answered.

        :param member_class: snapshot.MemberClass
        :param resources: Nova's ResourceRequest
        :param answer: (allocation requests, {provider: summary})
        :returns: kept_reading.FoundHosts for the looks of other groups; None
            for a request with numbered groups
        """
        requests, summaries = answer
        self._reading.summaries.update(summaries)
        known = {implied_candidates.key(each) for each in requests}
        own = self._own_candidates(resources, known)
        known.update(implied_candidates.key(each) for _roots, each in own)
        self._gaps.record_candidates(resources, known)
        by_host = self._by_host(
            [
                *(
                    (self._roots(each), each)
                    for each in sorted(requests, key=_sort_key)
                ),
                *own,
            ]
        )
        self._reading.host_manager.refresh_services(
            self._context, self._reading.hosts.values()
        )
        member_class.candidates = self._filter(
            member_class, by_host, self._reading.hosts
        )
        ranges = self._weigh(member_class)
        # Hosts that this group excludes are candidates of others.
        candidates = self._without(member_class.candidates, own)
        self._exclude(member_class)
        query = queries.parse_candidate_query(resources)
        return query and kept_reading.FoundHosts(
            *(candidates, member_class.scores, ranges, query)
        )

    def find_again(self, member_class, resources, found):
        """Store the candidates that an earlier look has found.

        The group's own hosts are read and filtered now.

        :param found: kept_reading.FoundHosts
        """
        known = {
            implied_candidates.key(each)
            for host in self._own_capacity.hosts
            for each in found.candidates.get(
                self._reading.host_ids.get(host), ()
            )
        }
        own = self._own_candidates(resources, known)
        by_host = self._by_host(own)
        for host_id in by_host:
            by_host[host_id][:0] = found.candidates.get(host_id, ())
        member_class.candidates = {
            host_id: requests
            for host_id, requests in found.candidates.items()
            if host_id not in by_host
        }
        if by_host:
            # Their states are read only for a group that has such hosts.
            member_class.candidates |= self._filter(
                member_class, by_host, self._own_states
            )
        self._exclude(member_class)
        member_class.scores = found.scores
        new = member_class.candidates.keys() - found.scores.keys()
        if new:
            self._weigh_new(member_class, new, found)

    def _own_candidates(self, resources, known):
        """Return [(root providers, allocation request)] of the own hosts.

        :param known: set of implied_candidates.key() to leave out
        """
        return [
            (roots, request)
            for roots, request in self._own_capacity.candidates(
                resources, len(self._reading.hosts)
            )
            if implied_candidates.key(request) not in known
        ]

    def _exclude(self, member_class):
        """Remove the candidates that are excluded for a class."""
        member_class.candidates = {
            host_id: requests
            for host_id, requests in member_class.candidates.items()
            if (member_class.name, host_id) not in self._excluded
        }

    def _by_host(self, candidates):
        """Return {host id: [allocation request]}, sorted by the id.

        :param candidates: (root providers, allocation request) pairs
        """
        by_provider = collections.defaultdict(list)
        for roots, request in candidates:
            if len(roots) == 1:
                [provider] = roots
                by_provider[provider].append(request)
            else:
                self._skip_sharing(roots)
        return {
            host_id: by_provider[provider]
            for provider, host_id in self._reading.host_ids.items()
            if provider in by_provider
        }

    def _roots(self, request):
        """Return the root providers of an allocation request."""
        return {
            self._reading.summaries[provider]['root_provider_uuid']
            for provider in request['allocations']
        }

    def _without(self, candidates, own):
        """Return candidates without the hosts of (root providers, request)."""
        own_hosts = {
            self._reading.host_ids.get(provider)
            for roots, _request in own
            for provider in roots
        }
        return {
            host_id: requests
            for host_id, requests in candidates.items()
            if host_id not in own_hosts
        }

    def _skip_sharing(self, roots):
        """Skip a candidate that uses a sharing provider, and record that.

        A hold there could not be swapped for the server on one host alone.
        """
        LOG.info(
            'VRT group %(group)s: skipping an allocation candidate that uses '
            'a sharing provider: %(providers)s',
            {'group': self._group.uuid, 'providers': sorted(roots)},
        )
        self._gaps.add(reading_gaps.SHARING)

    @functools.cached_property
    def _own_states(self):
        """Mapping of the own hosts' ids to their HostStates, read anew."""
        uuids = sorted(self._own_capacity.hosts)
        return self._reading.host_manager.separate().all_hosts(
            self._context, uuids
        )

    def _filter(self, member_class, by_host, states):
        """Return {host id: requests} of what passes the operator's filters.

        :param by_host: {host id: [allocation request]}
        :param states: {host id: HostState}; a host that is missing is refused
        """
        candidates = []
        for host_id, requests in by_host.items():
            if host_id in states:
                # Other looks may use the states at the same time.
                host = copy.copy(states[host_id])
                host.allocation_candidates = requests
                candidates.append(host)
        if not candidates:
            return {}
        passed = self._reading.host_manager.get_filtered_hosts(
            candidates, member_class.spec
        )
        # A filter may remove single allocation candidates of a host.
        return {
            self._reading.host_ids[host.uuid]: host.allocation_candidates
            for host in passed or ()
            if host.allocation_candidates
        }

    def _weigh(self, member_class):
        """Weigh all candidates; return the ranges of the weighers."""
        scores, ranges = self._reading.host_manager.scores(
            self._states(member_class.candidates), member_class.spec
        )
        member_class.scores = self._by_id(scores)
        return ranges

    def _weigh_new(self, member_class, host_ids, found):
        """Weigh candidates that are new, as if beside the known ones.

        :param found: kept_reading.FoundHosts, of the known ones
        """
        if not found.ranges:
            self._weigh(member_class)
            return
        scores = self._reading.host_manager.scores_within(
            *(self._states(host_ids), member_class.spec, found.ranges)
        )
        member_class.scores = {**found.scores, **self._by_id(scores)}

    def _states(self, host_ids):
        return [self._reading.hosts[host_id] for host_id in host_ids]

    def _by_id(self, scores):
        return {
            self._reading.host_ids[uuid]: score
            for uuid, score in scores.items()
        }


def _sort_key(request):
    return jsonutils.dumps(request, sort_keys=True)
