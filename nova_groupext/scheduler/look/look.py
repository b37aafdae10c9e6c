# SPDX-License-Identifier: Apache-2.0
"""Step 2, look: one reading of the cloud, as a problem for the solver.

1. Put members with equal requests into one class. For each class, ask
   Placement for the hosts with capacity for one member, after Nova's request
   filters.
2. Meanwhile, load all hosts of Nova's cells, with their domains.
3. For each class, add the hosts of the group's own holds to the candidates,
   keep the hosts that pass the operator's filters, and weigh them.
4. Build the solver's problem. It contains every host of every domain, full
   ones too; the class's ``hosts`` say where its members may go.

A look may start from the reading that its planner keeps. Then steps 1 to 3 are
left out for the classes and hosts that are known from there.

What may be missing from the reading is recorded in reading_gaps. Nothing is
written, so a crash leaves nothing.
"""

import collections
from concurrent import futures
import dataclasses

from nova import exception as nova_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.look import candidates
from nova_groupext.scheduler.look import foreign_hosts
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import reading_gaps
from nova_groupext.scheduler.look import snapshot
from nova_groupext.scheduler.look import solver_problem
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.placement import concurrent_reads

LOG = logging.getLogger(__name__)


def look(
    context,
    group,
    placement_client,
    excluded=frozenset(),
    current=current_holds.NO_HOLDS,
    check_deadline=lambda: None,
    kept=None,
    *,
    may_be_old=False,
):
    """Read the cloud as this group may use it.

    :param excluded: (class name, host id) pairs to exclude
    :param current: current_holds.CurrentHolds of the group: its servers are
        pinned, and the capacity of its holds is free for it
    :param check_deadline: called before each request; raises OutOfTime
    :param kept: kept_reading.KeptReading of the planner; None for none
    :param may_be_old: whether to start from what is kept
    :returns: snapshot.Snapshot
    :raises: PlacementUnavailable, OutOfTime
    """
    this = _Look(
        context, group, placement_client, excluded, current, check_deadline
    )
    if kept is None:
        return this.read(kept_reading.Start())[1]
    start = kept.begin(
        context, placement_client, check_deadline, may_be_old=may_be_old
    )
    reading, result = this.read(start)
    kept.keep(reading)
    return result


@dataclasses.dataclass(frozen=True)
class _Question:
    """Question for the hosts with capacity for one member of a class.

    :ivar resources: Nova's ResourceRequest
    :ivar key: equal for classes with equal candidates, of any group
    :ivar found: kept_reading.FoundHosts that are known, or None
    :ivar answer: future of Placement's answer, or None
    """

    member_class: snapshot.MemberClass
    resources: object
    key: tuple
    found: kept_reading.FoundHosts | None
    answer: futures.Future | None


