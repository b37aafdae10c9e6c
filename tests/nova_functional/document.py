# SPDX-License-Identifier: Apache-2.0
"""The comparison as reStructuredText, for the documentation."""

from collections.abc import Iterable
from collections.abc import Iterator
from importlib import metadata
import itertools
import textwrap

from tests.nova_functional import names
from tests.nova_functional import results
from tests.nova_functional import selection

WIDTH = 100
# Characters of the reason of a failure.
REASON = 300

SCHEDULED = 'HolisticSchedulerManager.select_destinations'
ROUTED = 'APIRouter.__init__'

HEADER = """\
.. Written by python -m tests.nova_functional --rst. Do not edit.

{text}

.. list-table::
   :header-rows: 1
   :widths: 40 {widths}
"""
# Columns of the table, by verdict.
COLUMNS = {
    results.PASSED: 'pass',
    results.SKIPPED: 'skipped',
    results.FAILED: 'fail with both',
    results.UNSTABLE: 'unstable',
    results.ONLY_STOCK: 'stock only',
    results.ONLY_OURS: 'ours only',
}
# Before the cells of a row.
MARKS = ('   *', *['    '] * (len(COLUMNS) + 1))
EXCEPTIONS = tuple(COLUMNS)[2:]
REGRESSIONS = 'regressions'


def rst(found: results.Results, selected: int) -> str:
    """Return the document.

    :param selected: number of tests in the selection
    """
    header = HEADER.format(
        text=textwrap.fill(_summary(found, selected), WIDTH),
        widths=' '.join(['10'] * (len(MARKS) - 1)),
    )
    rows = [['module', 'tests', *COLUMNS.values()], *_rows(found)]
    table = [_cells(row) for row in rows]
    return '\n'.join([header, *table, *_exceptions(found), ''])


def _cells(row):
    return '\n'.join(
        f'{mark} - {cell}'.rstrip()
        for mark, cell in zip(MARKS, row, strict=True)
    )


def _summary(found, selected):
    tests = _tests(found)
    routed, scheduled = (
        found.count_calling(tests, name) for name in (ROUTED, SCHEDULED)
    )
    stock, ours = (
        found.seconds(tests, side, 'processor_seconds') / len(tests)
        for side in names.SIDES
    )
    return (
        f'Nova {metadata.version("nova")}: {len(tests)} of the '
        f'{selected} selected tests, each run with stock Nova and with ours. '
        f'With ours {routed} of them loaded our '
        f'router, and in {scheduled} our scheduler selected hosts. A test '
        f'took {stock:.1f} seconds of CPU time with stock Nova and '
        f'{ours:.1f} with ours. Tests that failed on one side were run again '
        'alone; those that then had the same result on both are called '
        'unstable.'
    )


def _tests(found):
    """Return the compared tests of Nova."""
    return sorted(
        test for test in found.tests() if test.startswith(selection.ROOT)
    )


def _rows(found: results.Results) -> Iterator[list]:
    for name, tests in itertools.groupby(
        sorted(_tests(found), key=_row_of), _row_of
    ):
        verdicts = [found.verdict(test) for test in tests]
        yield [
            f'``{name}``',
            len(verdicts),
            *(verdicts.count(verdict) or '' for verdict in COLUMNS),
        ]


def _row_of(test):
    """Return the row of a test: each module has one, all regressions one."""
    name = selection.module_of(test)
    return REGRESSIONS if name.startswith(f'{REGRESSIONS}.') else name


def _exceptions(found: results.Results) -> Iterator[str]:
    """Yield a list of the tests of each verdict but the good ones."""
    verdicts = found.by_verdict()
    for verdict in EXCEPTIONS:
        if verdicts[verdict]:
            yield f'\n{COLUMNS[verdict].capitalize()}:\n'
        for test in sorted(verdicts[verdict]):
            yield from _item(test, results.reason(found.failure(test)))


def _item(test: str, failure: str) -> Iterable[str]:
    text = failure.replace('`', "'").replace('\\', '/')[:REASON]
    return [
        f'* ``{test.removeprefix(f"{selection.ROOT}.")}``:',
        *textwrap.wrap(
            f'``{text}``',
            WIDTH,
            initial_indent='  ',
            subsequent_indent='  ',
            break_on_hyphens=False,
        ),
    ]
