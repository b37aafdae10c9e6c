# SPDX-License-Identifier: Apache-2.0
"""A look at the cloud as anybody would write it: Nova's way, class by class.

Each class of members asks Placement, loads the hosts, and runs filters and
weighers, as Nova's scheduler does for a server.
"""

import dataclasses

from nova.scheduler import request_filter
from nova.scheduler import utils


@dataclasses.dataclass(frozen=True)
class Found:
    """Candidates that Nova offers to one class of members.

    :ivar candidates: {host: its allocation requests}
    :ivar scores: {host: sum of the weighers}
    """

    candidates: dict
    scores: dict


def look(context, manager, spec):
    """Return what is Found for one server.

    :param manager: Nova's SchedulerManager
    :param spec: RequestSpec
    """
    request_filter.process_reqspec(context, spec)
    resources = utils.resources_from_request_spec(
        context, spec, manager.host_manager
    )
    # A plan has to know all hosts.
    resources._limit = None
    requests, summaries, _version = (
        manager.placement_client.get_allocation_candidates(context, resources)
    )
    requests_of = {}
    for request in requests or ():
        for provider in request['allocations']:
            root = summaries[provider]['root_provider_uuid']
            if request not in requests_of.setdefault(root, []):
                requests_of[root].append(request)
    hosts = [
        *manager._get_all_host_states(context.elevated(), spec, requests_of)
    ]
    for host in hosts:
        host.allocation_candidates = requests_of[host.uuid]
    passed = manager.host_manager.get_filtered_hosts(hosts, spec)
    weighed = manager.host_manager.get_weighed_hosts(passed, spec)
    return Found(
        candidates={
            host.obj.nodename: host.obj.allocation_candidates
            for host in weighed
        },
        scores={host.obj.nodename: host.weight for host in weighed},
    )
