# SPDX-License-Identifier: Apache-2.0
"""Choices of domains: one for all members of a colocation group.

A 0/1 column tells whether a domain is chosen. Equations tie the members to it,
which gives a far tighter relaxation than indicators of the domains in use.
"""

from collections.abc import Mapping
import dataclasses

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import member_counts
from nova_groupext.solver.exact.expressions import Expression
from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import base


@dataclasses.dataclass(frozen=True)
class ColocationGroup:
    """Members that share a domain in every plan.

    :ivar scope: level of the domain
    """

    scope: Level
    paths: frozenset[Path]


def is_binding(model: member_counts.Model, policy: base.Policy) -> bool:
    """Check whether a strict policy binds its members in every plan."""
    if not policy.binds_one_domain or len(policy.sides) == 1:
        return policy.binds_one_domain
    sides = (model.side(frozenset(side)) for side in policy.sides)
    return sum(model.least(side) > 0 for side in sides) > 1


def colocation_groups(
    problem: problems.Problem, binding: list[base.Policy]
) -> list[ColocationGroup]:
    """Return the members that policies bind to one domain.

    Policies of one scope with a common member that every plan places form one
    group.

    :param binding: policies for which is_binding() is true
    """
    placed = {
        member.path
        for member_set in problem.topology.member_sets
        if member_set.min_count == member_set.count
        for member in member_set.members
    }.union(problem.pinned)
    groups: list[ColocationGroup] = []
    for policy in binding:
        paths, others = policy.paths, []
        for group in groups:
            is_same_scope = group.scope == policy.scope
            if is_same_scope and not placed.isdisjoint(paths & group.paths):
                paths |= group.paths
            else:
                others.append(group)
        groups = [*others, ColocationGroup(policy.scope, paths)]
    return groups


def add_choice(model: member_counts.Model, group: ColocationGroup) -> None:
    """Add the choice of a group's domain, and tie the members to it."""
    side = model.side(group.paths)
    eq_classes = [model.variables.eq_classes[n] for n in side.eq_classes]
    counts = [
        model.counts(model.side(frozenset(each.members)), group.scope)
        for each in eq_classes
    ]
    pinned = {model.problem.domain(host, group.scope) for host in side.pinned}
    possible = set[Domain | None]().union(*([pinned] if pinned else counts))
    if len(pinned) > 1:
        possible.clear()
    for eq_class, by_domain in zip(eq_classes, counts, strict=True):
        if not eq_class.optional:
            possible &= _large_enough(by_domain, len(eq_class.members))
    # Sorted, so that equal problems have equal programs.
    chosen = {
        domain: model.add_binary() for domain in sorted(possible, key=str)
    }
    # One column at least: HiGHS ignores rows without any.
    total = expressions.total([*chosen.values(), model.add_column(0)])
    is_used = pinned or model.least(side)
    model.add_row(total.equals(1) if is_used else total <= 1)
    excluded: list[Expression] = []
    for eq_class, by_domain in zip(eq_classes, counts, strict=True):
        for domain, count in by_domain.items():
            if domain not in chosen:
                excluded.append(count.expression)
                continue
            tied = chosen[domain] * len(eq_class.members)
            model.add_row(
                count.expression <= tied
                if eq_class.optional
                else count.expression.equals(tied)
            )
    if excluded:
        model.add_row(expressions.total(excluded) <= 0)


def _large_enough(
    by_domain: Mapping[Domain | None, member_counts.Count], members: int
) -> set[Domain | None]:
    return {
        domain for domain, each in by_domain.items() if each.upper >= members
    }
