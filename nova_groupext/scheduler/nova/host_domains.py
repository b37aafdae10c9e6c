# SPDX-License-Identifier: Apache-2.0
"""Domains of hosts: aggregates whose metadata name a domain of a level.

A host in several domains of one level counts as being in none of them.
"""

import collections

from nova import objects
from nova.db.api import api as nova_api_db
from nova.db.api import models as nova_api_models
from oslo_log import log as logging
import sqlalchemy as sa

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt

LOG = logging.getLogger(__name__)

ZONE_KEY = 'availability_zone'

# Number of hosts that a query names. To read more, it reads all of them.
MAX_NAMED = 1000


def of_state(host_state):
    """Return {level: domain} of a HostState, without the level host."""
    return _of_aggregates(host_state.host, host_state.aggregates)


def all_of_state(host_state):
    """Return {level: domain} of a HostState, the level host included."""
    return {'host': host_state.nodename, **of_state(host_state)}


def find(context, host):
    """Return {level: domain} of a host by its name, without the level host."""
    return _of_aggregates(
        host, objects.AggregateList.get_by_host(context, host)
    )


def hosts_in_same_domains(context, level, names):
    """Return the names of some hosts and of all that share a domain with them.

    Only aggregates are read, which is fast in a large cloud.
    """
    if level == 'host':
        return set(names)
    domain_of = read(context, [level])[level]
    domains_used = {domain_of[name] for name in names if name in domain_of}
    in_domains = {
        host for host, domain in domain_of.items() if domain in domains_used
    }
    return in_domains.union(names)


def read(context, levels, names=None):
    """Return {level: {host's name: its domain}} of the hosts that have one.

    :param levels: any but ``host``; at a level that is no longer configured no
        host has a domain
    :param names: of the hosts to read; all by default
    """
    keys = _keys()
    level_of = {keys[level]: level for level in levels if level in keys}
    values = collections.defaultdict(set)
    for host, key, value in _read_metadata(context, [*level_of], names):
        values[level_of[key], host].add(value)
    domain_of = {level: {} for level in levels}
    for (level, host), (domain, *more) in values.items():
        if not more:
            domain_of[level][host] = domain
    return domain_of


@nova_api_db.context_manager.reader
def _read_metadata(context, keys, names):
    """Return [(host, key, value)] by one query, without Nova's objects."""
    host, metadata = (
        nova_api_models.AggregateHost,
        nova_api_models.AggregateMetadata,
    )
    query = (
        sa.select(host.host, metadata.key, metadata.value)
        .join(metadata, metadata.aggregate_id == host.aggregate_id)
        .where(metadata.key.in_(keys))
    )
    if names is not None and len(names) <= MAX_NAMED:
        query = query.where(host.host.in_(names))
    return context.session.execute(query).all()


class Domains:
    """The domains of hosts; each host is read once.

    :param levels: the levels to read
    """

    def __init__(self, context, levels):
        self._context = context
        self._levels = [level for level in levels if level != 'host']
        self._by_host = {}

    def read_all(self):
        """Read the domains of all hosts."""
        self._read(None)

    def of_hosts(self, names):
        """Return {host's name: {level: domain}}, without the level host."""
        unknown = {*names} - self._by_host.keys()
        if unknown:
            self._by_host |= {name: {} for name in unknown}
            self._read(sorted(unknown))
        return {name: self._by_host[name] for name in names}

    def _read(self, names):
        for level, domain_of in (
            read(self._context, self._levels, names).items()
            if self._levels
            else ()
        ):
            for host, domain in domain_of.items():
                self._by_host.setdefault(host, {})[level] = domain


def _keys():
    """Return {level: aggregate metadata key}, without the level host."""
    return {**vrt.aggregate_keys(CONF), 'zone': ZONE_KEY}


def _of_aggregates(host, aggregates):
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
