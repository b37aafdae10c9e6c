# SPDX-License-Identifier: Apache-2.0
"""The measurement of each number: other values, and cases for which it counts.

The cases were found with ``--uses``, which counts how often a case reads a
number. Seeds and time limits are such that a number takes about half a minute.
"""

import re
from typing import NamedTuple

from nova_groupext.solver import tuning
from tests.benchmarks.planner import runs
from tests.benchmarks.tuning import cases
from tests.benchmarks.tuning.cases import Prove
from tests.benchmarks.tuning.cases import Solve
from tests.benchmarks.tuning.cases import Verify

# Greatest value of a share or probability.
_MAX_SHARE = 0.95

_NAME = re.compile(r'(\w+)(?:\[(\d+)\])?')


class Measurement(NamedTuple):
    """Measurement of one number.

    :ivar cases: what to decide with each value
    :ivar values: other values; half and double if empty
    """

    cases: tuple
    values: tuple = ()


class Number:
    """Number of ``tuning``, perhaps an element of a tuple.

    :ivar attribute: name in ``tuning``
    """

    def __init__(self, name):
        """Find a number.

        :param name: such as ``PART_SECONDS`` or ``RELAXATION_SECONDS[2]``
        """
        self.attribute, index = _NAME.fullmatch(name).groups()
        self._index = None if index is None else int(index)

    @property
    def present(self):
        value = getattr(tuning, self.attribute)
        return value if self._index is None else value[self._index]

    def half_and_double(self):
        """Return other values; those of a share stay below one."""
        values = [_scale(self.present, factor) for factor in (1 / 2, 2)]
        if self.attribute.endswith(('_SHARE', '_PROBABILITY')):
            return tuple(min(value, _MAX_SHARE) for value in values)
        return tuple(values)

    def replaced_by(self, value):
        """Return what the attribute of ``tuning`` is with another value."""
        if self._index is None:
            return value
        numbers = list(getattr(tuning, self.attribute))
        numbers[self._index] = value
        return tuple(numbers)


def _scale(number, factor):
    if isinstance(number, int):
        return max(1, round(number * factor))
    return number * factor


def _fits(hosts, members, family, fill, seed):
    return runs.Instance(hosts, members, family, fill, seed=seed)


def _refused(hosts, members, kind, seed):
    return runs.Instance(hosts, members, kind=kind, seed=seed)


# Without a plan from the first constructions.
_HARD = (
    cases.first(_fits(200, 60, 'topology', 0.95, 1), 4),
    cases.first(_fits(200, 60, 'topology', 0.95, 2), 2),
    cases.first(_fits(200, 60, 'topology', 0.95, 3), 2),
    cases.first(_fits(200, 60, 'scarce', 0.95, 1), 2),
    cases.first(_fits(450, 100, 'topology', 0.95, 3), 2),
    cases.first(_fits(450, 100, 'topology', 0.9, 0), 2),
    cases.first(_fits(450, 100, 'scarce', 0.9, 2), 2),
    cases.first(_fits(450, 100, 'scarce', 0.95, 0), 2),
)

# The integer program over all hosts, and the one over some, take turns.
_ALTERNATING = (
    cases.first(_fits(450, 100, 'topology', 0.9, 0), 4),
    cases.first(_fits(450, 100, 'topology', 0.9, 3), 4),
    cases.first(_fits(450, 100, 'scarce', 0.95, 2), 4),
)

# A lower bound of the soft cost counts; cases tell only the cost.
_BOUNDED = (
    Solve(_fits(1000, 100, 'bound', 0.9, 3), 15),
    Solve(_fits(1000, 100, 'topology', 0.8, 1), 15),
)

# A few hosts of a running group have failed.
_FAILED_HOSTS = (
    cases.first(('failed_hosts', 3, 450, 100, 'topology', 0.8, 1), 4),
    cases.first(('failed_hosts', 3, 450, 100, 'topology', 0.95, 1), 8),
    cases.first(('failed_hosts', 3, 450, 100, 'scarce', 0.9, 2), 4),
)

# Around the number of variables that counts as small.
_SMALL = (
    Solve(_fits(450, 100, 'scarce', 0.95, 1), 2),
    Solve(_fits(450, 100, 'topology', 0.95, 1), 2),
    Solve(_fits(450, 100, 'scarce', 0.9, 1), 2),
)

# With a first plan at once, and much to improve.
_IMPROVED = (
    Solve(_fits(450, 100, 'topology', 0.9, 1), 3),
    Solve(_fits(200, 60, 'topology', 0.9, 0), 2),
)

