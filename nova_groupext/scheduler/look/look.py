# SPDX-License-Identifier: Apache-2.0
"""Step 2, look: one reading of the cloud, as a problem for the solver.

Nova's request filters, filters and weighers and Placement are run for each
class of members; the result is the problem of DESIGN section 5. It contains
every host of every domain, full ones too; the class's ``hosts`` say where its
members may go.
"""

import collections
import dataclasses

from nova import exception as nova_exc
from oslo_log import log as logging
from oslo_serialization import jsonutils

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import topology
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import outsiders
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.look import blind_spots
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.placement import placement_client

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class MemberClass:
    """Members with the same request, and the hosts that can take them.

    :ivar name: name in the problem
    :ivar spec: RequestSpec, after Nova's request filters
    :ivar request: {resource: amount} of one member
    :ivar ways: {host id: [allocation request of Placement, ...]}
    :ivar scores: {host id: sum of the operator's weighers}
    :ivar is_unknown: whether the request names what Placement does not know
    """

    name: str
    spec: object
    request: dict = dataclasses.field(default_factory=dict)
    ways: dict = dataclasses.field(default_factory=dict)
    scores: dict = dataclasses.field(default_factory=dict)
    is_unknown: bool = False


@dataclasses.dataclass
class Snapshot:
    """Problem for the solver, with the Nova objects behind its names.

    :ivar problem: the problem of DESIGN section 5
    :ivar hosts: {host id: HostState}; the id is the compute node's name
    :ivar classes: {class name: MemberClass}
    :ivar class_of: {member path: class name}
    :ivar blind_spots: blind_spots.BlindSpots of this reading
    """

    problem: dict
    hosts: dict
    classes: dict
    class_of: dict
    blind_spots: object

    def class_of_member(self, path):
        return self.classes[self.class_of[path]]

    def unknown(self):
        """Return paths of members whose requests Placement does not know."""
        return sorted(
            path
            for path in self.class_of
            if self.class_of_member(path).is_unknown
        )

    def leave_out(self, class_name, host_id):
        """Exclude a host for the members of a class."""
        described = self.problem['classes'][class_name]
        for part in ('scores', 'alternatives'):
            described[part].pop(host_id, None)
        if host_id in described['hosts']:
            described['hosts'].remove(host_id)


def look(
    context,
    group,
    client,
    excluded=frozenset(),
    standing=current_holds.NOTHING,
    go_on=lambda: None,
):
    """Read the cloud as this group may use it.

    :param client: Nova's SchedulerReportClient
    :param excluded: (class name, host id) pairs to exclude
    :param standing: current_holds.CurrentHolds of the group: its servers are
        pinned, and the capacity of its holds is free for it
    :param go_on: called before each request; raises when there is no time
    :returns: Snapshot
    :raises: PlacementUnavailable, OutOfTime
    """
    return _Look(context, group, client, excluded, standing, go_on).snapshot()


