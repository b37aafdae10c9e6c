# SPDX-License-Identifier: Apache-2.0
"""Step 2, look: one reading of the cloud, as a problem for the solver.

1. Load all hosts of Nova's cells, with their domains.
2. Put members with equal requests into one class. For each class:

   a. ask Placement for the hosts with capacity for one member, after Nova's
      request filters; hosts of the group's own holds are candidates, too;
   b. keep the hosts that pass the operator's filters, and weigh them.

3. Build the solver's problem. It contains every host of every domain, full
   ones too; the class's ``hosts`` say where its members may go.

What may be missing from the reading is recorded in reading_gaps. Nothing is
written, so a crash leaves nothing.
"""

import collections

from nova import exception as nova_exc
from oslo_log import log as logging
from oslo_serialization import jsonutils

from nova_groupext import exception
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.look import reading_gaps
from nova_groupext.scheduler.look import snapshot
from nova_groupext.scheduler.look import solver_problem
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.placement import implied_candidates

LOG = logging.getLogger(__name__)


def look(
    context,
    group,
    placement_client,
    excluded=frozenset(),
    current=current_holds.NO_HOLDS,
    check_deadline=lambda: None,
):
    """Read the cloud as this group may use it.

    :param excluded: (class name, host id) pairs to exclude
    :param current: current_holds.CurrentHolds of the group: its servers are
        pinned, and the capacity of its holds is free for it
    :param check_deadline: called before each request; raises OutOfTime
    :returns: snapshot.Snapshot
    :raises: PlacementUnavailable, OutOfTime
    """
    return _Reading(
        context, group, placement_client, excluded, current, check_deadline
    ).snapshot()


class _Reading:
    """One reading of the cloud."""

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
        self._host_manager = hosts.HostManager()
        self._hosts = self._host_manager.all_hosts(context)
        # {compute node's uuid: host id}
        self._host_ids = {
            host.uuid: host_id for host_id, host in self._hosts.items()
        }
        self._gaps = reading_gaps.ReadingGaps(
            *(context, self._placement_client, self._host_ids),
            *(self._own_capacity, check_deadline),
        )
        # {provider uuid: Placement's summary of it}
        self._summaries = {}

    def snapshot(self):
        classes, class_of = self._classify()
        for member_class in classes.values():
            self._check_deadline()
            self._find_candidates(member_class)
            self._filter(member_class)
            self._weigh(member_class)
        if not self._host_manager.is_complete:
            self._gaps.add(reading_gaps.CELL)
        builder = solver_problem.ProblemBuilder(
            *(self._context, self._group, self._placement_client),
            *(
                self._current,
                self._hosts,
                self._free_capacity(),
                self._check_deadline,
            ),
        )
        return snapshot.Snapshot(
            problem=builder.build(classes, class_of),
            hosts=self._hosts,
            classes=classes,
            class_of=class_of,
            gaps=self._gaps,
            host_manager=self._host_manager,
        )

    def _classify(self):
        """Return ({name: MemberClass}, {path: name}), members in order.

        Servers keep the classes of their member sets. Only a member that waits
        for a server of a former description has another one.
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
            if is_new and member.server_request is not None:
                class_of[member.path] = self._class_name(
                    class_by_key, member.server_request
                )
        classes = {each.name: each for each in class_by_key.values()}
        return classes, class_of

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

    def _find_candidates(self, member_class):
        """Query Placement for the hosts with capacity for one member."""
        try:
            resources = request_specs.placement_request(
                self._context, member_class.spec, self._host_manager
            )
        except nova_exc.NoValidHost as exc:
            LOG.info('No host for member class %s: %s', member_class.name, exc)
            return
        member_class.request = resources.merged_resources()
        try:
            candidates, summaries = self._placement_client.candidates(
                self._context, resources
            )
        except exception.UnknownToPlacement as exc:
            LOG.warning(
                'No host for member class %s: %s', member_class.name, exc
            )
            member_class.is_unknown = True
            return
        self._summaries.update(summaries)
        requests = self._group_by_host(resources, candidates)
        member_class.candidates = {
            host_id: requests[provider]
            for provider, host_id in self._host_ids.items()
            if requests[provider]
            and (member_class.name, host_id) not in self._excluded
        }

    def _group_by_host(self, resources, candidates):
        """Return {root provider: [allocation request]}, with own capacity."""
        known = {implied_candidates.key(each) for each in candidates}
        own = [
            (roots, request)
            for roots, request in self._own_capacity.candidates(resources)
            if implied_candidates.key(request) not in known
        ]
        known.update(implied_candidates.key(request) for _, request in own)
        self._gaps.record_candidates(resources, known)
        sorted_candidates = sorted(candidates, key=_sort_key)
        by_provider = collections.defaultdict(list)
        for roots, request in (
            *((self._roots(each), each) for each in sorted_candidates),
            *own,
        ):
            if len(roots) == 1:
                [provider] = roots
                by_provider[provider].append(request)
            else:
                self._skip_sharing(roots)
        return by_provider

    def _roots(self, candidate):
        """Return the root providers of an allocation candidate."""
        return {
            self._summaries[provider]['root_provider_uuid']
            for provider in candidate['allocations']
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

    def _filter(self, member_class):
        """Keep the hosts that pass the operator's filters."""
        self._host_manager.refresh_services(
            self._context, self._hosts.values()
        )
        candidates = []
        for host_id, requests in member_class.candidates.items():
            host = self._hosts[host_id]
            host.allocation_candidates = requests
            candidates.append(host)
        passed = self._host_manager.get_filtered_hosts(
            candidates, member_class.spec
        )
        # A filter may remove single allocation candidates of a host.
        member_class.candidates = {
            self._host_ids[host.uuid]: host.allocation_candidates
            for host in passed or ()
            if host.allocation_candidates
        }

    def _weigh(self, member_class):
        if not member_class.candidates:
            return
        weighed = self._host_manager.get_weighed_hosts(
            [self._hosts[host_id] for host_id in member_class.candidates],
            member_class.spec,
        )
        member_class.scores = {
            self._host_ids[host.obj.uuid]: host.weight for host in weighed
        }

    def _free_capacity(self):
        """Return {root provider: {(provider, resource class): amount}}.

        Hosts that are no candidate of any class have none.
        """
        free = collections.defaultdict(collections.Counter)
        for provider, summary in self._summaries.items():
            root = summary['root_provider_uuid']
            for name, usage in summary['resources'].items():
                free[root][provider, name] = max(
                    0, usage['capacity'] - usage['used']
                )
        self._own_capacity.add_to(free)
        return free


def _sort_key(candidate):
    return jsonutils.dumps(candidate, sort_keys=True)
