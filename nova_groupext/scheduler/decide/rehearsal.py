# SPDX-License-Identifier: Apache-2.0
"""Rehearsal of a plan with Nova's filters, one member after the other.

The solver knows capacity and policies; the operator's filters know the rest,
and some depend on what a host received just before. So each member is tested
on its planned host, after the members before it were consumed there.

Hosts are read again: while the solver ran, computes may have gone down, been
disabled, or received other servers. Aggregates are those of the snapshot.
"""

from oslo_utils import uuidutils


def rehearse(context, snapshot, placements, check_deadline):
    """Return the (class name, host id) pairs that Nova's filters refuse.

    A host that no longer exists, or whose cell does not answer, counts as
    refused.

    :param snapshot: snapshot.Snapshot, for the classes and their RequestSpecs
    :param placements: {path: MemberPlacement}
    :param check_deadline: called before each member; raises OutOfTime
    """
    manager = snapshot.host_manager.separate()
    uuids = {each.provider for each in placements.values()}
    hosts_now = manager.all_hosts(context, sorted(uuids))
    refused = set()
    for path in sorted(placements):
        check_deadline()
        placement = placements[path]
        member_class = snapshot.class_of_member(path)
        pair = (member_class.name, placement.node)
        host = hosts_now.get(placement.node)
        if pair not in refused and not _try(
            manager, host, member_class, placement
        ):
            refused.add(pair)
    return refused


def _try(manager, host, member_class, placement):
    if host is None:
        return False
    host.allocation_candidates = [
        {
            'allocations': placement.allocations,
            'mappings': placement.mappings,
        }
    ]
    spec = member_class.spec
    spec.instance_uuid = uuidutils.generate_uuid()
    if not manager.get_filtered_hosts([host], spec):
        return False
    host.consume_from_request(spec)
    return True
