# SPDX-License-Identifier: Apache-2.0
"""All hosts of the cloud, for one reading."""

import collections.abc
import copy
import operator
import time

from nova import context as nova_context
from nova import exception as nova_exc
from nova import objects
from nova import servicegroup
from nova import weights as nova_weights
from nova.scheduler import host_manager
from nova.scheduler import weights
from oslo_log import log as logging

from nova_groupext.conf import CONF
from nova_groupext.scheduler.nova import aggregates
from nova_groupext.scheduler.nova import service_states

LOG = logging.getLogger(__name__)

# Share of planning_time_limit for which to wait for a cell.
CELL_TIMEOUT_SHARE = 0.15

# Share of service_down_time after which services are read again.
REFRESH_SHARE = 0.25


class _Servers(collections.abc.Mapping):
    """The servers of a host by uuid: the objects that Nova gives to filters.

    Each is made when it is used: most filters need only the uuids, if at all.

    :param context: of the host's cell
    """

    def __init__(self, context, uuids):
        self._context = context
        # {uuid: Instance, or None before it is used}
        self._servers = dict.fromkeys(uuids)

    def __getitem__(self, uuid):
        server = self._servers[uuid]
        if server is None:
            server = objects.Instance(self._context, uuid=uuid)
            self._servers[uuid] = server
        return server

    def __iter__(self):
        return iter(self._servers)

    def __len__(self):
        return len(self._servers)


class HostManager(host_manager.HostManager):
    """Nova's HostManager for one reading of the cloud.

    Nova's schedulers learn of changed aggregates and servers by messages on
    their own topic, which a planner does not receive. It creates a HostManager
    for every reading, so that no data is older than that.
    """

    # True when every cell has answered and some host is up. A cloud with no
    # host up is faulty; this proves nothing about what would fit.
    is_complete = True

    # When services were read, by the monotonic clock.
    _read_at = 0

    def _init_aggregates(self):
        """Do as Nova does, with fewer rows and objects."""
        context = nova_context.get_admin_context()
        for aggregate in aggregates.read_all(context):
            self.aggs_by_id[aggregate.id] = aggregate
            for host in aggregate.hosts:
                self.host_aggregates_map[host].add(aggregate.id)

    def has_same_aggregates(self, context):
        """Check whether the aggregates are still those of this reading."""
        return _contents(aggregates.read_all(context)) == _contents(
            self.aggs_by_id.values()
        )

    def _init_instance_info(self, computes_by_cell=None):
        """Skip reading all servers: they are read with the hosts' states."""

    def _get_computes_for_cells(self, context, cells, compute_uuids):
        """Do as Nova does, but skip cells that do not answer a small query."""
        self._read_at = time.monotonic()
        silent = _silent_cells(context, cells)
        nodes, services = super()._get_computes_for_cells(
            context,
            [cell for cell in cells if cell.uuid not in silent],
            compute_uuids,
        )
        # Nova logs which cell did not answer, and goes on without it.
        self.is_complete = {cell.uuid for cell in cells} <= set(nodes) and any(
            map(servicegroup.API().service_is_up, services.values())
        )
        return nodes, services

    def _get_host_states(self, context, compute_nodes, services):
        """Do as Nova does, but read the servers of a whole cell at once."""
        self._instance_info = {}
        for cell_uuid, nodes in compute_nodes.items():
            hosts = sorted({node.host for node in nodes})
            cell = self.cells[cell_uuid]
            with nova_context.target_cell(context, cell) as cctxt:
                self._read_servers(cctxt, hosts)
        return super()._get_host_states(context, compute_nodes, services)

    def _read_servers(self, context, hosts):
        """Read the servers of some hosts of one cell with one query."""
        uuids_of = objects.InstanceList.get_uuids_by_hosts(context, hosts)
        for host in hosts:
            servers = _Servers(context, uuids_of[host])
            self._instance_info[host] = {'instances': servers, 'updated': True}

    def all_hosts(self, context, uuids=None):
        """Return {compute node's name: HostState}, sorted by name.

        :param uuids: of the compute nodes to return; all by default
        """
        hosts = self.get_host_states_by_uuids(context, uuids, None)
        return {
            host.nodename: host
            for host in sorted(hosts, key=operator.attrgetter('nodename'))
        }

    def separate(self):
        """Return a manager with the same aggregates, for readings of its own.

        A reading changes its manager, which others may use at the same time.
        """
        return copy.copy(self)

    def scores(self, states, spec):
        """Return {compute node's uuid: sum of the weighers} of some hosts.

        Nova's get_weighed_hosts() gives the same sums. It also sorts the hosts
        and prepares three log texts for each of them and each weigher.

        :param states: HostStates
        :returns: that, and the range of each weigher for scores_within()
        """
        if len(states) < 2:
            return {host.uuid: 0.0 for host in states}, []
        return self._weigh(states, spec)

    def scores_within(self, states, spec, ranges):
        """Return scores() of hosts that are compared with other hosts.

        :param ranges: of the scores of these other hosts
        """
        return self._weigh(states, spec, ranges)[0]

    def _weigh(self, states, spec, ranges=None):
        """Return ({uuid: sum}, [(lowest, highest) weight] of each weigher).

        :param ranges: of other hosts; None to compare these with one another
        """
        weighed = [weights.WeighedHost(state, 0.0) for state in states]
        found = []
        for number, weigher in enumerate(self.weighers):
            raw = weigher.weigh_objects(weighed, spec)
            found.append(ranges[number] if ranges else _range(weigher, raw))
            for host, weight in zip(
                weighed, nova_weights.normalize(raw, *found[-1]), strict=True
            ):
                host.weight += weigher.weight_multiplier(host.obj) * weight
        return {host.obj.uuid: host.weight for host in weighed}, found

    def refresh_services(self, context, states):
        """Read the services again if they were read long ago.

        Nova's ComputeFilter compares the time of a service's last report with
        the clock. After a long snapshot it would reject hosts that are up.

        :param states: HostStates of this manager
        """
        age = time.monotonic() - self._read_at
        if age < CONF.service_down_time * REFRESH_SHARE:
            return
        was_complete = self.is_complete
        _nodes, services = self._get_computes_for_cells(
            context, self.enabled_cells, []
        )
        # This call does not read the hosts of a cell that was silent before.
        self.is_complete = was_complete and self.is_complete
        for host in states:
            if host.host in services:
                host.update(service=dict(services[host.host]))