# Few members, so that neighbourhoods are fast.
_FEW_MEMBERS = tuple(
    Solve(_fits(1000, 30, family, 0.7, seed), 4)
    for family, seed in (('topology', 0), ('topology', 1))
)

_PROVED_OPTIMAL = tuple(
    Solve(_fits(100, 20, family, fill, seed), 2)
    for family, fill, seed in (
        ('scarce', 0.8, 0),
        ('scarce', 0.8, 1),
        ('topology', 0.95, 0),
        ('topology', 0.95, 1),
        ('topology', 0.7, 1),
        ('plain', 0.95, 1),
    )
)

_REFUSED = (
    Solve(_refused(100, 20, 'contention', 0), 2),
    Solve(_refused(100, 20, 'contention', 1), 2),
    Solve(_refused(1000, 100, 'local', 0), 2),
    Solve(_refused(1000, 100, 'contention', 1), 3),
)

_REFUSED_SLOWLY = (Solve(_refused(1000, 100, 'contention', 1), 3),)

_SUSPECT = tuple(
    cases.first(('suspects', 24, position), 2) for position in (4, 9, 20)
)

_SLOW_PROOFS = (
    Prove(_fits(1000, 100, 'scarce', 0.95, 1), 10),
    Prove(_fits(1000, 100, 'scarce', 0.95, 0), 10),
    Prove(_fits(200, 60, 'scarce', 0.95, 2), 10),
    Prove(('suspects', 24, 9), 10),
    Prove(('contradictions', 1, 45), 10),
)

# More variables than a construction handles at once.
_MANY_VARIABLES = (
    Solve(_fits(1000, 100, 'topology', 0.7, 0), 2),
    Solve(_fits(1000, 200, 'topology', 0.9, 0), 2),
    Solve(_fits(1000, 500, 'scarce', 0.9, 0), 3),
)

# Some members may be left out: all fit, or too many.
_OPTIONAL = tuple(
    Solve(('optional', seed, factor), 4)
    for seed, factor in ((1, 1), (2, 1), (1, 2), (2, 2))
)

# From the smallest program to the largest: memory is never returned.
PROGRAMS = (
    _fits(450, 100, 'scarce', 0.9, 1),
    _fits(1000, 100, 'topology', 0.7, 0),
    _fits(1000, 500, 'topology', 0.9, 0),
    _fits(1000, 500, 'topology', 0.7, 0),
)

