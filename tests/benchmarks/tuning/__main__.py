# SPDX-License-Identifier: Apache-2.0
"""Measurement of other values of the solver's tuned numbers.

``tox -e bench-tuning`` solves a fixed set of problems with half, the same and
double the value of each number of ``nova_groupext.solver.tuning``, one case
after the other, and prints for each other value:

time    processor seconds, as a ratio to those with the present value
first   the same until the first answer
decided how many cases have a plan or a proof; before "for", with the present
        value
cost    mean difference of the plans' soft costs
scores  mean difference of the plans' weigher scores
relaxations
        how many the refusals offer
other answers
        how many cases have another answer than with the present value

If no answer differs, the number made no difference but for time, of which a
tenth is chance. All time limits count processor time.
"""

import argparse
import collections
import contextlib
import statistics
import sys
import types
from unittest import mock

from nova_groupext.solver import tuning
from tests.benchmarks.planner import machine
from tests.benchmarks.planner import tables
from tests.benchmarks.tuning import cases
from tests.benchmarks.tuning import measurements


def main(argv=None):
    """Run the measurements; print a line for each other value."""
    options = _parse_arguments(argv)
    _show(f'{machine.describe()}.')
    if options.programs:
        _show_programs()
        return
    for name in options.number or measurements.MEASUREMENTS:
        measure = _show_uses if options.uses else _show_results
        measure(name, measurements.MEASUREMENTS[name])


def _show_results(name, measurement):
    """Decide each case with each value; print the comparisons."""
    number = measurements.Number(name)
    others = measurement.values or number.half_and_double()
    results = collections.defaultdict(list)
    for case in measurement.cases:
        for value in (number.present, *others):
            with mock.patch.object(
                tuning, number.attribute, number.replaced_by(value)
            ):
                results[value].append(case.run())
    for value in others:
        line = compare(results[number.present], results[value])
        _show(f'{name} = {value:g}: {line}')


def compare(present, other):
    """Return the comparison of two lists of cases.Result, in words."""
    both = list(zip(present, other, strict=True))
    parts = [
        f'time {_ratio(both, "seconds"):.2f}',
        f'first {_ratio(both, "first_seconds"):.2f}',
        f'decided {_sum(other, "is_decided")} for '
        f'{_sum(present, "is_decided")} of {len(present)}',
    ]
    parts += [
        f'{label} {_mean_difference(both, field):+.1%}'
        for field, label in (('cost', 'cost'), ('score', 'scores'))
        if any(getattr(result, field) is not None for result in present)
    ]
    if _sum(present, 'members') != _sum(other, 'members'):
        parts.append(
            f'members {_sum(other, "members")} for {_sum(present, "members")}'
        )
    if _sum(present, 'relaxations'):
        parts.append(
            f'relaxations {_sum(other, "relaxations")} for '
            f'{_sum(present, "relaxations")}'
        )
    different = sum(one.answer != another.answer for one, another in both)
    parts.append(f'other answers {different}')
    return ', '.join(parts)


def _sum(results, field):
    return sum(getattr(result, field) for result in results)


def _ratio(both, field):
    present, other = zip(*both, strict=True)
    return _sum(other, field) / _sum(present, field)


def _mean_difference(both, field):
    """Return the mean of the ratios of a field, less one."""
    ratios = [
        tables.ratio(getattr(other, field), getattr(present, field))
        for present, other in both
        if None not in (getattr(other, field), getattr(present, field))
    ]
    return statistics.mean(ratios) - 1 if ratios else 0.0


def _show_uses(name, measurement):
    """Print how often each case reads a number, and the case's result."""
    number = measurements.Number(name)
    for case in measurement.cases:
        with _counted() as counts:
            result = case.run()
        _show(f'{name} read {counts[number.attribute]} times: {case}')
        _show(f'    {result._replace(answer=None)}')


def _show_programs():
    """Print what building an integer program takes, for several sizes."""
    for source in measurements.PROGRAMS:
        program = cases.build(source)
        each = program.seconds / program.assignments
        _show(
            f'{source}: {program.assignments} assignments, {each:.1e} s '
            f'each, {program.mib} MiB'
        )


@contextlib.contextmanager
def _counted():
    """Count how often each number is read within the context."""
    counts = collections.Counter()

    class CountingModule(types.ModuleType):
        def __getattribute__(self, name):
            counts[name] += 1
            return super().__getattribute__(name)

    tuning.__class__ = CountingModule
    try:
        yield counts
    finally:
        tuning.__class__ = types.ModuleType


def _show(line):
    sys.stdout.write(f'{line}\n')
    sys.stdout.flush()


def _parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog='bench-tuning', description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add(
        '--number',
        nargs='+',
        choices=measurements.MEASUREMENTS,
        metavar='NAME',
        help='numbers of tuning.py (default: all)',
    )
    add(
        '--uses',
        action='store_true',
        help='count how often each case reads its number, change nothing',
    )
    add(
        '--programs',
        action='store_true',
        help='measure seconds and memory of integer programs over all hosts',
    )
    return parser.parse_args(argv)


if __name__ == '__main__':
    sys.exit(main())
