# SPDX-License-Identifier: Apache-2.0
"""Proofs that cost little, to be looked for before any plan.

What has to come is compared with the room for it. Where members take much of
the room that is left to them, they are asked about alone, with those that
policies tie them to: whether a few members find a place on a few hosts is
soon known, where the whole problem would take minutes.
"""

from typing import NamedTuple

from nova_groupext.planner import ask
from nova_groupext.planner import bounds
from nova_groupext.planner import parts
from nova_groupext.planner import tags as tag

# What the members of a stem take of their room, to be asked about alone.
_MUCH = 0.25

# How many parts are asked about, and for how long: seconds, and the share of
# the time that is left.
_MOST_PARTS = 12
_SLICE = 1.0
_SHARE = 0.1


class Proof(NamedTuple):
    """Tags that leave no plan by themselves.

    :ivar tags: frozenset of tags
    :ivar stage: what came to it, 'bounds' or 'part'
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
    return None


def _is_impossible(problem, cloud, clock):
    tags, _, narrowed = bounds.look(problem, cloud)
    if tags is not None:
        return True
    seconds = min(_SLICE, clock.left() * _SHARE)
    return ask.ask(narrowed, clock.slice(seconds)).is_impossible
