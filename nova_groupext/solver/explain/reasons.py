# SPDX-License-Identifier: Apache-2.0
"""Reason for a conflict: the obstacle whose removal allows a plan.

Obstacles are removed one after the other, and stay removed; the last one
before a plan exists is the reason.
"""

from collections.abc import Callable
import dataclasses

from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.explain import feasibility_oracle
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.proofs import capacity_relaxation

#: Free capacity is too small.
CAPACITY = 'vrt.capacity'
#: Foreign consumers are in the way, whatever their size.
FOREIGN = 'vrt.foreign'
#: Too few hosts are allowed to take the members.
HOSTS = 'vrt.hosts'
#: Members with a server, which stay where they are, are in the way.
PINNED = 'vrt.pinned'
#: The policies contradict one another, or the topology of the cloud.
POLICIES = 'vrt.policies'
#: The time ran out before a reason was found.
UNKNOWN = 'vrt.unknown'


def find(
    oracle: feasibility_oracle.Oracle, conflict: minimal_conflict.Conflict
) -> str:
    """Return the reason code of a conflict."""
    problem = assumptions.restrict_to(
        oracle.problem, frozenset(conflict.assumed)
    )
    if fixed.find_violated(problem):
        return PINNED
    for code, remove in _OBSTACLES:
        problem = remove(problem)
        verdict = oracle.find(problem)
        if verdict.plan is not None:
            return code
        if not verdict.is_infeasible:
            return UNKNOWN
    has_policies = any(
        isinstance(each, assumptions.PolicyAssumption)
        for each in conflict.assumed
    )
    return POLICIES if has_policies else HOSTS


def _without_foreign(problem: problems.Problem) -> problems.Problem:
    hosts = {
        name: dataclasses.replace(host, foreign=False)
        for name, host in problem.hosts.items()
    }
    return dataclasses.replace(problem, hosts=hosts)


def _on_all_hosts(problem: problems.Problem) -> problems.Problem:
    anywhere = problems.MemberClass({}, frozenset(problem.hosts), {}, {})
    return dataclasses.replace(
        problem, classes=dict.fromkeys(problem.classes, anywhere)
    )


def _without_pinned(problem: problems.Problem) -> problems.Problem:
    return dataclasses.replace(problem, pinned={})


# Codes, and the functions that remove the obstacle from a problem.
_OBSTACLES: tuple[
    tuple[str, Callable[[problems.Problem], problems.Problem]], ...
] = (
    (CAPACITY, capacity_relaxation.relax_capacity),
    (FOREIGN, _without_foreign),
    (HOSTS, _on_all_hosts),
    (PINNED, _without_pinned),
)
