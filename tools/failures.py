# SPDX-License-Identifier: Apache-2.0
"""Tell once more which tests failed, and why: at the end, where one looks.

Reads the results that stestr keeps of every run in this checkout.
"""

import pathlib
import sys

from stestr.repository import util
import testtools

TOP = pathlib.Path(__file__).resolve().parent.parent
# Of what a test has logged; its traceback is told whole.
LAST_LINES = 20


def _failed() -> dict[str, dict]:
    """The tests that ended badly or not at all, by their names."""
    tests: dict[str, dict] = {}

    def note(test: dict) -> None:
        if test['status'] not in ('success', 'skip', 'xfail'):
            tests[test['id']] = test

    repository = util.get_repo_open(repo_url=str(TOP))
    for run in range(repository.count()):
        result = testtools.StreamToDict(note)
        result.startTestRun()
        repository.get_test_run(run).get_test().run(result)
        result.stopTestRun()
    return tests


def _tell(name: str, test: dict) -> None:
    _say('', '=' * 70, name, '-' * 70)
    for title, content in sorted(test['details'].items()):
        lines = content.as_text().splitlines()
        kept = lines if title.startswith('traceback') else lines[-LAST_LINES:]
        _say(f'{title}:', *kept)


def _say(*lines: str) -> None:
    sys.stdout.writelines(f'{line}\n' for line in lines)


def main() -> None:
    failed = _failed()
    for name, test in failed.items():
        _tell(name, test)
    _say('', f'{len(failed)} failed', *failed)


if __name__ == '__main__':
    main()
