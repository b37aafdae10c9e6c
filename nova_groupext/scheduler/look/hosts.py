# SPDX-License-Identifier: Apache-2.0
"""All hosts of the cloud, read afresh, with the domains they are in."""

import collections

from nova import context as nova_context
from nova import exception as nova_exc
from nova import objects
from nova import servicegroup
from nova.scheduler import host_manager
from oslo_log import log as logging

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.db import errors as db_errors

LOG = logging.getLogger(__name__)

ZONE_KEY = 'availability_zone'

# Share of the time of planning for which a cell is waited for.
PATIENCE = 0.15

# How the reason begins for which a compute service disables itself, while it
# cannot reach its hypervisor. It enables itself again then, and only then.
BY_ITSELF = 'AUTO: '


class HostManager(host_manager.HostManager):
    """Nova's HostManager for one look at the cloud.

    Nova's schedulers are told of changed aggregates and servers by messages
    on their own topic, which a planner does not hear. It makes a new one of
    these for every look, so nothing in it is ever older than the look.
    """

    # Whether every cell has told its hosts, and some host is up. Where none
    # is, that is the cloud's trouble, and says nothing of what would fit.
    is_complete = True

    def _init_instance_info(self, computes_by_cell=None):
        """Read servers host by host, when a host's state is asked for."""

    def _get_computes_for_cells(self, context, cells, compute_uuids):
        """As Nova's, but without cells that have just been silent."""
        silent = _silent(context, cells)
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

    def all_hosts(self, context, uuids=None):
        """Return {compute node's name: HostState}, by name.

        :param uuids: of those compute nodes that are wanted; all by default
        """
        hosts = self.get_host_states_by_uuids(context, uuids, None)
        return {
            host.nodename: host
            for host in sorted(hosts, key=lambda each: each.nodename)
        }


def _silent(context, cells):
    """Return the uuids of cells that do not answer a little question.

    Nova would wait for each of them for a minute, each time.
    """
    answers = nova_context.scatter_gather_cells(
        context,
        cells,
        CONF.vrt.planning_time_limit * PATIENCE,
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

    Without the host itself.
    """
    return _domains(host_state.host, host_state.aggregates)


def all_domains(host_state):
    """Return {level: domain} of a host, the host itself among them."""
    return {'host': host_state.nodename, **domains(host_state)}


def domains_now(context, host):
    """Return {level: domain} of a host by its name."""
    return _domains(host, objects.AggregateList.get_by_host(context, host))


def neighbours(context, level, names):
    """Return the names of all hosts in the domains of some, these included.

    It asks for aggregates only, which is quick in a large cloud.
    """
    if level == 'host':
        return set(names)
    domain_of = by_name(context, level)
    domains_used = {domain_of[name] for name in names if name in domain_of}
    inside = {host for host, each in domain_of.items() if each in domains_used}
    return inside.union(names)


def by_name(context, level):
    """Return {host's name: its domain at a level} of those that have one.

    :param level: any but ``host``; in one that is not configured any more
        nobody has a domain
    """
    key = _keys().get(level)
    values = collections.defaultdict(set)
    if key is not None:
        found = objects.AggregateList.get_by_metadata_key(context, key)
        for aggregate in found:
            for host in aggregate.hosts:
                values[host].add(aggregate.metadata[key])
    return {
        host: domain for host, (domain, *more) in values.items() if not more
    }


def nodes(context, host):
    """Return the ComputeNodes of a host; none when it is out of service.

    What that is, is_out_of_service() says.

    :raises: one of db.errors.ANY when its cell does not answer
    """
    try:
        mapping = objects.HostMapping.get_by_host(context, host)
        with nova_context.target_cell(context, mapping.cell_mapping) as cctxt:
            service = objects.Service.get_by_compute_host(cctxt, host)
            found = objects.ComputeNodeList.get_all_by_host(cctxt, host)
    except (nova_exc.HostMappingNotFound, nova_exc.ComputeHostNotFound):
        return []
    return [] if _is_taken_away(service) else list(found)


class Domains:
    """Which host is in which domain, read once for many questions.

    :param levels: those that are asked about
    """

    def __init__(self, context, levels):
        self._by_level = {
            level: by_name(context, level)
            for level in levels
            if level != 'host'
        }

    def of(self, host):
        """Return {level: domain} of a host by its name, without ``host``."""
        return {
            level: named[host]
            for level, named in self._by_level.items()
            if host in named
        }


def compute_node(context, host, name):
    """Return the ComputeNode of a host by its own name, or None.

    :raises: one of db.errors.ANY when its cell does not answer
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
    """Tell whether the operator takes a host away, or has taken it.

    One that is down, that has disabled itself, or whose cell does not answer,
    may come back: it is not.

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
    except db_errors.ANY:
        LOG.exception('It is not known whether host %s is in service.', host)
        return False
    return _is_taken_away(service)


def _is_taken_away(service):
    """Tell whether it was the operator who has disabled a compute service."""
    reason = service.disabled_reason or ''
    return service.disabled and not reason.startswith(BY_ITSELF)


def _keys():
    """Return {level: aggregate metadata key}, without the level host."""
    return {**vrt.aggregate_keys(CONF), 'zone': ZONE_KEY}


def _domains(host, aggregates):
    named = {
        level: _domain(host, aggregates, level, key)
        for level, key in _keys().items()
    }
    return {level: domain for level, domain in named.items() if domain}


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
