# SPDX-License-Identifier: Apache-2.0
"""Results of both sides and what their comparison says of each test."""

import collections
import json
import pathlib

from tests.nova_functional import names

PASSED = 'passed with both'
SKIPPED = 'skipped with both'
FAILED = 'failed with both'
ONLY_STOCK = 'passed with stock only'
ONLY_OURS = 'passed with ours only'
UNSTABLE = 'unstable'
VERDICTS = (PASSED, SKIPPED, FAILED, ONLY_STOCK, ONLY_OURS, UNSTABLE)

_RANKS = {'failed': 0, 'skipped': 1, 'passed': 2}
_ALIKE = {'passed': PASSED, 'skipped': SKIPPED, 'failed': FAILED}


class Results:
    """Results of tests, the last one of each test and side.

    :param file: JSON lines, read at first and then added to, so that a run
        can continue an earlier one; None to keep nothing
    """

    def __init__(self, file: pathlib.Path | None = None):
        self._file = file
        self._first = collections.defaultdict(dict)
        self._again = collections.defaultdict(dict)
        if file and file.exists():
            for line in file.read_text().splitlines():
                self._store(**json.loads(line))

    def add(
        self, test: str, side: str, result: dict, *, alone: bool = False
    ) -> None:
        """Add a result.

        :param alone: whether the test was run again, in its own process
        """
        entry = {'test': test, 'side': side, 'alone': alone, 'result': result}
        self._store(**entry)
        if self._file:
            with self._file.open('a') as out:
                out.write(f'{json.dumps(entry)}\n')

    def _store(self, test, side, alone, result):
        kept = self._again if alone else self._first
        kept[test][side] = result

    def tests(self) -> list[str]:
        """Return the tests that have a result of both sides."""
        return [test for test in self._first if self.has(test)]

    def has(self, test: str, wanted: tuple[str, ...] = names.SIDES) -> bool:
        """Check whether a test has run on the wanted sides."""
        return all(side in self._first.get(test, ()) for side in wanted)

    def was_run_again(self, test: str) -> bool:
        return all(side in self._again.get(test, ()) for side in names.SIDES)

    def get(self, test: str, side: str) -> dict:
        """Return the last result of a test."""
        again = self._again.get(test, {})
        return again.get(side) or self._first[test][side]

    def failure(self, test: str) -> dict:
        """Return the last result that is not a pass, that of ours first."""
        return next(
            kept[test][side]
            for side in reversed(names.SIDES)
            for kept in (self._again, self._first)
            if kept.get(test, {}).get(side, {}).get('status', 'passed')
            != 'passed'
        )

    def differ(self, test: str) -> bool:
        """Check whether a test had two results, at first."""
        first = {self._first[test][side]['status'] for side in names.SIDES}
        return len(first) > 1

    def verdict(self, test: str) -> str:
        """Return one of VERDICTS.

        A test that has run again is unstable, unless it differs again.
        """
        stock, ours = (self.get(test, side)['status'] for side in names.SIDES)
        if stock == ours:
            return UNSTABLE if self.differ(test) else _ALIKE[ours]
        # A test that is skipped with ours only hides what it would find.
        is_worse = _RANKS[ours] < _RANKS[stock]
        return ONLY_STOCK if is_worse else ONLY_OURS

    def by_verdict(self) -> dict[str, list[str]]:
        """Return the compared tests of each verdict."""
        found = {verdict: [] for verdict in VERDICTS}
        for test in self.tests():
            found[self.verdict(test)].append(test)
        return found

    def count_calling(self, tests: list[str], name: str) -> int:
        """Return in how many of the tests a function of ours was called."""
        return sum(
            name in self._first[test][names.OURS].get('calls', ())
            for test in tests
        )

    def seconds(
        self, tests: list[str], side: str, kind: str = 'seconds'
    ) -> float:
        """Return the time that tests took on a side.

        :param kind: ``seconds``, or ``processor_seconds``
        """
        return sum(self._first[test][side].get(kind, 0) for test in tests)


def reason(result: dict) -> str:
    """Return the last line of a failure's text."""
    lines = [line.strip() for line in result['text'].splitlines()]
    return next(filter(None, reversed(lines)), 'no reason')
