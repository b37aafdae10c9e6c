# SPDX-License-Identifier: Apache-2.0
"""Other ways to a first plan, which get as much time as the planner."""

import time

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.model import time_budget
from tests.benchmarks.planner import cp_sat


def _solve_program(problem, budget):
    """Run the integer program over all hosts, and nothing else."""
    try:
        exact = objectives.ExactSolver(problem, budget)
        exact.find_any()
    except time_budget.OutOfTime:
        return None
    return exact.plan


def _construct(problem, budget):
    """Construct until there is a plan."""
    greedy = squeaky_wheel.SqueakyWheel(problem)
    plan = None
    while plan is None and budget.remaining():
        plan = greedy.run_iteration(budget=budget)
    return plan


#: By the names of their columns
_PEERS = {'one program': _solve_program, 'constructions': _construct}


def measure(problem, seconds, cp_sat_python=None):
    """Return the processor seconds that each peer takes for a plan.

    :param cp_sat_python: path of a Python with OR-Tools; None for no CP-SAT
    :returns: {peer: seconds, None without a plan}
    """
    measured = {
        name: _measure(find, problem, seconds) for name, find in _PEERS.items()
    }
    if cp_sat_python is not None:
        measured['CP-SAT'] = cp_sat.measure(problem, seconds, cp_sat_python)
    return measured


def _measure(find, problem, seconds):
    began = time.process_time()
    plan = find(problem, time_budget.WorkBudget(seconds, deadline=3 * seconds))
    used = time.process_time() - began
    return None if plan is None else round(used, 3)
