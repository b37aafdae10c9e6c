# SPDX-License-Identifier: Apache-2.0
"""Upper bound of the preference: each class alone on its best hosts.

A plan that reaches it needs no proof by an integer program, which takes
seconds with thousands of hosts.
"""

import collections
import fractions

import numpy as np

from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations


def find(problem: problems.Problem) -> fractions.Fraction:
    """Return a preference that no plan for all members exceeds."""
    pinned = {
        path: host
        for path, host in problem.pinned.items()
        if path in problem.class_of
    }
    bound = violations.preference(problem, pinned)
    names = collections.Counter(
        member.spec['class']
        for member in problem.topology.members
        if member.path in problem.movable
    )
    for name, count in names.items():
        bound += _of_class(problem, problem.classes[name], count)
    return bound


def _of_class(
    problem: problems.Problem,
    member_class: problems.MemberClass,
    count: int,
) -> fractions.Fraction:
    """Return the bound of some members of a class that are not pinned."""
    arrays = host_arrays.of(problem)
    limits = arrays.max_members(member_class)
    hosts = np.flatnonzero(limits)
    scores = np.array(
        [member_class.scores.get(arrays.ids[n], 0) for n in hosts], np.float64
    )
    bound = fractions.Fraction(0)
    for number in np.argsort(-scores, kind='stable'):
        members = min(count, int(limits[hosts[number]]))
        score = member_class.scores.get(arrays.ids[hosts[number]], 0)
        bound += members * fractions.Fraction(str(score))
        count -= members
        if not count:
            break
    return bound
