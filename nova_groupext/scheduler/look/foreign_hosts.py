# SPDX-License-Identifier: Apache-2.0
"""The hosts with consumers from outside of an exclusive group.

Placement lists the consumers of one provider per request. Most hosts need no
request: Nova's servers, the holds of other groups, and the usage of candidates
suffice.
"""

import collections

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.scheduler.placement import concurrent_reads
from nova_groupext.scheduler.placement import overcommitment


def find(context, group, placement_client, check_deadline, reading, used):
    """Return the ids of the hosts with foreign consumers.

    Hosts that share no domain with those that members are or may be on may be
    missing: policies do not ask for these.

    :param check_deadline: called before each result; raises OutOfTime
    :param reading: kept_reading.Reading
    :param used: ids of the hosts that members may be on
    :raises: PlacementUnavailable, OutOfTime
    """
    if not group.is_exclusive:
        return frozenset()
    # The draft shares the consumers of the group that it revises.
    owner_id = group.revises_id or group.id
    own_servers = VRTMember.server_uuids(context, owner_id)
    of_others = set()
    for row in VRTHold.list_locations(context):
        if row.group_id == owner_id:
            used = used | {row.node}
        elif row.status != states.Hold.REDEEMED:
            # Of a server, the row may be older than what Nova knows.
            of_others.add(row.node)
    foreign, uncertain = _classify(reading, own_servers, of_others)
    uncertain &= _in_same_domains(group, reading.hosts, used)
    usages = concurrent_reads.read_each(
        *(context, check_deadline, placement_client.usages),
        [reading.hosts[host_id].uuid for host_id in sorted(uncertain)],
    )
    return foreign | {
        reading.host_ids[provider]
        for provider, consumers in usages.items()
        if overcommitment.foreign_consumers(context, owner_id, consumers or {})
    }


def _classify(reading, own_servers, of_others):
    """Return the ids of hosts that others use, and that they may use.

    :param of_others: ids of hosts that have holds of other groups
    """
    # Nova knows the servers of a service, which may have several nodes.
    node_count = collections.Counter(
        host.host for host in reading.hosts.values()
    )
    foreign, uncertain = set(), set()
    for host_id, host in reading.hosts.items():
        has_others = (
            node_count[host.host] == 1 and host.instances.keys() - own_servers
        )
        if host_id in of_others or has_others:
            foreign.add(host_id)
        elif not _is_empty(reading, host.uuid):
            uncertain.add(host_id)
    return foreign, uncertain


def _is_empty(reading, provider):
    """Check whether Placement's summary shows no usage of a host."""
    summary = reading.summaries.get(provider)
    return summary is not None and not any(
        each['used'] for each in summary['resources'].values()
    )


def _in_same_domains(group, hosts, used):
    """Return the ids of the hosts that share a domain with hosts in use.

    :param hosts: {host id: HostState}
    """
    scopes = {
        policy.scope
        for policy in definition.read(group).policies
        if policy.is_exclusive
    } - {'host'}
    if not scopes:
        return used
    domains_of = {
        host_id: host_domains.of_state(host) for host_id, host in hosts.items()
    }
    in_use = {
        (scope, domains_of[host_id].get(scope))
        for scope in scopes
        for host_id in used & hosts.keys()
    }
    return used | {
        host_id
        for host_id, domains in domains_of.items()
        if not in_use.isdisjoint(
            (scope, domains.get(scope)) for scope in scopes
        )
    }
