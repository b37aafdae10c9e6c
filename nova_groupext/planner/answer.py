# SPDX-License-Identifier: Apache-2.0
"""The three answers: placed, refused (proved) and undecided."""

import dataclasses

from nova_groupext.planner import rules


@dataclasses.dataclass(frozen=True)
class Answer:
    """What was decided, in the words of the answer file.

    :ivar status: 'placed', 'refused' or 'undecided'
    :ivar placement: member path -> host id
    :ivar alternative: member path -> index of the request taken
    :ivar unplaced: paths of the members left out
    :ivar cost: soft, its proven bound, and preference; None without a plan
    :ivar violations: soft policies that are not kept, each with its cost
    :ivar conflict: policies and member sets that exclude one another
    :ivar minimal: none of the conflict can be left out
    :ivar reason: code and text of what is in the way; None if not refused
    :ivar relaxations: changes that would make it fit
    :ivar stats: seconds, stage, cut_short, and a reason if something broke
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
        """The answer file, as a JSON value."""
        return dataclasses.asdict(self)

    def with_stats(self, **stats):
        """The same answer with some stats set."""
        return dataclasses.replace(self, stats={**self.stats, **stats})


def placed(problem, plan, bound, stats):
    """A lawful plan.

    :param plan: rules.Plan
    :param bound: Fraction, proven least soft cost at this number placed
    """
    costs = rules.costs(problem, plan.placement)
    members = [member.path for member in problem.topology.members]
    return Answer(
        'placed',
        placement=_in_order(plan.placement, members),
        alternative=_in_order(plan.alternative, members),
        unplaced=[path for path in members if path not in plan.placement],
        cost={
            'soft': float(rules.soft_cost(problem, plan.placement)),
            'bound': float(bound),
            'preference': float(rules.preference(problem, plan.placement)),
        },
        violations=[
            {'at': p.at, 'policy': short(p), 'cost': float(cost)}
            for p, cost in costs.items()
        ],
        stats=stats,
    )


def refused(refusal, stats):
    """A proof that there is no plan, explained.

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
    """Neither a plan nor a proof that there is none."""
    return Answer('undecided', stats=stats)


def short(policy):
    """What of a policy tells which one it is."""
    return {'type': policy.type, 'scope': policy.scope}


def _in_order(by_path, members):
    return {path: by_path[path] for path in members if path in by_path}