class _Look:
    """One look for one group."""

    def __init__(
        self,
        context,
        group,
        placement_client,
        excluded,
        current,
        check_deadline,
    ):
        self._context = context
        self._group = group
        self._placement_client = placement_client
        self._excluded = excluded
        self._current = current
        self._check_deadline = check_deadline
        self._own_capacity = own_capacity.OwnCapacity(
            context, self._placement_client, current, check_deadline
        )

    def read(self, start):
        """Return (kept_reading.Reading, snapshot.Snapshot).

        :param start: kept_reading.Start
        """
        classes, class_of, keys = self._classify()
        with concurrent_reads.executor(self._context) as queries:
            reading, known = start.reading, {}
            if reading is None:
                manager = hosts.HostManager()
            else:
                manager, known = reading.host_manager, reading.found
            questions = [
                self._ask(queries, classes[name], keys[name], manager, known)
                for name in classes
            ]
            if reading is None:
                reading = kept_reading.Reading(
                    *(manager.all_hosts(self._context), manager),
                    *(start.generations, start.time),
                )
            reading = reading.copy()
            gaps = self._find_candidates(reading, filter(None, questions))
        return reading, self._snapshot(reading, classes, class_of, gaps)

    def _ask(self, queries, member_class, request_key, manager, known):
        """Query Placement about a class, unless its hosts are known.

        :param queries: executor of the query
        :param request_key: request_specs.key() of its request
        :param known: {key of a class: kept_reading.FoundHosts}
        :returns: _Question, or None if a request filter refuses the class
        """
        self._check_deadline()
        try:
            resources = request_specs.placement_request(
                self._context, member_class.spec, manager
            )
        except nova_exc.NoValidHost as exc:
            LOG.info('No host for member class %s: %s', member_class.name, exc)
            return None
        member_class.request = resources.merged_resources()
        key = (
            *(resources.to_querystring(), request_key),
            *(self._group.project_id, self._group.user_id),
        )
        answer = None
        if key not in known:
            answer = queries.submit(
                self._placement_client.candidates, self._context, resources
            )
        return _Question(member_class, resources, key, known.get(key), answer)

    def _find_candidates(self, reading, questions):
        """Store the candidates of all classes; return the ReadingGaps."""
        gaps = reading_gaps.ReadingGaps(
            *(self._context, self._placement_client, reading.host_ids),
            *(self._own_capacity, self._check_deadline),
        )
        search = candidates.CandidateSearch(
            *(self._context, self._group, reading, self._own_capacity),
            *(self._excluded, gaps),
        )
        for each in questions:
            self._check_deadline()
            if each.found is not None:
                search.find_again(
                    each.member_class, each.resources, each.found
                )
                continue
            try:
                answer = each.answer.result()
            except exception.UnknownToPlacement as exc:
                LOG.warning(
                    'No host for member class %s: %s',
                    each.member_class.name,
                    exc,
                )
                each.member_class.is_unknown = True
                continue
            found = search.find(each.member_class, each.resources, answer)
            if found is not None:
                reading.found[each.key] = found
        if not reading.host_manager.is_complete:
            gaps.add(reading_gaps.CELL)
        return gaps

    def _snapshot(self, reading, classes, class_of, gaps):
        in_use = {
            host_id for each in classes.values() for host_id in each.candidates
        }
        in_use.update(hold.node for hold in self._current.all)
        foreign = foreign_hosts.find(
            *(self._context, self._group, self._placement_client),
            *(self._check_deadline, reading, in_use),
        )
        builder = solver_problem.ProblemBuilder(
            *(self._context, self._group, self._current, reading.hosts),
            *(self._free_capacity(reading.summaries), foreign),
        )
        return snapshot.Snapshot(
            problem=builder.build(classes, class_of),
            hosts=reading.hosts,
            classes=classes,
            class_of=class_of,
            gaps=gaps,
            host_manager=reading.host_manager,
            is_old=reading.is_kept,
        )

    def _classify(self):
        """Return the classes, and which member is of which class.

        Servers keep the classes of their member sets. Only a member with a
        shelved server, or that waits for one, may have another class: that of
        its server.

        :returns: ({name: MemberClass}, {path: name}, members in order, and
            {name: request_specs.key() of the class})
        """
        class_by_key, class_of_set, class_of = {}, {}, {}
        with_members = {member.member_set for member in self._group.members}
        for each in self._group.member_sets:
            if each.path in with_members:
                class_of_set[each.path] = self._class_name(
                    class_by_key, each.resolved_request
                )
        for member in self._group.members:
            class_of[member.path] = class_of_set[member.member_set]
            is_new = member.path not in self._current.servers
            request = self._current.shelved.get(
                member.path, member.server_request
            )
            if is_new and request is not None:
                class_of[member.path] = self._class_name(class_by_key, request)
        classes = {each.name: each for each in class_by_key.values()}
        keys = {each.name: key for key, each in class_by_key.items()}
        return classes, class_of, keys

    def _class_name(self, class_by_key, request):
        """Return the name of the class of a resolved request."""
        key = request_specs.key(request)
        if key not in class_by_key:
            spec = request_specs.make_spec(
                self._context,
                request,
                self._group.project_id,
                self._group.user_id,
            )
            name = f'class-{len(class_by_key)}'
            class_by_key[key] = snapshot.MemberClass(name, spec)
        return class_by_key[key].name

    def _free_capacity(self, summaries):
        """Return {root provider: {(provider, resource class): amount}}.

        Hosts that are no candidate of any class have none.

        :param summaries: {provider: Placement's summary}
        """
        free = collections.defaultdict(collections.Counter)
        for provider, summary in summaries.items():
            root = summary['root_provider_uuid']
            for name, usage in summary['resources'].items():
                free[root][provider, name] = max(
                    0, usage['capacity'] - usage['used']
                )
        self._own_capacity.add_to(free)
        return free
