# SPDX-License-Identifier: Apache-2.0
"""Processes that run tests, each of one side."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent import futures
import contextlib
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).parents[2]

# Seconds after which a test stops itself, and after which its process ends: a
# cleanup may wait for ever.
TEST_SECONDS = 180
PROCESS_SECONDS = TEST_SECONDS + 60
# Lines kept of the output of a process that has ended.
LAST_LINES = 30


class Worker:
    """One process; a new one takes its place if it ends within a test."""

    def __init__(self, side: str):
        self._side = side
        self._process = None
        self._output = None
        self._results = None

    def run(self, name: str) -> dict:
        """Run a test and return its result: see worker.run()."""
        if self._process is None:
            self._start()
        process = self._process
        timer = threading.Timer(PROCESS_SECONDS, process.kill)
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(f'{name}\n')
                process.stdin.flush()
            line = self._results.readline()
        finally:
            timer.cancel()
        return json.loads(line) if line else self._lost()

    def kill(self) -> None:
        """Break off the test that runs; another thread waits for it."""
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._results.close()
            self._output.close()
            self._process = None

    def _start(self):
        self._output = tempfile.TemporaryFile(  # noqa: SIM115
            'w+', errors='replace'
        )
        ours, theirs = os.pipe()
        self._results = os.fdopen(ours)
        self._process = subprocess.Popen(
            [
                *(sys.executable, '-m', 'tests.nova_functional.worker'),
                *(self._side, str(theirs)),
            ],
            cwd=TOP,
            env=_environment(),
            pass_fds=(theirs,),
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            # Ctrl-C does not make it a failed test.
            start_new_session=True,
            text=True,
        )
        os.close(theirs)

    def _lost(self):
        """Return the result of a test that has ended its process."""
        status = self._process.wait()
        self._output.seek(0)
        lines = self._output.read().splitlines()[-LAST_LINES:]
        self.stop()
        lines.append(f'The process of the test ended with {status}.')
        return {'status': 'failed', 'text': '\n'.join(lines)}


def _environment():
    found = [str(TOP), *filter(None, [os.environ.get('PYTHONPATH')])]
    return {
        'OS_STDOUT_CAPTURE': '1',
        'OS_STDERR_CAPTURE': '1',
        'OS_TEST_TIMEOUT': str(TEST_SECONDS),
        **os.environ,
        'PYTHONPATH': os.pathsep.join(found),
    }


def run(
    tests: Iterable[str],
    sides: Sequence[str],
    threads: int,
    notify: Callable[[str, str, dict], None],
) -> None:
    """Run each test on each side, the sides one after the other.

    :param threads: number of tests that run at a time
    :param notify: function called with a test, its side and its result, by
        one thread at a time
    """
    pending = _Pending(tests, notify)
    crews = [
        {side: Worker(side) for side in sides} for _each in range(threads)
    ]
    with futures.ThreadPoolExecutor(threads) as pool:
        try:
            for done in [pool.submit(pending.run, crew) for crew in crews]:
                done.result()
        finally:
            pending.stop()
            for crew in crews:
                for worker in crew.values():
                    worker.kill()


class _Pending:
    """Tests that wait for a thread."""

    def __init__(self, tests, notify):
        self._tests = queue.SimpleQueue()
        for test in tests:
            self._tests.put(test)
        self._notify = notify
        self._lock = threading.Lock()
        self._is_stopped = False

    def run(self, workers: dict[str, Worker]) -> None:
        """Run tests, as long as there are any."""
        try:
            while True:
                test = self._tests.get_nowait()
                for side, worker in workers.items():
                    self._run_test(test, side, worker)
        except queue.Empty:
            return
        finally:
            for worker in workers.values():
                worker.stop()

    def _run_test(self, test, side, worker):
        result = worker.run(test)
        with self._lock:
            if self._is_stopped:
                raise queue.Empty
            self._notify(test, side, result)

    def stop(self) -> None:
        """Ignore the results of tests that still run."""
        with self._lock:
            self._is_stopped = True


def run_alone(
    test: str, side: str, notify: Callable[[str, str, dict], None]
) -> None:
    """Run a test in a process of its own."""
    worker = Worker(side)
    try:
        notify(test, side, worker.run(test))
    finally:
        worker.stop()
