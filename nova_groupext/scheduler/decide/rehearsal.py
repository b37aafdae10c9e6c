# SPDX-License-Identifier: Apache-2.0
"""Rehearsal of a plan with Nova's filters, one member after the other.

The solver knows capacity and policies; the operator's filters know the rest,
and some depend on what a host received just before. So each member is tested
on its planned host, after the members before it were consumed there.

Hosts are read again: while the solver ran, computes may have gone down, been
disabled, or received other servers.
"""

from oslo_utils import uuidutils

from nova_groupext.scheduler.nova import hosts


def rehearse(context, snapshot, placement, check_deadline):
    """Return the (class name, host id) pairs that Nova's filters refuse.

    A host that no longer exists, or whose cell does not answer, counts as
    refused.

    :param snapshot: snapshot.Snapshot, for the classes and their RequestSpecs
    :param placement: as in VRTPlan
    :param check_deadline: called before each member; raises OutOfTime
    """
    manager = hosts.HostManager()
    uuids = {entry['provider'] for entry in placement.values()}
    hosts_now = manager.all_hosts(context, sorted(uuids))
    refused = set()
    for path, entry in sorted(placement.items()):
        check_deadline()
        member_class = snapshot.class_of_member(path)
        pair = (member_class.name, entry['node'])
        host = hosts_now.get(entry['node'])
        if pair not in refused and not _try(
            manager, host, member_class, entry
        ):
            refused.add(pair)
    return refused


def _try(manager, host, member_class, entry):
    if host is None:
        return False
    host.allocation_candidates = [
        {'allocations': entry['allocations'], 'mappings': entry['mappings']}
    ]
    spec = member_class.spec
    spec.instance_uuid = uuidutils.generate_uuid()
    if not manager.get_filtered_hosts([host], spec):
        return False
    host.consume_from_request(spec)
    return True
