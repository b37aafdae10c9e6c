# SPDX-License-Identifier: Apache-2.0
"""Verification of an answer of any status."""

from collections.abc import Iterator

from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.verify import placed
from nova_groupext.solver.verify import refused
from nova_groupext.solver.verify.finding import Finding

#: Parts of each status; the other parts must be empty.
_PARTS: dict[str, tuple[str, ...]] = {
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


def findings(
    problem: problems.Problem, answer: answers.Answer
) -> Iterator[Finding]:
    """Yield errors in an answer, and parts not verified in time.

    :param problem: its time limit applies
    """
    budget = time_budget.WorkBudget(
        problem.time_limit, deadline=problem.max_wait
    )
    yield from _misplaced_parts(answer)
    if answer.status == 'placed':
        yield from placed.findings(problem, answer)
    elif answer.status == 'refused':
        yield from refused.findings(problem, answer, budget)


def _misplaced_parts(answer: answers.Answer) -> Iterator[Finding]:
    """Yield parts that do not belong to the answer's status."""
    all_parts = [part for parts in _PARTS.values() for part in parts]
    for part in all_parts:
        if getattr(answer, part) and part not in _PARTS[answer.status]:
            yield Finding(
                f'$.{part}', f'does not belong to the status "{answer.status}"'
            )
