# SPDX-License-Identifier: Apache-2.0
"""Problem without the hosts that policies exclude for some members."""

import dataclasses

import numpy as np


def narrow(problem, cloud, crowds):
    """Return the problem with classes that omit excluded hosts.

    It has the same plans. Demands of several classes keep their hosts.

    :param problem: problems.Problem
    :param cloud: host_arrays.HostArrays of it
    :param crowds: stem path -> demand.Demand
    """
    classes = dict(problem.classes)
    names = {}
    name_of = {}
    for path, crowd in crowds.items():
        if crowd.is_narrowed and len(crowd.classes) == 1:
            numbers = np.flatnonzero(crowd.fits)
            key = id(crowd.classes[0]), numbers.tobytes()
            # A tuple cannot collide with a class name of a problem file.
            name = names.setdefault(key, ('narrowed', len(classes)))
            if name not in classes:
                hosts = frozenset(cloud.ids[number] for number in numbers)
                classes[name] = dataclasses.replace(
                    crowd.classes[0], hosts=hosts
                )
            name_of[path] = name
    return _with_classes(problem, classes, name_of) if name_of else problem


def _with_classes(problem, classes, name_of):
    """Return the problem with new classes for members of some stems."""

    def change(member):
        name = name_of.get(member.stem)
        if name is None or member.path in problem.pinned:
            return member
        return dataclasses.replace(member, spec={'class': name})

    stems = tuple(
        dataclasses.replace(stem, members=tuple(map(change, stem.members)))
        for stem in problem.topology.stems
    )
    members = tuple(map(change, problem.topology.members))
    return dataclasses.replace(
        problem,
        classes=classes,
        topology=dataclasses.replace(
            problem.topology, stems=stems, members=members
        ),
    )
