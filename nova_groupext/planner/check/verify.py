# SPDX-License-Identifier: Apache-2.0
"""All that can be said about an answer."""

from nova_groupext.planner import clock as clocks
from nova_groupext.planner.check import placed
from nova_groupext.planner.check import refused
from nova_groupext.planner.check.finding import Finding

#: What belongs to a status; all else has to be empty.
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
    """What is wrong with an answer, or could not be verified in time.

    :param problem: problem.Problem; its time limit is kept
    :param raw: JSON value that shape.parse() has passed
    :returns: generator of Finding
    """
    clock = clocks.Clock(problem.time_limit)
    yield from _strangers(raw)
    if raw['status'] == 'placed':
        yield from placed.findings(problem, raw)
    elif raw['status'] == 'refused':
        yield from refused.findings(problem, raw, clock)


def _strangers(raw):
    """Parts that do not belong to the answer's status."""
    every = [part for parts in _PARTS.values() for part in parts]
    for part in every:
        if raw.get(part) and part not in _PARTS[raw['status']]:
            yield Finding(f'$.{part}', f'is not for "{raw["status"]}"')
