# SPDX-License-Identifier: Apache-2.0
"""The question that a revision asks the planner.

The planner puts every member on one host. A server that is to be resized is
on its host and will be on another: what is asked for is where it will be.
"""

import collections
import dataclasses

from nova_groupext.conf import CONF
from nova_groupext.planner import problem as planner_problem
from nova_groupext.planner import subproblem
from nova_groupext.scheduler.look import look


def read(raw, growing, away):
    """Return the Problem of a revision.

    :param raw: what pinning() has returned
    :param growing: {member path: id of its server's host} of the servers
        that are to be resized
    :param away: paths of members that have no place, and get none
    :returns: problem.Problem
    """
    problem = subproblem.without(
        planner_problem.parse(raw), away, are_coming=False
    )
    return subproblem.apart(
        problem,
        {
            path: _growing(problem.class_of[path], home)
            for path, home in growing.items()
            if path not in problem.pinned
        },
    )


def pinning(raw, held, growing):
    """Return the problem in which what is held stays where it is.

    :param raw: problem of DESIGN section 5, with the group's servers pinned
        and all that it holds free
    :param held: {member path: VRTHold}
    :param growing: members whose servers are to be resized: not these are
        pinned, but what is held for that
    """
    taken = collections.defaultdict(collections.Counter)
    for hold in held.values():
        for provider, allocation in hold.allocations.items():
            for name, amount in allocation['resources'].items():
                resource = look.resource_name(
                    name, provider, hold.provider_uuid
                )
                taken[hold.node][resource] += amount
    servers = {
        path: node
        for path, node in raw['pinned'].items()
        if path not in growing
    }
    return {
        **raw,
        'hosts': [
            {**host, 'free': _less(host.get('free', {}), taken[host['id']])}
            for host in raw['hosts']
        ],
        'pinned': {
            **servers,
            **{path: hold.node for path, hold in held.items()},
        },
    }


def _less(amounts, taken):
    return {name: amount - taken[name] for name, amount in amounts.items()}


def _growing(member_class, home):
    """Return the class of a server: it had rather stay, if it may.

    :param home: id of the host that it is on
    """
    best = max(member_class.scores.values(), default=0)
    hosts = member_class.hosts
    if not CONF.allow_resize_to_same_host:
        hosts -= {home}
    return dataclasses.replace(
        member_class,
        hosts=hosts,
        scores={**member_class.scores, home: best + 1},
    )
