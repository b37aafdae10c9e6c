# SPDX-License-Identifier: Apache-2.0
"""Solver problem of a revision.

The solver assigns one host to each member. A server that is to be resized is
on its host now and may be on another later: the problem asks for the later
one.
"""

import collections
import dataclasses

from nova_groupext.conf import CONF
from nova_groupext.scheduler.look import solver_problem
from nova_groupext.solver.model import subproblem


def pin(problem, held, resizing):
    """Return the problem with some holds fixed to their hosts.

    :param problem: problems.Problem, with the group's servers pinned and the
        capacity of its holds free
    :param held: {member path: VRTHold} to be fixed
    :param resizing: paths of servers that are to be resized: their
        reservations are fixed instead of their present hosts
    """
    fixed = collections.defaultdict(collections.Counter)
    for hold in held.values():
        for provider, allocation in hold.allocations.items():
            for name, amount in allocation['resources'].items():
                resource = solver_problem.resource_name(
                    name, provider, hold.provider_uuid
                )
                fixed[hold.node][resource] += amount
    pinned = {
        path: node
        for path, node in problem.pinned.items()
        if path not in resizing
    }
    nodes = {path: held[path].node for path in sorted(held)}
    return dataclasses.replace(
        problem,
        hosts=subproblem.without_used(problem.hosts, fixed),
        pinned={**pinned, **nodes},
    )


def build(problem, resizing, without_host):
    """Return the problem with a class of its own for each resized server.

    :param problem: as pin() returns it
    :param resizing: {member path: id of its server's host} of the servers
        that are to be resized
    :param without_host: paths of members that have no host, and get none
    """
    problem = subproblem.remove_members(
        problem, without_host, are_placed_later=False
    )
    return subproblem.separate_classes(
        problem,
        {
            path: _with_present_host(problem.class_of[path], present)
            for path, present in resizing.items()
            if path not in problem.pinned
        },
    )


def _with_present_host(member_class, present):
    """Return a server's class that prefers its present host, if allowed.

    :param present: id of the host that it is on
    """
    best = max(member_class.scores.values(), default=0)
    hosts = member_class.hosts
    if not CONF.allow_resize_to_same_host:
        hosts -= {present}
    return dataclasses.replace(
        member_class,
        hosts=hosts,
        scores={**member_class.scores, present: best + 1},
    )
