# SPDX-License-Identifier: Apache-2.0
"""Child process that gets one input, returns lines, and always ends."""

from collections.abc import Iterator
import contextlib
import os
import selectors
import signal
import subprocess
import time
from typing import IO
from typing import Protocol
from typing import Self

from nova_groupext.solver.solve import memory

#: Limit on the length of a line, in bytes: a plan for 10,000 members with the
#: longest names fits several times.
MAX_LINE = 64 * 1024**2

_CHUNK = 64 * 1024


class Process(Protocol):
    """Part of subprocess.Popen that is used here."""

    @property
    def pid(self) -> int | None: ...

    @property
    def stdin(self) -> IO[bytes] | None: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int | None: ...


class PipedProcess:
    """Running process; as a context manager, it kills the process on exit.

    Its standard input stays open until then, so the child can detect the end
    of its parent.

    :ivar exit_reason: why the lines ended, None if the child was successful
    :ivar peak_mib: peak memory in MiB, if the parent had to kill the child
    """

    def __init__(self, process: Process) -> None:
        """Use a process.

        :param process: its standard input and output are unbuffered pipes
        """
        self.exit_reason: str | None = 'was not started'
        self.peak_mib = 0
        self._was_killed = False
        self._process = process
        if process.stdin is None or process.stdout is None:
            raise AssertionError('the pipes are missing')
        self._stdin, self._stdout = process.stdin, process.stdout
        for pipe in (self._stdin, self._stdout):
            os.set_blocking(pipe.fileno(), False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        # Without its fork server, the end of the input ends the child.
        self._stdin.close()
        self._process.wait()
        self._stdout.close()

    def lines(self, data: bytes, seconds: float) -> Iterator[bytes]:
        """Write data to the child and read its lines, until it ends or has to.

        :param data: for its standard input
        :param seconds: time limit, after which the parent kills the child
        :returns: whole lines, without the line feed
        """
        end = time.monotonic() + seconds
        line = bytearray()
        for chunk in self._chunks(memoryview(data), end):
            first, *others = chunk.split(b'\n')
            line += first
            for other in others:
                yield bytes(line)
                line = bytearray(other)
            if len(line) > MAX_LINE:
                self.exit_reason = 'wrote a line that is too long'
                return
        self.exit_reason = self._wait(end)

    def _chunks(self, data: memoryview, end: float) -> Iterator[bytes]:
        """Yield the output of the child as it arrives."""
        stdin, stdout = self._stdin, self._stdout
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            while (remaining := end - time.monotonic()) > 0:
                for key, _ in selector.select(remaining):
                    if key.fileobj is stdin:
                        data = self._write(data)
                        if not data:
                            selector.unregister(stdin)
                    elif chunk := stdout.read(_CHUNK):
                        yield chunk
                    else:
                        return
        # Output that is in the pipe by now is in time.
        self._kill()
        while chunk := stdout.read(_CHUNK):
            yield chunk

    def _write(self, data: memoryview) -> memoryview:
        """Write as much as the pipe accepts; return the rest."""
        try:
            return data[self._stdin.write(data) :]
        except BrokenPipeError:
            # The exit status of the child shows why it reads no more.
            return data[:0]

    def _wait(self, end: float) -> str | None:
        """Wait for the end of the child; return why it failed, or None."""
        try:
            status = self._process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._kill()
        if self._was_killed:
            return 'did not end in time'
        return _failure_reason(status)

    def _kill(self) -> None:
        if self._process.pid:
            self.peak_mib = memory.peak_mib(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._was_killed = True


def _failure_reason(status: int | None) -> str | None:
    """Return why an exit status is a failure, None if it is not."""
    if status is None:
        return 'lost its fork server'
    if status < 0:
        # Most real-time signals have no name.
        with contextlib.suppress(ValueError):
            return f'ended by signal {signal.Signals(-status).name}'
        return f'ended by signal {-status}'
    return f'ended with status {status}' if status else None