MEASUREMENTS = {
    'MAX_BITMAP_STEPS': Measurement(
        (
            *(cases.first(('odd_amounts', n), 2) for n in (90_001, 150_001)),
            cases.first(('odd_amounts', 300_001), 2),
            *_REFUSED[:3],
        )
    ),
    'MAX_HOST_SETS': Measurement(
        (
            cases.first(('host_sets', 150, 140), 3),
            cases.first(('host_sets', 300, 190), 3),
            cases.first(('host_sets', 500, 390), 3),
        )
    ),
    'TIGHT_SHARE': Measurement((*_SUSPECT, *_HARD[1:5])),
    'MAX_SUSPECTS': Measurement(
        (*_SUSPECT, cases.first(('contradictions', 20, 20), 2), *_HARD[1:3])
    ),
    'SUSPECT_SECONDS': Measurement(_SLOW_PROOFS, (0.1, 0.5, 2.0)),
    'CONTRADICTION_SECONDS': Measurement(_SLOW_PROOFS, (0.1, 2.5, 10.0)),
    'SUSPECT_SHARE': Measurement(_SLOW_PROOFS, (0.01, 0.05, 0.2)),
    'MAX_CONTRADICTION_MEMBERS': Measurement(
        tuple(
            cases.first(('contradictions', 1, n), 4) for n in (20, 40, 80, 120)
        )
    ),
    'SUSPECT_GROWTH': Measurement(
        tuple(
            Solve(('suspects', 24, position, False), 4)
            for position in (14, 18, 23)
        ),
        (1.25, 3.0),
    ),
    'MAX_SCARCEST': Measurement(
        (
            *_HARD[4:7],
            cases.first(_fits(1000, 500, 'scarce', 0.9, 0), 4),
            cases.first(_fits(1000, 500, 'scarce', 0.9, 1), 4),
        ),
        (6, 12, 48),
    ),
    'MAX_CACHED_STATES': Measurement(_HARD, (100, 1_000, 10_000)),
    'BATCH_SIZE': Measurement(
        5
        * (
            cases.first(_fits(1000, 500, 'plain', 0.7, 0), 4),
            cases.first(_fits(5000, 200, 'scarce', 0.7, 0), 4),
        )
    ),
    'MAX_DOMAINS': Measurement(_HARD),
    'MAX_ORDERS': Measurement(_HARD),
    'MAX_TRIES': Measurement(_HARD),
    'PERTURBATION': Measurement(_HARD),
    'MIN_MANY_DOMAINS': Measurement(
        (
            *_HARD[:2],
            Solve(_fits(450, 100, 'topology', 0.9, 1), 4),
            Solve(_fits(450, 100, 'scarce', 0.9, 1), 4),
            Solve(_fits(200, 60, 'topology', 0.9, 0), 3),
        )
    ),
    'PART_CAPACITY': Measurement(_ALTERNATING),
    'PART_DOMAINS': Measurement(_ALTERNATING),
    'PART_RANDOM_DOMAINS': Measurement(_ALTERNATING, (0, 2)),
    'MAX_TURN_VARIABLES': Measurement(_ALTERNATING),
    'RARE_TURN': Measurement(_ALTERNATING),
    'PART_LARGE_DOMAINS': Measurement(_ALTERNATING, (2, 3)),
    'WIDE': Measurement(_ALTERNATING),
    'MAX_PART_VARIABLES': Measurement(_ALTERNATING),
    'REPAIR_SECONDS': Measurement(_ALTERNATING),
    'REPAIR_GROWTH': Measurement(_ALTERNATING, (1.0, 2.0)),
    'KEEPING_SHARE': Measurement(_FAILED_HOSTS),
    'KEEPING_WIDTHS[0]': Measurement(_FAILED_HOSTS),
    'KEEPING_WIDTHS[1]': Measurement(_FAILED_HOSTS),
    'KEEPING_WIDTHS[2]': Measurement(_FAILED_HOSTS),
    'BOUNDS_SHARE': Measurement(_BOUNDED),
    'CURRENT_SHARE': Measurement(_FAILED_HOSTS),
    'FITTING_SECONDS': Measurement(_ALTERNATING),
    'SECONDS_PER_VARIABLE': Measurement(
        (
            *_ALTERNATING,
            cases.first(_fits(200, 60, 'scarce', 0.95, 2), 4),
            *_FEW_MEMBERS,
        )
    ),
    'LARGE_PROGRAM': Measurement((*_PROVED_OPTIMAL, *_HARD[3:5])),
    'UNPRESOLVED_SHARE': Measurement(_SLOW_PROOFS, (0.0, 1 / 6, 2 / 3)),
    'CHECK_INTERVAL': Measurement(
        (
            *_PROVED_OPTIMAL,
            _ALTERNATING[2],
            cases.first(_fits(200, 60, 'scarce', 0.95, 2), 4),
        )
    ),
    'MAX_TIE_BREAKING': Measurement(_PROVED_OPTIMAL),
    'CONSTRUCTIONS': Measurement(_HARD),
    'CONSTRUCTION_SHARE': Measurement(
        (cases.first(_fits(5000, 500, 'topology', 0.95, 1), 4),)
    ),
    'MIN_CONSTRUCTION_SECONDS': Measurement(
        (
            cases.first(_fits(5000, 500, 'topology', 0.9, 0), 1),
            cases.first(_fits(5000, 500, 'topology', 0.7, 0), 1),
            cases.first(_fits(1000, 500, 'scarce', 0.9, 0), 1),
        )
    ),
    'MAX_FAST_VARIABLES': Measurement(_MANY_VARIABLES),
    'MAX_SOFT_VARIABLES': Measurement(
        (
            Solve(_fits(1000, 500, 'topology', 0.9, 0), 3),
            Solve(_fits(1000, 500, 'topology', 0.7, 0), 3),
        )
    ),
    'SMALL_VARIABLES': Measurement(_SMALL),
    'TINY_VARIABLES': Measurement(
        (
            Solve(_fits(100, 20, 'scarce', 0.95, 1), 2),
            Solve(_fits(100, 20, 'topology', 0.9, 0), 2),
            Solve(_fits(100, 20, 'scarce', 0.9, 2), 2),
        ),
        (0, 500, 2000),
    ),
    'QUICK_SECONDS': Measurement((*_HARD[1:4], _REFUSED[1], _REFUSED[3])),
    'PART_SECONDS': Measurement(_ALTERNATING),
    'ALL_SECONDS': Measurement(_ALTERNATING),
    'PART_GROWTH': Measurement(_ALTERNATING, (1.3, 2.5)),
    'MAX_PART_SHARE': Measurement(_ALTERNATING, (0.5, 0.8)),
    'INITIAL_RACKS': Measurement(_OPTIONAL),
    'RACKS_GROWTH': Measurement(_OPTIONAL, (1.2, 2.0)),
    'RACKS_SECONDS': Measurement(_OPTIONAL),
    'MAX_IDLE_PASSES': Measurement(_OPTIONAL),
    'MOST_MEMBERS_SHARE': Measurement(_OPTIONAL),
    'ALL_MEMBERS_SHARE': Measurement(_OPTIONAL),
    'MORE_CONSTRUCTIONS': Measurement(_IMPROVED),
    'SMALL_EXACT_SHARE': Measurement(
        (
            Solve(_fits(200, 60, 'topology', 0.9, 0), 2),
            Solve(_fits(100, 20, 'plain', 0.95, 0), 2),
            Solve(_fits(450, 100, 'scarce', 0.95, 1), 2),
        )
    ),
    'MORE_CONSTRUCTIONS_SHARE': Measurement(_IMPROVED),
    'NEIGHBOURHOOD_SHARE': Measurement((*_SMALL[:2], *_FEW_MEMBERS)),
    'MAX_EXACT_VARIABLES': Measurement(
        tuple(Solve(_fits(200, 60, 'topology', 0.9, n), 4) for n in range(2)),
        (500,),
    ),
    'INITIAL_CLASSES': Measurement(_IMPROVED),
    'MIN_CLASSES': Measurement(_IMPROVED),
    'MAX_CLASSES': Measurement(_IMPROVED),
    'MEMBERS_PER_CLASS': Measurement(_IMPROVED),
    'NEIGHBOURHOOD_SECONDS': Measurement(_IMPROVED),
    # Forty neighbourhoods take longer than a measurement.
    'MAX_IDLE_STEPS': Measurement(
        (
            Solve(_fits(1000, 30, 'topology', 0.7, 1), 6),
            Solve(_fits(450, 100, 'scarce', 0.9, 1), 6),
        ),
        (5, 10),
    ),
    'MAX_TARGET_DOMAINS': Measurement(_IMPROVED),
    'ALL_DOMAINS_PROBABILITY': Measurement(_IMPROVED),
    'TARGET_HOSTS': Measurement(_IMPROVED),
    'NEIGHBOURHOOD_RATIO': Measurement(_IMPROVED),
    'PREFERRED_HOSTS': Measurement(_FEW_MEMBERS),
    'CONFLICT_SHARE': Measurement(_REFUSED),
    'RELAXATION_SECONDS[0]': Measurement(_REFUSED_SLOWLY),
    'RELAXATION_SECONDS[1]': Measurement(_REFUSED_SLOWLY),
    'RELAXATION_SECONDS[2]': Measurement(_REFUSED_SLOWLY),
    'QUERY_SHARE': Measurement(_REFUSED),
    'MAX_CONFLICTS': Measurement(
        tuple(Solve(('several_conflicts', n), 4) for n in (2, 5, 7, 10, 14))
    ),
    'MAX_COMBINATIONS': Measurement(
        tuple(Solve(('several_conflicts', n), 4) for n in (2, 3, 4, 5))
    ),
    'MAX_MEMBER_SETS': Measurement(
        tuple(Solve(('member_sets', n), 4) for n in (8, 15, 30))
    ),
    'MAX_CERTIFIED': Measurement(
        tuple(Solve(('member_sets', n), 4) for n in (15, 30, 60))
    ),
    'CONFLICT_PARTS': Measurement(
        tuple(Solve(('member_sets', n), 4) for n in (60, 90))
    ),
    'MAX_RAISED_SETS': Measurement(
        tuple(Solve(('member_sets', n), 4) for n in (8, 15, 30))
    ),
    'BASE_SHARE': Measurement(_REFUSED),
    'ATTEMPT_SHARE': Measurement(_REFUSED),
    'MAX_OTHERS': Measurement(_REFUSED),
    'MAX_END_STATES': Measurement(
        tuple(cases.Move(number) for number in (4, 5, 6, 7))
    ),
    'CHECK_SHARE': Measurement(
        (
            Verify(_refused(1000, 100, 'contention', 0), 2),
            Verify(_refused(1000, 100, 'contention', 1), 1),
            Verify(_refused(1000, 100, 'local', 0), 1),
        )
    ),
}
