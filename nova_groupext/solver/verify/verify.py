# SPDX-License-Identifier: Apache-2.0
"""Verification of an answer of any status."""

from nova_groupext.solver.model import time_budget
from nova_groupext.solver.verify import placed
from nova_groupext.solver.verify import refused
from nova_groupext.solver.verify.finding import Finding

#: Parts of each status; the other parts must be empty.
_PARTS = {
    'placed': (
        'placement',
        'alternative',
        'unplaced',
        'cost',
        'violations',
    ),
    'refused': ('conflict', 'reason', 'relaxations'),
    'undecided': (),
}


def findings(problem, raw):
    """Yield errors in an answer, and parts not verified in time.

    :param problem: problems.Problem; its time limit applies
    :param raw: JSON value that answer_schema.parse() returned
    :returns: generator of Finding
    """
    budget = time_budget.TimeBudget(problem.time_limit)
    yield from _misplaced_parts(raw)
    if raw['status'] == 'placed':
        yield from placed.findings(problem, raw)
    elif raw['status'] == 'refused':
        yield from refused.findings(problem, raw, budget)


def _misplaced_parts(raw):
    """Yield parts that do not belong to the answer's status."""
    all_parts = [part for parts in _PARTS.values() for part in parts]
    for part in all_parts:
        if raw.get(part) and part not in _PARTS[raw['status']]:
            yield Finding(
                f'$.{part}', f'does not belong to the status "{raw["status"]}"'
            )
