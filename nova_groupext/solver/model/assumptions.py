# SPDX-License-Identifier: Apache-2.0
"""Assumptions that a refusal may name: strict policies, required members.

The solver checks a problem under some assumptions only: it drops the other
policies and makes the other members optional. Pinned members, hosts and
capacity stay as they are.
"""

import collections
import dataclasses
import itertools
from typing import NamedTuple

# Removing a member from a plan may violate a policy of these types.
_MENDED_BY_MORE = ('spread', 'survive')


class PolicyAssumption(NamedTuple):
    """Strict policies of one type and scope at one path.

    Their parameters may differ; an answer names them as one.
    """

    at: str
    type: str
    scope: str


class MemberAssumption(NamedTuple):
    """Required members of the stem with this path."""

    path: str


def rule(policy):
    """Return the PolicyAssumption that contains a policy."""
    return PolicyAssumption(policy.at, policy.type, policy.scope)


def policies(problem, tags):
    """Return the strict policies that belong to some assumptions."""
    return tuple(
        policy
        for policy in problem.topology.policies
        if policy.strict and rule(policy) in tags
    )


def required(problem, stem):
    """Return the number of unpinned members that a plan has to place."""
    pins = sum(member.path in problem.pinned for member in stem.members)
    return max(0, stem.min_count - pins)


def of(problem):
    """Return all assumptions: members by path, then policies in order."""
    stems = problem.topology.stems
    found = [MemberAssumption(s.path) for s in stems if required(problem, s)]
    found += (rule(p) for p in problem.topology.policies if p.strict)
    return list(dict.fromkeys(found))


def interchangeable(problem, tags):
    """Find member sets that are interchangeable under some assumptions.

    :returns: MemberAssumption -> key; of assumptions with equal keys, all or
        none are necessary
    """
    covering = _covering(policies(problem, tags))
    pinned = problem.pinned.keys()
    found = {}
    for stem in problem.topology.stems:
        paths = {member.path for member in stem.members}
        covers = {tuple(covering.get(path, ())) for path in paths}
        key = (stem.path,)
        if len(covers) == 1 and pinned.isdisjoint(paths):
            key = stem.spec['class'], stem.count, stem.min_count, *covers
        found[MemberAssumption(stem.path)] = key
    return found


def restrict_to(problem, tags):
    """Return a reduced problem that keeps some assumptions only.

    Soft policies are dropped. Optional members are dropped where their
    absence cannot make a feasible plan infeasible. Every plan of the result
    is a plan of the problem under these assumptions, and if that has a plan,
    the result has one.

    :param tags: set of assumptions
    :returns: problems.Problem
    """
    kept = policies(problem, tags)
    stems = tuple(_shrink(problem, tags, kept))
    members = {member.path for stem in stems for member in stem.members}
    sides = [
        tuple(tuple(p for p in side if p in members) for side in policy.sides)
        for policy in kept
    ]
    return dataclasses.replace(
        problem,
        topology=dataclasses.replace(
            problem.topology,
            stems=stems,
            members=tuple(
                member
                for member in problem.topology.members
                if member.path in members
            ),
            policies=tuple(
                dataclasses.replace(policy, sides=side)
                for policy, side in zip(kept, sides, strict=True)
                if any(side) or policy.type in _MENDED_BY_MORE
            ),
        ),
    )


def _shrink(problem, tags, kept):
    """Yield the stems that keep a member."""
    covering = _covering(kept)
    mending = set()
    for policy in kept:
        if policy.type in _MENDED_BY_MORE:
            mending.update(itertools.chain(*policy.sides))
    for stem in problem.topology.stems:
        need = stem.min_count if MemberAssumption(stem.path) in tags else 0
        useful = _useful(problem, stem, need, covering, mending)
        if useful:
            members = tuple(m for m in stem.members if m.path in useful)
            yield dataclasses.replace(
                stem, count=len(members), min_count=need, members=members
            )


def _covering(kept):
    """Return {member path: [(policy number, end of the policy)]}."""
    covering = collections.defaultdict(list)
    for number, policy in enumerate(kept):
        for end, side in enumerate(policy.sides):
            for path in side:
                covering[path].append((number, end))
    return covering


def _useful(problem, stem, need, covering, mending):
    """Return paths of the members whose removal may remove plans."""
    paths = [member.path for member in stem.members]
    pins = {path for path in paths if path in problem.pinned}
    others = [path for path in paths if path not in pins]
    if need <= len(pins):
        return pins.union(mending.intersection(others))
    covers = {tuple(covering.get(path, ())) for path in others}
    if len(covers) == 1 and mending.isdisjoint(others):
        # Interchangeable members: the required number is enough.
        others = others[: need - len(pins)]
    return pins.union(others)
