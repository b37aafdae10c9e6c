# SPDX-License-Identifier: Apache-2.0
"""Answers of the solver: placed, refused (proved) and undecided."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import fractions
from typing import TypeVar
from typing import Unpack

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import JsonObject
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base

_Value = TypeVar('_Value')


@dataclasses.dataclass(frozen=True)
class Answer:
    """Decision about a problem, with the keys of the answer file.

    :ivar alternative: index of the request used, see violations.Plan
    :ivar unplaced: members left out
    :ivar cost: None without a plan
    :ivar violations: violated soft policies
    :ivar conflict: policies and member sets that exclude one another
    :ivar minimal: True if every entry of the conflict is necessary
    :ivar reason: None if not refused
    :ivar relaxations: changes after which the problem has a plan
    """

    status: answer_parts.Status
    placement: dict[Path, HostId] = dataclasses.field(default_factory=dict)
    alternative: dict[Path, int] = dataclasses.field(default_factory=dict)
    unplaced: list[Path] = dataclasses.field(default_factory=list)
    cost: answer_parts.Cost | None = None
    violations: list[answer_parts.PolicyCost] = dataclasses.field(
        default_factory=list
    )
    conflict: list[answer_parts.ConflictItem] = dataclasses.field(
        default_factory=list
    )
    minimal: bool = True
    reason: answer_parts.Reason | None = None
    relaxations: list[answer_parts.RelaxationEntry] = dataclasses.field(
        default_factory=list
    )
    stats: answer_parts.Stats = dataclasses.field(
        default_factory=answer_parts.Stats
    )

    def to_dict(self) -> JsonObject:
        """Return the answer file as a JSON value."""
        return dataclasses.asdict(self)

    def with_stats(self, **stats: Unpack[answer_parts.Stats]) -> 'Answer':
        """Return the answer with some stats set."""
        return dataclasses.replace(self, stats={**self.stats, **stats})


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Content of a refused answer, under the names of Answer.

    :ivar is_cut_short: whether more time might improve any of these
    """

    conflict: list[answer_parts.ConflictItem]
    minimal: bool
    reason: answer_parts.Reason
    relaxations: list[answer_parts.RelaxationEntry]
    is_cut_short: bool


def placed(
    problem: problems.Problem,
    plan: violations.Plan,
    bound: fractions.Fraction,
    stats: answer_parts.Stats,
) -> Answer:
    """Return the answer for a feasible plan.

    :param bound: proven least soft cost for this many members, and for this
        many on their current hosts if that counts
    """
    costs = violations.costs(problem, plan.placement)
    members = problem.own_members
    cost: answer_parts.Cost = {
        'soft': float(violations.soft_cost(problem, plan.placement)),
        'bound': float(bound),
        'preference': float(violations.preference(problem, plan.placement)),
    }
    if problem.current:
        cost['changes'] = violations.count_changes(problem, plan.placement)
    return Answer(
        'placed',
        placement=_in_order(plan.placement, members),
        alternative=_in_order(plan.alternative, members),
        unplaced=[path for path in members if path not in plan.placement],
        cost=cost,
        violations=[
            {'at': p.at, 'policy': identify(p), 'cost': float(cost)}
            for p, cost in costs.items()
        ],
        stats=stats,
    )


def refused(refusal: Refusal, stats: answer_parts.Stats) -> Answer:
    """Return the answer for a proved and explained refusal."""
    return Answer(
        'refused',
        conflict=refusal.conflict,
        minimal=refusal.minimal,
        reason=refusal.reason,
        relaxations=refusal.relaxations,
        stats={**stats, 'cut_short': refusal.is_cut_short},
    )


def undecided(stats: answer_parts.Stats) -> Answer:
    """Return the answer without a plan or a proof that there is none."""
    return Answer('undecided', stats=stats)


def identify(policy: base.Policy) -> answer_parts.PolicyId:
    """Return what identifies a policy at its path."""
    return {'type': policy.type, 'scope': policy.scope}


def _in_order(
    by_path: Mapping[Path, _Value], members: Iterable[Path]
) -> dict[Path, _Value]:
    return {path: by_path[path] for path in members if path in by_path}
