# SPDX-License-Identifier: Apache-2.0
"""Proofs that cost little, to be looked for before any plan.

What has to come is compared with the room for it. Where members take much of
the room that is left to them, they are asked about alone, with those that
policies tie them to: whether a few members find a place on a few hosts is
soon known, where the whole problem would take minutes. Policies that may
contradict one another are held against a sketch of the cloud.
"""

from typing import NamedTuple

from nova_groupext.planner import ask
from nova_groupext.planner import bounds
from nova_groupext.planner import parts
from nova_groupext.planner import sketch
from nova_groupext.planner import tags as tag

# What the members of a stem take of their room, to be asked about alone.
_MUCH = 0.25

# How many parts are asked about.
_MOST_PARTS = 12

# For how many seconds one is asked about at most, and a sketch; and for which
# share of the time that is left.
_SLICE = 1.0
_SKETCH_SLICE = 5.0
_SHARE = 0.1

# Members that a sketch is drawn for.
_MOST_MEMBERS = 50


class Proof(NamedTuple):
    """Tags that leave no plan by themselves.

    :ivar tags: frozenset of tags
    :ivar stage: what came to it: 'bounds', 'part' or 'policies'
    """

    tags: frozenset
    stage: str


def find(problem, clock):
    """Look for a proof that there is no plan.

    :param problem: problem.Problem
    :param clock: clock.Clock
    :returns: Proof or None
    """
    cloud = bounds.Cloud(problem)
    tags, shares, _ = bounds.look(problem, cloud)
    if tags is not None:
        return Proof(tags, 'bounds')
    tight = [path for path, share in shares.items() if share >= _MUCH]
    tight.sort(key=lambda path: (-shares[path], path))
    for part in parts.around(problem, tight[:_MOST_PARTS]):
        if _is_impossible(tag.keep(problem, part), cloud, clock):
            return Proof(part, 'part')
    for part in parts.odd(problem)[:_MOST_PARTS]:
        if is_contradiction(tag.keep(problem, part), clock):
            return Proof(part, 'policies')
    return None


def is_contradiction(problem, clock, is_sure=False):
    """Whether policies of a small problem are known to exclude every plan.

    However much room there were: False does not say that there is any.

    :param is_sure: ask even if the policies do not look as if they clashed
    """
    if len(problem.class_of) > _MOST_MEMBERS:
        return False
    if not is_sure and not parts.odd(problem):
        return False
    return _ask(sketch.draw(problem), clock, _SKETCH_SLICE)


def _is_impossible(problem, cloud, clock):
    tags, _, narrowed = bounds.look(problem, cloud)
    return tags is not None or _ask(narrowed, clock, _SLICE)


def _ask(problem, clock, seconds):
    part = clock.slice(min(seconds, clock.left() * _SHARE))
    return ask.ask(problem, part).is_impossible
