# SPDX-License-Identifier: Apache-2.0
"""Why there is no plan, and what would help.

``core`` finds few tags that exclude one another, ``reasons`` what stands in
their way, ``relax`` what would help, ``sentences`` the words. All of them ask
``questions``.
"""

import dataclasses

from nova_groupext.planner import tags as tag
from nova_groupext.planner.explain import core as cores
from nova_groupext.planner.explain import questions as questioning
from nova_groupext.planner.explain import reasons
from nova_groupext.planner.explain import relax
from nova_groupext.planner.explain import sentences

# What the conflict may use up of the time; the rest is for relaxations.
_CORE_SHARE = 0.6

# Seconds for relaxations: at least, per member, per host and member.
_SECONDS = 1.5, 6e-3, 3e-7


@dataclasses.dataclass(frozen=True)
class Refusal:
    """What a refused answer says, in the words of the answer file.

    :ivar conflict: policies and member sets that exclude one another
    :ivar minimal: none of the conflict can be left out
    :ivar reason: stable code, and a sentence for the group's owner
    :ivar relaxations: changes that would make it fit
    :ivar is_cut_short: with more time there might be less or more of it
    """

    conflict: list
    minimal: bool
    reason: dict
    relaxations: list
    is_cut_short: bool


def refusals(problem, clock, tags=None):
    """Explain a problem that is proved to have no plan.

    :param problem: problem.Problem
    :param clock: clock.Clock
    :param tags: those that are proved to leave none, all if not given
    :returns: generator of Refusal: the conflict first, then with relaxations
    """
    narrowing = clock.slice(clock.left() * _CORE_SHARE)
    questions = questioning.Questions(problem, narrowing)
    core = cores.find(questions, tags or tag.of(problem))
    code = reasons.find(questions, core)
    found = Refusal(
        conflict=[sentences.item(problem, each) for each in core.tags],
        minimal=core.is_minimal,
        reason={
            'code': code,
            'text': sentences.reason(problem, core.tags, code),
        },
        relaxations=[],
        is_cut_short=True,
    )
    yield found
    questions.clock = clock.slice(_seconds(problem))
    relaxations = relax.menu(questions, core)
    yield dataclasses.replace(
        found,
        relaxations=relaxations,
        is_cut_short=questions.is_cut_short,
    )


def _seconds(problem):
    """How long to look for relaxations: who is refused waits for them."""
    members = len(problem.topology.members)
    least, for_member, for_seat = _SECONDS
    return least + (for_member + for_seat * len(problem.hosts)) * members
