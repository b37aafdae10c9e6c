# SPDX-License-Identifier: Apache-2.0
"""A reading of a large cloud that later looks of the same planner start from.

Reading thousands of hosts takes many seconds. For some time a later look asks
Placement only which providers have changed, and reads these. Aggregates of
Nova or providers that have come or gone need a new reading. What may be old
are the states of hosts, and capacity that a DELETE of allocations has freed,
as that changes no generation.

So such a look leads to a plan for all members or to another look, never to a
refusal. The plan is rehearsed on the hosts as they are by then, and Placement
compares its holds with the capacity.
"""

import dataclasses
import functools
import time

from nova_groupext.conf import CONF
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.placement import implied_candidates
from nova_groupext.scheduler.placement import queries
from nova_groupext.scheduler.placement import tree_queries

# Number of hosts from which on a reading is kept. With fewer, looking takes
# less than a second.
MIN_HOSTS = 1000

# Number of classes of members whose hosts are kept. Each takes up to 20 MiB
# with 10,000 hosts.
MAX_CLASSES = 8

# Share of the providers that may have changed. Reading one takes as long as
# reading thirty hosts of the cloud.
MAX_CHANGED_SHARE = 0.015


@dataclasses.dataclass(frozen=True)
class FoundHosts:
    """Hosts that pass the operator's filters for one class of members.

    :ivar candidates: {host id: [allocation request of Placement, ...]}
    :ivar scores: {host id: sum of the operator's weighers}
    :ivar ranges: [(lowest, highest) weight] of each weigher; empty for less
        than two hosts
    :ivar query: queries.CandidateQuery
    """

    candidates: dict
    scores: dict
    ranges: list
    query: queries.CandidateQuery


@dataclasses.dataclass(frozen=True)
class Reading:
    """Result of a look at the cloud, without the group's own part of it.

    :ivar hosts: {host id: HostState} of all hosts
    :ivar host_manager: the hosts.HostManager that has read the hosts
    :ivar generations: {provider: generation}, read before all else
    :ivar began: when that was, by the monotonic clock
    :ivar summaries: {provider: Placement's summary}, of the providers of all
        candidates
    :ivar found: {key of a class: FoundHosts}
    :ivar is_kept: whether an earlier look has read it
    """

    hosts: dict
    host_manager: hosts.HostManager
    generations: dict
    began: float
    summaries: dict = dataclasses.field(default_factory=dict)
    found: dict = dataclasses.field(default_factory=dict)
    is_kept: bool = False

    @functools.cached_property
    def host_ids(self):
        """Mapping of each compute node's uuid to its host id."""
        return {host.uuid: host_id for host_id, host in self.hosts.items()}

    def copy(self):
        """Return a copy for one look, which adds what it finds itself."""
        return dataclasses.replace(
            self, summaries=dict(self.summaries), found=dict(self.found)
        )

    def is_young(self):
        return time.monotonic() - self.began < CONF.vrt.snapshot_max_age

    def is_worth_keeping(self):
        """Check whether it is of a large cloud, with no part missing."""
        return (
            len(self.hosts) >= MIN_HOSTS
            and self.host_manager.is_complete
            and self.is_young()
        )

    def after_changes(self, generations, trees, hosts):
        """Return the reading after some providers have changed.

        :param generations: {provider: generation}
        :param trees: tree_queries.TreeQueries of the hosts that have changed
        :param hosts: their uuids
        """
        return dataclasses.replace(
            self,
            generations=generations,
            summaries={**self.summaries, **trees.summaries()},
            found={
                key: _recheck(found, trees, hosts, self.host_ids)
                for key, found in self.found.items()
            },
        )


@dataclasses.dataclass(frozen=True)
class Start:
    """Start of a look.

    :ivar reading: Reading that is brought up to date; None to read all
    :ivar generations: {provider: generation}; empty if nothing is kept
    :ivar time: when these were read, by the monotonic clock
    """

    reading: Reading | None = None
    generations: dict = dataclasses.field(default_factory=dict)
    time: float = 0.0


class KeptReading:
    """The reading that a planner keeps, if any.

    Several looks may use it at the same time. None changes it, but for the
    states of services, which a look may find too old.
    """

    def __init__(self):
        self._reading = None

    def keep(self, reading):
        """Keep a reading instead of the former one, if it is worth that."""
        if reading.is_worth_keeping():
            newest = [*reading.found.items()][-MAX_CLASSES:]
            self._reading = dataclasses.replace(
                reading, found=dict(newest), is_kept=True
            )

    def find(self):
        """Return the reading; None if there is none, or it is too old."""
        reading = self._reading
        if reading is None or reading.is_young():
            return reading
        # Give its memory back.
        self._reading = None
        return None

    def begin(self, context, placement_client, check_deadline, may_be_old):
        """Return the Start of a look.

        :param check_deadline: called before each result; raises OutOfTime
        :param may_be_old: whether to start from the kept reading
        :raises: PlacementUnavailable, OutOfTime
        """
        if not CONF.vrt.snapshot_max_age:
            return Start()
        check_deadline()
        now = time.monotonic()
        generations = placement_client.generations(context)
        reading = self.find() if may_be_old else None
        if reading is not None:
            reading = self._reading = _bring_up_to_date(
                *(context, placement_client, check_deadline),
                *(reading, generations),
            )
        return Start(reading, generations, now)


def _bring_up_to_date(
    context, placement_client, check_deadline, reading, generations
):
    """Return a reading with the usages of now, or None if that is too much."""
    if (
        generations.keys() != reading.generations.keys()
        or not reading.host_manager.has_same_aggregates(context)
    ):
        return None
    changed = {
        provider
        for provider, generation in generations.items()
        if reading.generations[provider] != generation
    }
    if len(changed) > MAX_CHANGED_SHARE * len(generations):
        return None
    # Providers that are not there were no candidates.
    root_of = {
        provider: summary['root_provider_uuid']
        for provider, summary in reading.summaries.items()
    }
    hosts = {root_of[each] for each in changed & root_of.keys()}
    trees = tree_queries.TreeQueries(
        *(context, placement_client, check_deadline),
        {each: root for each, root in root_of.items() if root in hosts},
    )
    return reading.after_changes(generations, trees, hosts)


def _recheck(found, trees, hosts, host_ids):
    """Return FoundHosts without candidates that Placement would not offer.

    :param hosts: uuids of the hosts to check
    """
    implied = implied_candidates.ImpliedCandidates(trees, found.query)
    candidates = dict(found.candidates)
    for host in hosts & host_ids.keys():
        requests = candidates.pop(host_ids[host], ())
        offered = {*implied.of_host(host)} if requests else ()
        kept = [
            each
            for each in requests
            if implied_candidates.key(each) in offered
        ]
        if kept:
            candidates[host_ids[host]] = kept
    return dataclasses.replace(found, candidates=candidates)