class _Look:
    def __init__(self, context, group, client, excluded, standing, go_on):
        self._context = context
        self._group = group
        self._ledger = placement_client.PlacementClient(client)
        self._excluded = excluded
        self._standing = standing
        self._go_on = go_on
        self._own_room = own_capacity.OwnCapacity(
            context, self._ledger, standing, go_on
        )
        self._host_manager = hosts.HostManager()
        self._hosts = self._host_manager.all_hosts(context)
        self._ids = {
            host.uuid: host_id for host_id, host in self._hosts.items()
        }
        self._blind_spots = blind_spots.BlindSpots(
            context, self._ledger, self._ids, go_on
        )
        # {provider uuid: Placement's summary of it}
        self._summaries = {}

    def snapshot(self):
        classes, class_of = self._classify()
        for member_class in classes.values():
            self._go_on()
            self._find_ways(member_class)
            self._filter(member_class)
            self._weigh(member_class)
        if not self._host_manager.is_complete:
            self._blind_spots.note(blind_spots.CELL)
        return Snapshot(
            problem=self._problem(classes, class_of),
            hosts=self._hosts,
            classes=classes,
            class_of=class_of,
            blind_spots=self._blind_spots,
        )

    def _classify(self):
        """Return ({name: MemberClass}, {path: name}), members in order."""
        by_key, class_of = {}, {}
        for member in self._group.members:
            key = request_specs.key(member)
            if key not in by_key:
                spec = request_specs.spec_for(
                    self._context,
                    member,
                    self._group.project_id,
                    self._group.user_id,
                )
                by_key[key] = MemberClass(f'class-{len(by_key)}', spec)
            class_of[member.path] = by_key[key].name
        return {each.name: each for each in by_key.values()}, class_of

    def _find_ways(self, member_class):
        """Query Placement for the hosts with capacity for one member."""
        try:
            resources = request_specs.placement_request(
                self._context, member_class.spec, self._host_manager
            )
        except nova_exc.NoValidHost as exc:
            LOG.info('No host for %s: %s', member_class.name, exc)
            return
        member_class.request = resources.merged_resources()
        try:
            candidates, summaries = self._ledger.candidates(
                self._context, resources
            )
        except exception.UnknownToPlacement as exc:
            LOG.warning('No host for %s: %s', member_class.name, exc)
            member_class.is_unknown = True
            return
        self._summaries.update(summaries)
        ways = collections.defaultdict(list)
        told = set()
        for candidate in sorted(candidates, key=_order):
            roots = self._roots(candidate)
            told |= roots
            if len(roots) == 1:
                ways[roots.pop()].append(candidate)
            else:
                self._note_sharing(roots)
        self._blind_spots.note_answer(resources, told)
        for provider, way in self._own_room.ways(resources).items():
            ways[provider] = ways[provider] or [way]
        if self._own_room.unseen(resources, ways.keys()):
            self._blind_spots.note(blind_spots.OWN)
        member_class.ways = {
            host_id: ways[provider]
            for provider, host_id in self._ids.items()
            if ways[provider]
            and (member_class.name, host_id) not in self._excluded
        }

    def _roots(self, candidate):
        return {
            self._summaries[provider]['root_provider_uuid']
            for provider in candidate['allocations']
        }

    def _note_sharing(self, roots):
        """Skip a candidate that uses a sharing provider, and record that.

        A hold there could not be swapped for the server on one host alone.
        """
        LOG.info(
            'VRT group %(group)s: a candidate is left out because its host '
            'uses a sharing provider: %(providers)s',
            {'group': self._group.uuid, 'providers': sorted(roots)},
        )
        self._blind_spots.note(blind_spots.SHARING)

    def _filter(self, member_class):
        """Keep the hosts that pass the operator's filters."""
        self._host_manager.keep_fresh(self._context, self._hosts.values())
        candidates = []
        for host_id, ways in member_class.ways.items():
            host = self._hosts[host_id]
            host.allocation_candidates = ways
            candidates.append(host)
        passed = self._host_manager.get_filtered_hosts(
            candidates, member_class.spec
        )
        # A filter may remove single allocation candidates of a host.
        member_class.ways = {
            self._ids[host.uuid]: host.allocation_candidates
            for host in passed or ()
            if host.allocation_candidates
        }

    def _weigh(self, member_class):
        if not member_class.ways:
            return
        weighed = self._host_manager.get_weighed_hosts(
            [self._hosts[host_id] for host_id in member_class.ways],
            member_class.spec,
        )
        member_class.scores = {
            self._ids[each.obj.uuid]: each.weight for each in weighed
        }

    # -- the problem -------------------------------------------------------

    def _problem(self, classes, class_of):
        free = self._free()
        pinned = {
            path: hold.node
            for path, hold in self._standing.servers.items()
            if path in class_of
        }
        others = {
            path: seat.node
            for path, seat in outsiders.of(self._context, self._group).items()
        }
        # A server may be on a host that the operator has taken away.
        used = {*pinned.values(), *others.values()}
        gone = sorted(used - self._hosts.keys())
        return {
            'version': 1,
            'levels': vrt.levels(CONF),
            'hosts': [
                {
                    'id': host_id,
                    'domains': hosts.domains(host),
                    'free': free[host.uuid],
                    'foreign': self._is_foreign(host),
                }
                for host_id, host in self._hosts.items()
            ]
            + [{'id': host_id} for host_id in gone],
            'classes': {
                name: self._describe_class(each)
                for name, each in classes.items()
            },
            'topology': topology.compose(
                self._group,
                lambda member: {
                    'class': class_of[member.path],
                    **topology.counts(member.description),
                },
            ),
            'pinned': pinned,
            'outsiders': others,
            'seed': CONF.vrt.solver_seed,
        }

    def _describe_class(self, member_class):
        amounts = {
            host_id: [self._amounts(way, host_id) for way in ways]
            for host_id, ways in member_class.ways.items()
        }
        return {
            'request': member_class.request,
            'hosts': sorted(member_class.ways),
            'scores': member_class.scores,
            'alternatives': {
                host_id: alternatives
                for host_id, alternatives in amounts.items()
                if alternatives != [member_class.request]
            },
        }

    def _amounts(self, way, host_id):
        """Return {resource: amount} of an allocation request."""
        root = self._hosts[host_id].uuid
        return {
            resource_name(name, provider, root): amount
            for provider, allocation in way['allocations'].items()
            for name, amount in allocation['resources'].items()
        }

    def _free(self):
        """Return {root provider: {resource: amount}} of free capacity.

        Hosts that are no candidate of any class have none.
        """
        free = collections.defaultdict(collections.Counter)
        for provider, summary in self._summaries.items():
            root = summary['root_provider_uuid']
            for name, each in summary['resources'].items():
                free[root][provider, name] = max(
                    0, each['capacity'] - each['used']
                )
        self._own_room.add_to(free)
        return {
            host.uuid: {
                resource_name(name, provider, host.uuid): amount
                for (provider, name), amount in free[host.uuid].items()
            }
            for host in self._hosts.values()
        }

    def _is_foreign(self, host):
        """Check whether a host has consumers other than the group's.

        Only `exclusive` needs this, so only then Placement is queried about
        hosts that are no candidates.
        """
        if not self._group.has_policy('exclusive'):
            return False
        self._go_on()
        used = self._ledger.used(self._context, host.uuid)
        # The draft shares the consumers of the group that it revises.
        own = self._group.revises_id or self._group.id
        return bool(
            overcommitment.foreign_consumers(self._context, own, used or {})
        )


def resource_name(name, provider, root):
    """Return the name of a host's resource in the problem.

    The name of a child provider's resource contains the provider.
    """
    return name if provider == root else f'{name}@{provider}'


def _order(candidate):
    return jsonutils.dumps(candidate, sort_keys=True)
