# SPDX-License-Identifier: Apache-2.0
"""Would Nova really put the members there, one after the other?

The planner knows capacity and policies; the operator's filters know the rest,
and some look at what a host got a moment ago. So they are asked about every
member, on its host, with the members placed there before it consumed.

The hosts are read anew: deciding takes time, in which computes give signs of
life, are disabled, or get other servers.
"""

from oslo_utils import uuidutils

from nova_groupext.scheduler.look import hosts


def rehearse(context, snapshot, placement, go_on):
    """Return the (class name, host id) pairs that Nova's filters refuse.

    A host that is not there any more, or whose cell does not answer, is
    refused, too.

    :param snapshot: look.Snapshot, for the classes and what they ask for
    :param placement: as VRTPlan has it
    :param go_on: called before each member; raises when there is no time
    """
    manager = hosts.HostManager()
    uuids = {seat['provider'] for seat in placement.values()}
    now = manager.all_hosts(context, sorted(uuids))
    refused = set()
    for path, seat in sorted(placement.items()):
        go_on()
        member_class = snapshot.class_of_member(path)
        pair = (member_class.name, seat['node'])
        host = now.get(seat['node'])
        if pair not in refused and not _try(manager, host, member_class, seat):
            refused.add(pair)
    return refused


def _try(manager, host, member_class, seat):
    if host is None:
        return False
    host.allocation_candidates = [
        {'allocations': seat['allocations'], 'mappings': seat['mappings']}
    ]
    spec = member_class.spec
    spec.instance_uuid = uuidutils.generate_uuid()
    if not manager.get_filtered_hosts([host], spec):
        return False
    host.consume_from_request(spec)
    return True
