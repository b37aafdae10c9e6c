# SPDX-License-Identifier: Apache-2.0
"""The planner as the property tests call it: JSON value in, JSON value out."""

from unittest import mock

from nova_groupext.solver import bounds
from nova_groupext.solver import tuning
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.explain import conflict_summary
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.proofs import capacity_relaxation
from nova_groupext.solver.solve import decide as planner
from nova_groupext.solver.solve import stages

# Seconds, however slow the machine is: everything that would help is told.
PATIENCE = 30, 0, 0


@mock.patch.object(tuning, 'RELAXATION_SECONDS', PATIENCE)
def decide(problem: dict) -> dict:
    """The answer, found in this process: thousands of children are slow."""
    return planner.decide(problems.parse(problem), stages.solve).to_dict()


def decide_in_child(problem: dict) -> dict:
    """The answer, found the way the service finds it."""
    return planner.decide(problems.parse(problem)).to_dict()


def bound(problem: dict) -> list[dict] | None:
    """The conflict that bounds prove, None if they prove none."""
    parsed = problems.parse(problem)
    found = bounds.prove_infeasible(parsed)
    if found is None:
        return None
    items, _ = conflict_summary.of(parsed, sorted(found, key=repr))
    return items


def has_plan(problem: dict) -> bool:
    """Return whether the exact program finds a plan."""
    return _ask(problems.parse(problem))


def relax_capacity(problem: dict) -> tuple[int, bool]:
    """Return a relaxation's number of hosts and whether it has a plan."""
    drawn = capacity_relaxation.relax_capacity(problems.parse(problem))
    return len(drawn.hosts), _ask(drawn)


def _ask(problem: problems.Problem) -> bool:
    if fixed.find_violated(problem):
        return False
    verdict = feasibility.solve(problem, time_budget.TimeBudget(60))
    return not verdict.is_infeasible
