# SPDX-License-Identifier: Apache-2.0
"""Solver problem of a revision.

The solver assigns one host to each member. A server that is to be resized is
on its host now and may be on another later: the problem asks for the later
one.
"""

import collections
import dataclasses

from nova_groupext.conf import CONF
from nova_groupext.scheduler.look import look
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem


def read(raw, growing, away):
    """Return the Problem of a revision.

    :param raw: what pinning() has returned
    :param growing: {member path: id of its server's host} of the servers that
        are to be resized
    :param away: paths of members that have no host, and get none
    :returns: problems.Problem
    """
    problem = subproblem.without(problems.parse(raw), away, are_coming=False)
    return subproblem.apart(
        problem,
        {
            path: _growing(problem.class_of[path], home)
            for path, home in growing.items()
            if path not in problem.pinned
        },
    )


def pinning(raw, held, growing):
    """Return the problem with some holds fixed to their hosts.

    :param raw: problem of DESIGN section 5, with the group's servers pinned
        and the capacity of its holds free
    :param held: {member path: VRTHold} to be fixed
    :param growing: paths of servers that are to be resized: their reservations
        are fixed instead of their present hosts
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
    """Return a server's class that prefers its present host, if allowed.

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
