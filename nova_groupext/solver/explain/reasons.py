# SPDX-License-Identifier: Apache-2.0
"""Reason for a conflict: the obstacle whose removal allows a plan.

Obstacles are removed one after the other, and stay removed; the last one
before a plan exists is the reason.
"""

import dataclasses

from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.proofs import capacity_relaxation

#: Free capacity is too small.
CAPACITY = 'vrt.capacity'
#: Foreign consumers are in the way, whatever their size.
OCCUPIED = 'vrt.occupied'
#: Too few hosts are allowed to take the members.
HOSTS = 'vrt.hosts'
#: Members with a server, which stay where they are, are in the way.
PINNED = 'vrt.pinned'
#: The policies contradict one another, or the topology of the cloud.
POLICIES = 'vrt.policies'
#: The time ran out before a reason was found.
UNKNOWN = 'vrt.conflict'


def find(questions, core):
    """Return the reason code of a conflict.

    :param questions: feasibility_oracle.Oracle of the problem
    :param core: minimal_conflict.Conflict of the problem
    """
    problem = assumptions.restrict_to(questions.problem, frozenset(core.tags))
    if fixed.broken(problem):
        return PINNED
    for code, lift in _OBSTACLES:
        problem = lift(problem)
        verdict = questions.find(problem)
        if verdict.plan is not None:
            return code
        if not verdict.is_impossible:
            return UNKNOWN
    has_rules = any(
        isinstance(each, assumptions.PolicyAssumption) for each in core.tags
    )
    return POLICIES if has_rules else HOSTS


def _without_others(problem):
    hosts = {
        name: dataclasses.replace(host, foreign=False)
        for name, host in problem.hosts.items()
    }
    return dataclasses.replace(problem, hosts=hosts)


def _on_all_hosts(problem):
    anywhere = problems.MemberClass({}, frozenset(problem.hosts), {}, {})
    return _with_classes(problem, dict.fromkeys(problem.classes, anywhere))


def _without_pins(problem):
    return dataclasses.replace(problem, pinned={})


def _with_classes(problem, classes):
    return dataclasses.replace(problem, classes=classes)


_OBSTACLES = (
    (CAPACITY, capacity_relaxation.relax_capacity),
    (OCCUPIED, _without_others),
    (HOSTS, _on_all_hosts),
    (PINNED, _without_pins),
)
