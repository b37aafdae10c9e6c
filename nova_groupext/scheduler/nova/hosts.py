# SPDX-License-Identifier: Apache-2.0
"""All hosts of the cloud, read anew for each snapshot, and their domains."""

import collections
import operator
import time

from nova import context as nova_context
from nova import exception as nova_exc
from nova import objects
from nova import servicegroup
from nova.scheduler import host_manager
from oslo_log import log as logging

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.db import database_errors

LOG = logging.getLogger(__name__)

ZONE_KEY = 'availability_zone'

# Share of planning_time_limit for which to wait for a cell.
CELL_TIMEOUT_SHARE = 0.15

# Share of service_down_time after which services are read again.
REFRESH_SHARE = 0.25

# Prefix of the reason with which a compute service disables itself while it
# cannot reach its hypervisor. It enables itself again only with this prefix.
AUTO_DISABLED = 'AUTO: '


class HostManager(host_manager.HostManager):
    """Nova's HostManager for one snapshot of the cloud.

    Nova's schedulers learn of changed aggregates and servers by messages on
    their own topic, which a planner does not receive. It creates a HostManager
    for every snapshot, so that no data is older than the snapshot.
    """

    # True when every cell has answered and some host is up. A cloud with no
    # host up is faulty; this proves nothing about what would fit.
    is_complete = True

    # When services were read, by the monotonic clock.
    _read_at = 0

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
            # Filters get the objects that Nova would give them.
            servers = {
                uuid: objects.Instance(context, uuid=uuid)
                for uuid in uuids_of[host]
            }
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


def domains(host_state):
    """Return {level: domain} of a host, from its aggregates' metadata.

    The level host is left out.
    """
    return _domains(host_state.host, host_state.aggregates)


def all_domains(host_state):
    """Return {level: domain} of a host, the level host included."""
    return {'host': host_state.nodename, **domains(host_state)}


def find_domains(context, host):
    """Return {level: domain} of a host by its name, without the level host."""
    return _domains(host, objects.AggregateList.get_by_host(context, host))


def hosts_in_same_domains(context, level, names):
    """Return the names of some hosts and of all that share a domain with them.

    Only aggregates are read, which is fast in a large cloud.
    """
    if level == 'host':
        return set(names)
    domain_of = domain_by_host(context, level)
    domains_used = {domain_of[name] for name in names if name in domain_of}
    in_domains = {
        host for host, domain in domain_of.items() if domain in domains_used
    }
    return in_domains.union(names)


def domain_by_host(context, level):
    """Return {host's name: its domain at a level} of the hosts that have one.

    A host in several domains of the level has none.

    :param level: any but ``host``; at a level that is no longer configured no
        host has a domain
    """
    key = _keys().get(level)
    values = collections.defaultdict(set)
    if key is not None:
        aggregates = objects.AggregateList.get_by_metadata_key(context, key)
        for aggregate in aggregates:
            for host in aggregate.hosts:
                values[host].add(aggregate.metadata[key])
    return {
        host: domain for host, (domain, *more) in values.items() if not more
    }


def nodes(context, host):
    """Return the ComputeNodes of a host; none if it is_out_of_service().

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
    return [] if _is_disabled(service) else list(compute_nodes)


class Domains:
    """The domains of all hosts, read once for many queries.

    :param levels: the levels to read
    """

    def __init__(self, context, levels):
        self._by_level = {
            level: domain_by_host(context, level)
            for level in levels
            if level != 'host'
        }

    def of(self, host):
        """Return {level: domain} of a host by its name, without ``host``."""
        return {
            level: domain_of[host]
            for level, domain_of in self._by_level.items()
            if host in domain_of
        }


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


def is_out_of_service(context, host, node_uuid):
    """Check whether the operator has removed or disabled a host.

    A host that is down, has disabled itself, or whose cell does not answer may
    come back and is not out of service.

    :param node_uuid: of the compute node that was there
    """
    try:
        mapping = objects.HostMapping.get_by_host(context, host)
    except nova_exc.HostMappingNotFound:
        return True
    try:
        with nova_context.target_cell(context, mapping.cell_mapping) as cctxt:
            service = objects.Service.get_by_compute_host(cctxt, host)
            objects.ComputeNode.get_by_uuid(cctxt, node_uuid)
    except nova_exc.ComputeHostNotFound:
        return True
    except database_errors.ANY:
        LOG.exception(
            'The service of host %s could not be read; the host counts as in '
            'service.',
            host,
        )
        return False
    return _is_disabled(service)


def _is_disabled(service):
    """Check whether the operator has disabled a compute service."""
    reason = service.disabled_reason or ''
    return service.disabled and not reason.startswith(AUTO_DISABLED)


def _keys():
    """Return {level: aggregate metadata key}, without the level host."""
    return {**vrt.aggregate_keys(CONF), 'zone': ZONE_KEY}


def _domains(host, aggregates):
    domain_of = {
        level: _domain(host, aggregates, level, key)
        for level, key in _keys().items()
    }
    return {level: domain for level, domain in domain_of.items() if domain}


def _domain(host, aggregates, level, key):
    values = {
        aggregate.metadata[key]
        for aggregate in aggregates
        if key in aggregate.metadata
    }
    if len(values) > 1:
        LOG.warning(
            'Host %(host)s is in more than one %(level)s: %(values)s. It '
            'counts as being in none.',
            {
                'host': host,
                'level': level,
                'values': ', '.join(sorted(values)),
            },
        )
        return None
    return values.pop() if values else None
