# SPDX-License-Identifier: Apache-2.0
"""A process that runs tests of one side.

It reads the name of a test, runs it and writes its result as a line of JSON,
until its input ends. Its arguments are the side and the file descriptor of the
results: what Nova prints is not among them.
"""

import json
import os
import sys
import time
import unittest

import testtools

from tests.nova_functional import sides

# Lines kept of the last traceback of a failed test.
LAST_LINES = 30

_STATUS = {
    'success': 'passed',
    'expectedFailure': 'passed',
    'xfail': 'passed',
    'skip': 'skipped',
}


def main(side: str, descriptor: str) -> None:
    """Run tests until the input ends."""
    results = os.fdopen(int(descriptor), 'w')
    sides.install(side)
    for line in sys.stdin:
        result = run(line.strip())
        results.write(f'{json.dumps(result)}\n')
        results.flush()
    # Threads that a test has left do not keep the process.
    os._exit(0)


def run(name: str) -> dict:
    """Run one test and return its result."""
    results = []

    def keep(test, status, start_time, stop_time, tags, details):
        results.append(
            (_STATUS.get(status, 'failed'), describe(details or {}))
        )

    sides.CALLS.clear()
    begin, used = time.monotonic(), time.process_time()
    unittest.defaultTestLoader.loadTestsFromName(name).run(
        testtools.TestByTestResult(keep)
    )
    # A test that does not run at all has failed.
    status, text = min(results, default=('failed', 'it did not run'))
    return {
        'status': status,
        'text': text,
        'seconds': round(time.monotonic() - begin, 2),
        'processor_seconds': round(time.process_time() - used, 2),
        'calls': dict(sides.CALLS),
    }


def describe(details: dict) -> str:
    """Return the last traceback, or the reason of a skipped test."""
    texts = [
        content.as_text()
        for title, content in sorted(details.items())
        if title.startswith(('traceback', 'reason'))
    ]
    lines = texts[-1].splitlines() if texts else []
    return '\n'.join(lines[-LAST_LINES:])


if __name__ == '__main__':
    main(*sys.argv[1:])
