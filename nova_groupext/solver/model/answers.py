# SPDX-License-Identifier: Apache-2.0
"""Answers of the solver: placed, refused (proved) and undecided."""

import dataclasses

from nova_groupext.solver.model import violations


@dataclasses.dataclass(frozen=True)
class Answer:
    """Decision about a problem, with the keys of the answer file.

    :ivar status: 'placed', 'refused' or 'undecided'
    :ivar placement: member path -> host id
    :ivar alternative: member path -> index of the request used
    :ivar unplaced: paths of the members left out
    :ivar cost: soft, its proven bound, and preference; None without a plan
    :ivar violations: violated soft policies, each with its cost
    :ivar conflict: policies and member sets that exclude one another
    :ivar minimal: True if every entry of the conflict is necessary
    :ivar reason: code and text of a refusal; None if not refused
    :ivar relaxations: changes after which the problem has a plan
    :ivar stats: seconds, stage, cut_short, more; a reason after a failure
    """

    status: str
    placement: dict = dataclasses.field(default_factory=dict)
    alternative: dict = dataclasses.field(default_factory=dict)
    unplaced: list = dataclasses.field(default_factory=list)
    cost: dict | None = None
    violations: list = dataclasses.field(default_factory=list)
    conflict: list = dataclasses.field(default_factory=list)
    minimal: bool = True
    reason: dict | None = None
    relaxations: list = dataclasses.field(default_factory=list)
    stats: dict = dataclasses.field(default_factory=dict)

    def to_dict(self):
        """Return the answer file as a JSON value."""
        return dataclasses.asdict(self)

    def with_stats(self, **stats):
        """Return the answer with some stats set."""
        return dataclasses.replace(self, stats={**self.stats, **stats})


def placed(problem, plan, bound, stats):
    """Return the answer for a feasible plan.

    :param plan: violations.Plan
    :param bound: Fraction, proven least soft cost for this many members
    """
    costs = violations.costs(problem, plan.placement)
    members = problem.own_members
    return Answer(
        'placed',
        placement=_in_order(plan.placement, members),
        alternative=_in_order(plan.alternative, members),
        unplaced=[path for path in members if path not in plan.placement],
        cost={
            'soft': float(violations.soft_cost(problem, plan.placement)),
            'bound': float(bound),
            'preference': float(
                violations.preference(problem, plan.placement)
            ),
        },
        violations=[
            {'at': p.at, 'policy': identify(p), 'cost': float(cost)}
            for p, cost in costs.items()
        ],
        stats=stats,
    )


def refused(refusal, stats):
    """Return the answer for a proved and explained refusal.

    :param refusal: explain.Refusal
    """
    return Answer(
        'refused',
        conflict=refusal.conflict,
        minimal=refusal.minimal,
        reason=refusal.reason,
        relaxations=refusal.relaxations,
        stats={**stats, 'cut_short': refusal.is_cut_short},
    )


def undecided(stats):
    """Return the answer without a plan or a proof that there is none."""
    return Answer('undecided', stats=stats)


def identify(policy):
    """Return the type and scope of a policy, which identify it."""
    return {'type': policy.type, 'scope': policy.scope}


def _in_order(by_path, members):
    return {path: by_path[path] for path in members if path in by_path}
