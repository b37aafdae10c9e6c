# SPDX-License-Identifier: Apache-2.0
"""Would Nova really put the members there, one after the other?

The planner knows capacity and policies; the operator's filters know the rest,
and some look at what a host got a moment ago. So they are asked about every
member, on its host, with the members placed there before it consumed.
"""

from oslo_utils import uuidutils


def rehearse(snapshot, placement):
    """Return the (class name, host id) pairs that Nova's filters refuse.

    The snapshot's hosts are used up by this: look again before deciding
    again.

    :param placement: as VRTPlan has it
    """
    refused = set()
    for path, seat in sorted(placement.items()):
        member_class = snapshot.class_of_member(path)
        pair = (member_class.name, seat['node'])
        if pair not in refused and not _try(snapshot, member_class, seat):
            refused.add(pair)
    return refused


def _try(snapshot, member_class, seat):
    host = snapshot.hosts[seat['node']]
    host.allocation_candidates = [
        {'allocations': seat['allocations'], 'mappings': seat['mappings']}
    ]
    spec = member_class.spec
    spec.instance_uuid = uuidutils.generate_uuid()
    if not snapshot.host_manager.get_filtered_hosts([host], spec):
        return False
    host.consume_from_request(spec)
    return True
