# SPDX-License-Identifier: Apache-2.0
"""The planner as the property tests call it: JSON value in, JSON value out."""

from nova_groupext.planner import decide as planner
from nova_groupext.planner import problem as problems
from nova_groupext.planner import search


def decide(problem: dict) -> dict:
    """The answer, found in this process: thousands of children are slow."""
    return planner.decide(problems.parse(problem), search.solve).to_dict()


def decide_in_child(problem: dict) -> dict:
    """The answer, found the way the service finds it."""
    return planner.decide(problems.parse(problem)).to_dict()
