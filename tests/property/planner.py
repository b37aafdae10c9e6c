# SPDX-License-Identifier: Apache-2.0
"""The planner as the property tests call it: JSON value in, JSON value out."""

from unittest import mock

from nova_groupext.planner import ask
from nova_groupext.planner import bounds
from nova_groupext.planner import clock as clocks
from nova_groupext.planner import decide as planner
from nova_groupext.planner import explain
from nova_groupext.planner import problem as problems
from nova_groupext.planner import search
from nova_groupext.planner import sketch as sketches
from nova_groupext.planner.bounds import pins
from nova_groupext.planner.explain import sentences

# Seconds, however slow the machine is: everything that would help is told.
PATIENCE = 30, 0, 0


@mock.patch.object(explain, '_SECONDS', PATIENCE)
def decide(problem: dict) -> dict:
    """The answer, found in this process: thousands of children are slow."""
    return planner.decide(problems.parse(problem), search.solve).to_dict()


def decide_in_child(problem: dict) -> dict:
    """The answer, found the way the service finds it."""
    return planner.decide(problems.parse(problem)).to_dict()


def bound(problem: dict) -> list[dict] | None:
    """The conflict that a quick comparison proves, None if it finds none."""
    parsed = problems.parse(problem)
    found = bounds.impossible(parsed)
    if found is None:
        return None
    return [sentences.item(parsed, each) for each in sorted(found, key=repr)]


def has_plan(problem: dict) -> bool:
    """Whether the exact programme finds a plan."""
    return _ask(problems.parse(problem))


def sketch(problem: dict) -> tuple[int, bool]:
    """How many hosts a sketch has, and whether it has a plan."""
    drawn = sketches.draw(problems.parse(problem))
    return len(drawn.hosts), _ask(drawn)


def _ask(problem: problems.Problem) -> bool:
    if pins.broken(problem):
        return False
    verdict = ask.ask(problem, clocks.Clock(60))
    return not verdict.is_impossible
