# SPDX-License-Identifier: Apache-2.0
"""Runner of one part of the tests, with stestr."""

from collections.abc import Callable
from collections.abc import Sequence
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from parts import Part
import results

TOP = pathlib.Path(__file__).resolve().parents[2]

# Output of stestr if a filter selects no test of a part.
NO_MATCH = "regex doesn't match with anything"

# Seconds without output after which a line shows the progress of a part.
SECONDS_OF_SILENCE = 60


def run(
    part: Part,
    variables: dict[str, str],
    arguments: Sequence[str],
    say: Callable[[str], None],
) -> results.Outcome:
    """Run a part and return its results.

    :param variables: environment variables of the tests
    :param arguments: arguments of ``stestr run``; by default ``part.tests``
    :param say: function that prints failures, at once, and the progress
    """
    outcome = results.Outcome(part.name)
    started, used = time.monotonic(), _processor_seconds()
    with tempfile.TemporaryFile('w+') as errors:
        stestr = subprocess.Popen(
            _command(part, arguments),
            cwd=TOP,
            env=_environment(part, variables),
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        output = results.read(stestr.stdout, outcome, _Progress(say))
        status = stestr.wait()
        if status and NO_MATCH not in output:
            errors.seek(0)
            outcome.trouble = '\n'.join(
                [output, errors.read(), f'stestr ended with {status}']
            )
    outcome.seconds = time.monotonic() - started
    outcome.processor_seconds = _processor_seconds() - used
    return outcome


class _Progress:
    """Printer of failures, and of the progress of a long part."""

    def __init__(self, say: Callable[[str], None]):
        self._say = say
        self._said_at = time.monotonic()

    def __call__(self, outcome: results.Outcome, failed: str | None) -> None:
        """Print a failed test or, after some time, the number of tests."""
        if failed:
            self._say(f'  FAILED {failed}')
        elif time.monotonic() - self._said_at > SECONDS_OF_SILENCE:
            self._say(f'  {outcome.tests} tests')
        else:
            return
        self._said_at = time.monotonic()


def _command(part: Part, arguments: Sequence[str]) -> list[str]:
    return [
        *(sys.executable, '-m', 'stestr', '--test-path', part.path),
        *('run', '--subunit', '--concurrency', _workers(part)),
        *(arguments or [part.tests] * bool(part.tests)),
    ]


def _environment(part: Part, variables: dict[str, str]) -> dict[str, str]:
    return {
        'OS_STDOUT_CAPTURE': '1',
        'OS_STDERR_CAPTURE': '1',
        'OS_TEST_TIMEOUT': '600',
        **os.environ,
        'VRT_WORKERS': _workers(part),
        'VRT_SHARE': str(part.share),
        **variables,
    }


def _workers(part: Part) -> str:
    return os.environ.get('VRT_WORKERS', str(part.workers))


def _processor_seconds() -> float:
    """Return the CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
