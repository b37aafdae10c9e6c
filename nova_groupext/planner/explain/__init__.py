# SPDX-License-Identifier: Apache-2.0
"""Why there is no plan, and what would help.

``core`` finds few tags that exclude one another, ``reasons`` what stands in
their way, ``sentences`` the words for it. All of them ask ``questions``.
"""

import dataclasses

from nova_groupext.planner.explain import core as cores
from nova_groupext.planner.explain import questions as questioning
from nova_groupext.planner.explain import reasons
from nova_groupext.planner.explain import sentences


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


def refusal(problem, clock):
    """Explain a problem that is proved to have no plan.

    :param problem: problem.Problem
    :param clock: clock.Clock
    :returns: Refusal
    """
    questions = questioning.Questions(problem, clock)
    core = cores.find(questions)
    code = reasons.find(questions, core)
    return Refusal(
        conflict=[sentences.item(problem, each) for each in core.tags],
        minimal=core.is_minimal,
        reason={
            'code': code,
            'text': sentences.reason(problem, core.tags, code),
        },
        relaxations=[],
        is_cut_short=questions.is_cut_short,
    )
