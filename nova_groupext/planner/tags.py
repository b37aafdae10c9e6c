# SPDX-License-Identifier: Apache-2.0
"""What a refusal may name: strict policies and members that have to come.

A question is asked of a problem with some of its tags only: other policies
are dropped and other members need not come. Pinned members, hosts and
capacity stay as they are.
"""

import collections
import dataclasses
import itertools
from typing import NamedTuple

# A plan that keeps one of these may break it when a member leaves.
_MENDED_BY_MORE = ('spread', 'survive')


class Rule(NamedTuple):
    """The strict policies of one type and scope at one place.

    A place may have several that differ in their parameters; an answer names
    them as one.
    """

    at: str
    type: str
    scope: str


class Members(NamedTuple):
    """The members of a stem, by its path, that have to come."""

    path: str


def rule(policy):
    """The Rule that a policy is part of."""
    return Rule(policy.at, policy.type, policy.scope)


def policies(problem, tags):
    """The strict policies that are part of some tags."""
    return tuple(
        policy
        for policy in problem.topology.policies
        if policy.strict and rule(policy) in tags
    )


def missing(problem, stem):
    """How many unpinned members of a stem have to come."""
    pins = sum(member.path in problem.pinned for member in stem.members)
    return max(0, stem.min_count - pins)


def of(problem):
    """All tags of a problem: Members by path, then every Rule in its order."""
    stems = problem.topology.stems
    found = [Members(s.path) for s in stems if missing(problem, s)]
    found += (rule(p) for p in problem.topology.policies if p.strict)
    return list(dict.fromkeys(found))


def alike(problem, tags):
    """Tell which members could change places if only some tags counted.

    :returns: Members -> key; those with equal keys are needed, or not, alike
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
        found[Members(stem.path)] = key
    return found


def keep(problem, tags):
    """The problem with some of its tags only, and no more than they need.

    Members that need not come are left out where that cannot turn a lawful
    plan into an unlawful one, and so are soft policies. Every plan of the
    result is a plan of the problem with these tags, and if that has a plan,
    the result has one.

    :param tags: set of tags
    :returns: problem.Problem
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
    """The stems of which any member is still of use."""
    covering = _covering(kept)
    mending = set()
    for policy in kept:
        if policy.type in _MENDED_BY_MORE:
            mending.update(itertools.chain(*policy.sides))
    for stem in problem.topology.stems:
        need = stem.min_count if Members(stem.path) in tags else 0
        useful = _useful(problem, stem, need, covering, mending)
        if useful:
            members = tuple(m for m in stem.members if m.path in useful)
            yield dataclasses.replace(
                stem, count=len(members), min_count=need, members=members
            )


def _covering(kept):
    """Member path -> which ends of which policies cover it."""
    covering = collections.defaultdict(list)
    for number, policy in enumerate(kept):
        for end, side in enumerate(policy.sides):
            for path in side:
                covering[path].append((number, end))
    return covering


def _useful(problem, stem, need, covering, mending):
    """Paths of the members without which there may be fewer plans."""
    paths = [member.path for member in stem.members]
    pins = {path for path in paths if path in problem.pinned}
    others = [path for path in paths if path not in pins]
    if need <= len(pins):
        return pins.union(mending.intersection(others))
    covers = {tuple(covering.get(path, ())) for path in others}
    if len(covers) == 1 and mending.isdisjoint(others):
        # Nothing tells them apart: as many as have to come will do.
        others = others[: need - len(pins)]
    return pins.union(others)