def _contents(found):
    """Return {id: hosts and metadata} of some aggregates."""
    return {each.id: (set(each.hosts), each.metadata) for each in found}


def _range(weigher, raw):
    """Return the lowest and the highest weight, as Nova normalizes them."""
    low, high = weigher.minval, weigher.maxval
    return (
        min(raw) if low is None else low,
        max(raw) if high is None else high,
    )


def _silent_cells(context, cells):
    """Return the uuids of the cells that do not answer a small query.

    Nova would wait a minute for each of them, at every query.
    """
    answers = nova_context.scatter_gather_cells(
        context,
        cells,
        CONF.vrt.planning_time_limit * CELL_TIMEOUT_SHARE,
        objects.ComputeNodeList.get_by_pagination,
        limit=1,
    )
    return {
        uuid
        for uuid, answer in answers.items()
        if nova_context.is_cell_failure_sentinel(answer)
    }


def nodes(context, host):
    """Return the ComputeNodes of a host; none if it is out of service.

    :raises: one of database_errors.ANY when its cell does not answer
    """
    try:
        mapping = objects.HostMapping.get_by_host(context, host)
        with nova_context.target_cell(context, mapping.cell_mapping) as cctxt:
            service = objects.Service.get_by_compute_host(cctxt, host)
            compute_nodes = objects.ComputeNodeList.get_all_by_host(
                cctxt, host
            )
    except (nova_exc.HostMappingNotFound, nova_exc.ComputeHostNotFound):
        return []
    is_disabled = service_states.is_disabled(
        service.disabled, service.disabled_reason
    )
    return [] if is_disabled else list(compute_nodes)


def compute_node(context, host, name):
    """Return a ComputeNode by the names of its host and itself, or None.

    :raises: one of database_errors.ANY when its cell does not answer
    """
    try:
        mapping = objects.HostMapping.get_by_host(context, host)
        with nova_context.target_cell(context, mapping.cell_mapping) as cctxt:
            return objects.ComputeNode.get_by_host_and_nodename(
                cctxt, host, name
            )
    except (nova_exc.HostMappingNotFound, nova_exc.ComputeHostNotFound):
        return None
