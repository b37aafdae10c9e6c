# SPDX-License-Identifier: Apache-2.0
"""A problem without the hosts that policies rule out for some members."""

import dataclasses

import numpy as np


def narrow(problem, cloud, crowds):
    """The problem with classes that leave these hosts out.

    It has the same plans.

    :param problem: problem.Problem
    :param cloud: clouds.Cloud of it
    :param crowds: stem path -> crowds.Crowd
    """
    classes = dict(problem.classes)
    names = {}
    name_of = {}
    for path, crowd in crowds.items():
        if crowd.is_narrowed and len(crowd.classes) == 1:
            numbers = np.flatnonzero(crowd.fits)
            key = id(crowd.classes[0]), numbers.tobytes()
            # No class of any problem file has a name like this.
            name = names.setdefault(key, ('narrowed', len(classes)))
            if name not in classes:
                hosts = frozenset(cloud.ids[number] for number in numbers)
                classes[name] = dataclasses.replace(
                    crowd.classes[0], hosts=hosts
                )
            name_of[path] = name
    return _with_classes(problem, classes, name_of) if name_of else problem


def _with_classes(problem, classes, name_of):
    """The problem with other classes for the members of some stems."""

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
