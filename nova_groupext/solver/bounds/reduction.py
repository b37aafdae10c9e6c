# SPDX-License-Identifier: Apache-2.0
"""Problem without the hosts that policies exclude for some members."""

from collections.abc import Mapping
import dataclasses
import itertools

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.bounds import demands
from nova_groupext.solver.language import topology
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.problems import ClassName


def without_excluded(
    problem: problems.Problem,
    arrays: host_arrays.HostArrays,
    demand_of: Mapping[Path, demands.Demand],
) -> problems.Problem:
    """Return the problem with classes that omit excluded hosts.

    It has the same plans. Demands of several classes keep their hosts.

    :param demand_of: demands of the member sets
    """
    classes = dict(problem.classes)
    names: dict[tuple[int, bytes], ClassName] = {}
    name_of: dict[Path, ClassName] = {}
    for path, demand in demand_of.items():
        if demand.has_exclusions and len(demand.classes) == 1:
            is_left = demand.max_alone > 0
            key = id(demand.classes[0]), is_left.tobytes()
            # A tuple cannot collide with a class name of a problem file.
            name = names.setdefault(key, ('reduced', len(classes)))
            if name not in classes:
                hosts = frozenset(itertools.compress(arrays.ids, is_left))
                classes[name] = dataclasses.replace(
                    demand.classes[0], hosts=hosts
                )
            name_of[path] = name
    return _with_classes(problem, classes, name_of) if name_of else problem


def _with_classes(
    problem: problems.Problem,
    classes: dict[ClassName, problems.MemberClass],
    name_of: Mapping[Path, ClassName],
) -> problems.Problem:
    """Return the problem with new classes for members of some member sets."""

    def reclassify(member: topology.Member) -> topology.Member:
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
