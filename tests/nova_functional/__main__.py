# SPDX-License-Identifier: Apache-2.0
"""Run Nova's functional tests with stock Nova and with ours, and compare.

Tests that differ are run again alone, as many of Nova's depend on the time
that others take. The exit status is 1 if a test passes with stock only, or,
with one side, if a test fails. The tests of ``test_in_place`` run first: they
fail unless each side has what it should have.
"""

import argparse
import os
import pathlib
import re
import sys
import time

from tests.nova_functional import document
from tests.nova_functional import names
from tests.nova_functional import results
from tests.nova_functional import runner
from tests.nova_functional import selection

PROCESSORS = len(os.sched_getaffinity(0))
# They wait for their threads a good part of the time.
PROCESSES = PROCESSORS + PROCESSORS // 2
# Seconds without output after which a line shows the progress.
SECONDS_OF_SILENCE = 60


def main(argv=None) -> int:
    """Run the command and return the exit status."""
    options = _parser().parse_args(argv)
    selected = list(selection.load(selection.modules()))
    tests = _choose(selected, options)
    found = results.Results(options.keep)
    missing = [test for test in tests if not found.has(test, options.sides)]
    _say(f'{len(tests)} tests, {len(missing)} to run')
    progress = _Progress(found, len(missing) * len(options.sides))
    runner.run(missing, options.sides, options.processes, progress)
    if len(options.sides) == 1:
        return _finish_one_side(found, tests, *options.sides)
    _run_again(found)
    _show(found)
    if options.rst:
        options.rst.write_text(document.rst(found, len(selected)))
    return int(not _is_good(found))


def _parser():
    parser = argparse.ArgumentParser(
        prog='python -m tests.nova_functional', description=__doc__
    )
    parser.add_argument(
        'regex', nargs='?', default='', help='tests to run (default: all)'
    )
    which = parser.add_mutually_exclusive_group()
    for name, chosen, text in (
        ('compare', names.SIDES, 'both, and compare them (default)'),
        ('ours', (names.OURS,), 'with our router and our scheduler only'),
        ('stock', (names.STOCK,), 'with stock Nova only'),
    ):
        which.add_argument(
            f'--{name}',
            action='store_const',
            dest='sides',
            const=chosen,
            help=text,
        )
    parser.set_defaults(sides=names.SIDES)
    parser.add_argument(
        '--processes',
        type=int,
        default=int(os.environ.get('VRT_WORKERS', PROCESSES)),
        metavar='N',
        help='tests that run at a time (default: %(default)s)',
    )
    parser.add_argument(
        '--share',
        type=int,
        default=1,
        metavar='N',
        help='run one in N of the tests',
    )
    parser.add_argument(
        '--draw',
        default='',
        metavar='TEXT',
        help='anything; the same text draws the same share again',
    )
    parser.add_argument(
        '--keep',
        type=pathlib.Path,
        metavar='FILE',
        help='add the results to FILE; those it has are not run again',
    )
    parser.add_argument(
        '--rst',
        type=pathlib.Path,
        metavar='FILE',
        help='write the comparison as reStructuredText',
    )
    return parser


def _choose(selected, options):
    """Return the names of the tests to run, the checks of the sides first."""
    checks = [test.id() for test in selection.load([selection.CHECKS])]
    chosen = selection.draw(selected, options.share, options.draw)
    broken = [test.id() for test in chosen if selection.is_broken(test)]
    if broken:
        raise SystemExit(f'Cannot be imported: {", ".join(broken)}')
    ids = [test.id() for test in chosen]
    return checks + [each for each in ids if re.search(options.regex, each)]


class _Progress:
    """Keeper of the results, who prints failures and the progress."""

    def __init__(self, found, total):
        self._found = found
        self._total = total
        self._done = 0
        self._said_at = time.monotonic()

    def __call__(self, test: str, side: str, result: dict) -> None:
        """Keep a result."""
        self._found.add(test, side, result)
        self._done += 1
        if result['status'] == 'failed':
            self._say(f'  failed with {side}: {test}')
        elif time.monotonic() - self._said_at > SECONDS_OF_SILENCE:
            self._say(f'  {self._done} of {self._total} runs')

    def _say(self, line):
        _say(line)
        self._said_at = time.monotonic()


def _run_again(found):
    """Run tests again whose results differ, one at a time."""

    def keep(test, side, result):
        found.add(test, side, result, alone=True)
        _say(f'  {result["status"]} with {side}, alone: {test}')

    for test in found.tests():
        if found.differ(test) and not found.was_run_again(test):
            for side in names.SIDES:
                runner.run_alone(test, side, keep)


def _finish_one_side(found, tests, side):
    failed = [
        test for test in tests if found.get(test, side)['status'] == 'failed'
    ]
    for test in failed:
        _say('', test, found.get(test, side)['text'])
    _say('', f'{side}: {len(tests) - len(failed)} of {len(tests)} passed')
    return int(bool(failed))


def _is_good(found):
    """Check whether the sides were in place, and ours broke nothing."""
    checks_passed = all(
        found.verdict(test) == results.PASSED
        for test in found.tests()
        if test.startswith(selection.CHECKS)
    )
    return checks_passed and not found.by_verdict()[results.ONLY_STOCK]


def _show(found):
    """Print the comparison."""
    verdicts = found.by_verdict()
    for verdict in (results.ONLY_STOCK, results.ONLY_OURS, results.UNSTABLE):
        for test in verdicts[verdict]:
            _say('', f'{verdict}: {test}', found.failure(test)['text'])
    for test in verdicts[results.FAILED]:
        failure = results.reason(found.failure(test))
        _say('', f'{results.FAILED}: {test}', f'    {failure}')
    _say('', *(f'{len(tests):6} {name}' for name, tests in verdicts.items()))
    for side in names.SIDES:
        took, used = (
            found.seconds(found.tests(), side, kind)
            for kind in ('seconds', 'processor_seconds')
        )
        _say(f'{side}: {took:.0f} s, {used:.0f} s of CPU time')


def _say(*lines):
    sys.stdout.writelines(f'{line}\n' for line in lines)
    sys.stdout.flush()


if __name__ == '__main__':
    sys.exit(main())
