# SPDX-License-Identifier: Apache-2.0
"""Violations and costs of a given plan.

Every policy type defines its violation, a whole number before weights. These
definitions are independent of every search: a plan leaves the solver only if
they accept it.

A placement meets a strict policy exactly when the violation is 0 and the host
of every covered placed member has a domain of the policy's scope.
"""

import collections
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Set
import dataclasses
import fractions
from typing import NamedTuple

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import view


@dataclasses.dataclass(frozen=True)
class Plan:
    """Assignment of members to hosts.

    :ivar placement: hosts of members, also of pinned ones and outsiders
    :ivar alternative: index of the request used, for members on a host where
        their class has alternatives
    """

    placement: dict[Path, HostId]
    alternative: dict[Path, int]

    def only(self, paths: Container[Path]) -> 'Plan':
        """Return the plan of some of the members."""
        placement, alternative = self.placement, self.alternative
        return Plan(
            {path: host for path, host in placement.items() if path in paths},
            {path: n for path, n in alternative.items() if path in paths},
        )

    def without(self, paths: Set[Path]) -> 'Plan':
        """Return the plan of all but some members."""
        return self.only(self.placement.keys() - paths)


class Objective(NamedTuple):
    """Objective vector: a better plan has a greater one.

    :ivar members: number of placed members, pinned ones included
    :ivar kept: minus the number of members that may stay where they are and do
        not, 0 if it does not count
    :ivar saving: minus the exact soft cost
    :ivar preference: exact sum of the operator's scores
    """

    members: int
    kept: int
    saving: fractions.Fraction
    preference: fractions.Fraction


def as_plan(
    problem: problems.Problem,
    placement: dict[Path, HostId],
    alternative: dict[Path, int],
) -> Plan:
    """Return the plan of an answer, with the outsiders that it omits."""
    return Plan({**problem.outsiders, **placement}, alternative)


@dataclasses.dataclass(frozen=True)
class Violation:
    """One reason why a plan is infeasible.

    :ivar code: stable reason code, ``vrt.spread``
    :ivar at: path of the member, member set or policy, or id of the
        overloaded host
    """

    code: str
    at: Path | HostId


def find(problem: problems.Problem, plan: Plan) -> list[Violation]:
    """Return all violations of a plan, an empty list if it is feasible."""
    return [
        *_placement_violations(problem, plan),
        *_capacity_violations(problem, plan),
        *_count_violations(problem, plan),
        *(
            of_policy(policy)
            for policy in problem.topology.policies
            if policy.strict and is_violated(problem, policy, plan.placement)
        ),
    ]


def of_policy(policy: base.Policy) -> Violation:
    """Return the violation of a policy."""
    return Violation(code(policy.type), policy.at)


def code(policy_type: str) -> str:
    """Return the reason code of a policy type."""
    return f'vrt.{policy_type}'


def is_violated(
    problem: problems.Problem,
    policy: base.Policy,
    placement: Mapping[Path, HostId],
) -> bool:
    """Check whether a placement violates a policy, taken as strict."""
    seen = view.View(problem, policy, placement)
    return None in seen.counts or policy.violation(seen) > 0


def amount(
    problem: problems.Problem,
    policy: base.Policy,
    placement: Mapping[Path, HostId],
) -> int:
    """Return a policy's violation, before its unit cost."""
    return policy.violation(view.View(problem, policy, placement))


def count(
    problem: problems.Problem,
    policy: base.Policy,
    placement: Mapping[Path, HostId],
) -> collections.Counter[Domain | None]:
    """Count the placed members by domain, None for hosts without one."""
    return view.View(problem, policy, placement).counts


def costs(
    problem: problems.Problem, placement: Mapping[Path, HostId]
) -> dict[base.Policy, fractions.Fraction]:
    """Return the exact costs above 0 of soft policies."""
    positive: dict[base.Policy, fractions.Fraction] = {}
    amounts: dict[base.Policy, int] = {}
    for policy in problem.topology.policies:
        if not policy.strict:
            key = policy.violation_key
            if key not in amounts:
                amounts[key] = amount(problem, policy, placement)
            cost = policy.unit_cost * amounts[key]
            if cost:
                positive[policy] = cost
    return positive


def soft_cost(
    problem: problems.Problem, placement: Mapping[Path, HostId]
) -> fractions.Fraction:
    """Return the exact sum of all soft costs."""
    return sum(costs(problem, placement).values(), fractions.Fraction(0))


def preference(
    problem: problems.Problem, placement: Mapping[Path, HostId]
) -> fractions.Fraction:
    """Return the exact sum of the operator's scores over all members."""
    scores = (
        problem.class_of[path].scores.get(host_id, 0)
        for path, host_id in placement.items()
    )
    exact = (fractions.Fraction(str(score)) for score in scores)
    return sum(exact, fractions.Fraction(0))


def count_changes(
    problem: problems.Problem, placement: Mapping[Path, HostId]
) -> int:
    """Return the number of members that are not on their current host."""
    own = problem.current.keys() & problem.class_of
    return _count_moved(placement, {p: problem.current[p] for p in own})


def _count_moved(
    placement: Mapping[Path, HostId], current: Mapping[Path, HostId]
) -> int:
    return sum(placement.get(path) != host for path, host in current.items())


def usage(
    problem: problems.Problem, plan: Plan, paths: Iterable[Path]
) -> collections.defaultdict[HostId, collections.Counter[str]]:
    """Return the amounts that some placed members use, by host."""
    used = collections.defaultdict[HostId, collections.Counter[str]](
        collections.Counter
    )
    for path in paths:
        host_id = plan.placement[path]
        options = problem.class_of[path].options(host_id)
        used[host_id].update(options[plan.alternative.get(path, 0)])
    return used


def objective(problem: problems.Problem, plan: Plan) -> Objective:
    """Return the objective vector of a plan."""
    placement = plan.placement
    return Objective(
        len(placement),
        -_count_moved(placement, problem.may_stay)
        if problem.keeps_current
        else 0,
        -soft_cost(problem, placement),
        preference(problem, placement),
    )


def _placement_violations(
    problem: problems.Problem, plan: Plan
) -> Iterator[Violation]:
    """Yield violations for members on hosts that they may not use."""
    for path, host_id in plan.placement.items():
        if path in problem.pinned:
            if host_id != problem.pinned[path]:
                yield Violation('vrt.pinned', path)
        elif host_id not in problem.class_of[path].hosts:
            yield Violation('vrt.hosts', path)
    for path in problem.pinned.keys() - plan.placement.keys():
        yield Violation('vrt.pinned', path)


def _capacity_violations(
    problem: problems.Problem, plan: Plan
) -> Iterator[Violation]:
    """Yield violations for hosts without enough capacity."""
    unpinned = (p for p in plan.placement if p not in problem.pinned)
    for host_id, amounts in usage(problem, plan, unpinned).items():
        free = problem.hosts[host_id].free
        if any(amount > free.get(r, 0) for r, amount in amounts.items()):
            yield Violation('vrt.capacity', host_id)


def _count_violations(
    problem: problems.Problem, plan: Plan
) -> Iterator[Violation]:
    """Yield violations for member sets with too few placed members."""
    for member_set in problem.topology.member_sets:
        placed = sum(m.path in plan.placement for m in member_set.members)
        if placed < member_set.min_count:
            yield Violation('vrt.members', member_set.path)
