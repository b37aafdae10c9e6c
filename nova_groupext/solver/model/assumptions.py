# SPDX-License-Identifier: Apache-2.0
"""Assumptions that a refusal may name: strict policies and required members.

The solver checks a problem under some assumptions only: it drops the other
policies and makes the other members optional. Pinned members, hosts and
capacity stay as they are.
"""

from collections.abc import Container
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import NamedTuple
from typing import TypeAlias

from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.language import topology
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import base


class PolicyAssumption(NamedTuple):
    """Strict policies of one type and scope at one path.

    Their parameters may differ; an answer names them as one.
    """

    at: Path
    type: str
    scope: Level


class MemberAssumption(NamedTuple):
    """Required members of the member set with this path."""

    path: Path


Assumption: TypeAlias = PolicyAssumption | MemberAssumption


def of_policy(policy: base.Policy) -> PolicyAssumption:
    """Return the assumption that contains a policy."""
    return PolicyAssumption(policy.at, policy.type, policy.scope)


def assumed_policies(
    problem: problems.Problem, assumed: Container[Assumption]
) -> tuple[base.Policy, ...]:
    """Return the strict policies that belong to some assumptions."""
    return tuple(
        policy
        for policy in problem.topology.policies
        if policy.strict and of_policy(policy) in assumed
    )


def covered_paths(
    problem: problems.Problem, assumed: Container[Assumption]
) -> set[Path]:
    """Return the members that the policies of some assumptions cover."""
    policies = assumed_policies(problem, assumed)
    return set[Path]().union(*(policy.members for policy in policies))


def count_required(
    problem: problems.Problem, member_set: topology.MemberSet
) -> int:
    """Return the number of unpinned members that a plan has to place."""
    pinned = sum(
        member.path in problem.pinned for member in member_set.members
    )
    return max(0, member_set.min_count - pinned)


def of_problem(problem: problems.Problem) -> list[Assumption]:
    """Return all assumptions: members by path, then policies in order."""
    member_sets = problem.topology.member_sets
    assumptions: list[Assumption] = [
        MemberAssumption(s.path)
        for s in member_sets
        if count_required(problem, s)
    ]
    assumptions += (
        of_policy(p) for p in problem.topology.policies if p.strict
    )
    return list(dict.fromkeys(assumptions))


def interchangeable(
    problem: problems.Problem, assumed: Container[Assumption]
) -> dict[Assumption, Hashable]:
    """Return a key of each member set under some assumptions.

    Of assumptions with equal keys, all or none are necessary.
    """
    covers_of = equivalence.covers(assumed_policies(problem, assumed))
    pinned = problem.pinned.keys()
    keys: dict[Assumption, Hashable] = {}
    for member_set in problem.topology.member_sets:
        paths = {member.path for member in member_set.members}
        covers = {tuple(covers_of.get(path, ())) for path in paths}
        key: Hashable = (member_set.path,)
        if len(covers) == 1 and pinned.isdisjoint(paths):
            key = (
                member_set.spec['class'],
                member_set.count,
                member_set.min_count,
                *covers,
            )
        keys[MemberAssumption(member_set.path)] = key
    return keys


def restrict_to(
    problem: problems.Problem, assumed: Container[Assumption]
) -> problems.Problem:
    """Return a reduced problem that keeps some assumptions only.

    Soft policies are dropped. Optional members are dropped where their
    absence cannot make a feasible plan infeasible. Every plan of the result
    is a plan of the problem under these assumptions, and if that has a plan,
    the result has one.
    """
    policies = assumed_policies(problem, assumed)
    member_sets = tuple(_reduce_member_sets(problem, assumed, policies))
    members = {
        member.path
        for member_set in member_sets
        for member in member_set.members
    }
    sides = [
        tuple(tuple(p for p in side if p in members) for side in policy.sides)
        for policy in policies
    ]
    return dataclasses.replace(
        problem,
        topology=dataclasses.replace(
            problem.topology,
            member_sets=member_sets,
            members=tuple(
                member
                for member in problem.topology.members
                if member.path in members
            ),
            policies=tuple(
                dataclasses.replace(policy, sides=side)
                for policy, side in zip(policies, sides, strict=True)
                if any(side) or not policy.is_monotone
            ),
        ),
    )


def _reduce_member_sets(
    problem: problems.Problem,
    assumed: Container[Assumption],
    policies: Sequence[base.Policy],
) -> Iterator[topology.MemberSet]:
    """Yield the member sets that keep a member."""
    covers_of = equivalence.covers(policies)
    protected: set[Path] = set()
    for policy in policies:
        # Removing a member from a plan may violate the policy, or only certain
        # members may satisfy it.
        if not (policy.is_monotone and policy.is_symmetric):
            protected.update(policy.members)
    for member_set in problem.topology.member_sets:
        min_count = (
            member_set.min_count
            if MemberAssumption(member_set.path) in assumed
            else 0
        )
        needed = _find_needed(
            problem, member_set, min_count, covers_of, protected
        )
        if needed:
            members = tuple(m for m in member_set.members if m.path in needed)
            yield dataclasses.replace(
                member_set,
                count=len(members),
                min_count=min_count,
                members=members,
            )


def _find_needed(
    problem: problems.Problem,
    member_set: topology.MemberSet,
    min_count: int,
    covers_of: Mapping[Path, Sequence[equivalence.Cover]],
    protected: set[Path],
) -> set[Path]:
    """Return the members whose removal may remove plans."""
    paths = [member.path for member in member_set.members]
    pinned = {path for path in paths if path in problem.pinned}
    others = [path for path in paths if path not in pinned]
    if min_count <= len(pinned):
        return pinned.union(protected.intersection(others))
    covers = {tuple(covers_of.get(path, ())) for path in others}
    if len(covers) == 1 and protected.isdisjoint(others):
        # Interchangeable members: the required number is enough.
        others = others[: min_count - len(pinned)]
    return pinned.union(others)
