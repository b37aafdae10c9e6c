# SPDX-License-Identifier: Apache-2.0
"""Problem without the hosts that policies exclude for some members."""

import dataclasses

import numpy as np


def without_excluded(problem, arrays, demands):
    """Return the problem with classes that omit excluded hosts.

    It has the same plans. Demands of several classes keep their hosts.

    :param problem: problems.Problem
    :param arrays: host_arrays.HostArrays of it
    :param demands: member set path -> demands.Demand
    """
    classes = dict(problem.classes)
    names = {}
    name_of = {}
    for path, demand in demands.items():
        if demand.has_exclusions and len(demand.classes) == 1:
            numbers = np.flatnonzero(demand.max_alone)
            key = id(demand.classes[0]), numbers.tobytes()
            # A tuple cannot collide with a class name of a problem file.
            name = names.setdefault(key, ('reduced', len(classes)))
            if name not in classes:
                hosts = frozenset(arrays.ids[number] for number in numbers)
                classes[name] = dataclasses.replace(
                    demand.classes[0], hosts=hosts
                )
            name_of[path] = name
    return _with_classes(problem, classes, name_of) if name_of else problem


def _with_classes(problem, classes, name_of):
    """Return the problem with new classes for members of some member sets."""

    def reclassify(member):
        name = name_of.get(member.member_set)
        if name is None or member.path in problem.pinned:
            return member
        return dataclasses.replace(member, spec={'class': name})

    member_sets = tuple(
        dataclasses.replace(
            member_set, members=tuple(map(reclassify, member_set.members))
        )
        for member_set in problem.topology.member_sets
    )
    members = tuple(map(reclassify, problem.topology.members))
    return dataclasses.replace(
        problem,
        classes=classes,
        topology=dataclasses.replace(
            problem.topology, member_sets=member_sets, members=members
        ),
    )
