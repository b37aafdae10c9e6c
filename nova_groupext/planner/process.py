# SPDX-License-Identifier: Apache-2.0
"""A child process that is fed once, read line by line, and always ended."""

import contextlib
import os
import selectors
import signal
import subprocess
import time

from nova_groupext.planner import memory

#: Longest line that is read, in bytes: a plan for 10,000 members with the
#: longest names fits several times.
MAX_LINE = 64 * 1024**2

_CHUNK = 64 * 1024


class Child:
    """A running command; a context manager that leaves nothing behind.

    Its standard input stays open as long as this object lives, so a child can
    tell when its parent is gone. Signals from a terminal do not reach it.

    :ivar ending: why the lines ended, None if the child was successful
    :ivar peak_mib: the most memory it held, in MiB, if it had to be killed
    """

    def __init__(self, command, environment=None):
        """Start.

        :param command: list of the program and its arguments
        :param environment: variables that are added to this process's
        """
        self.ending = 'was not asked'
        self.peak_mib = 0
        self._is_late = False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            bufsize=0,
            process_group=0,
        )
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes:
            pipe.close()

    @property
    def _pipes(self):
        return self._process.stdin, self._process.stdout

    def lines(self, data, seconds):
        """Feed the child and read what it says, until it ends or has to.

        :param data: bytes for its standard input
        :param seconds: how long at most; then it is killed
        :returns: generator of whole lines, bytes without the line feed
        """
        end = time.monotonic() + seconds
        rest = bytearray()
        for chunk in self._chunks(memoryview(data), end):
            first, *others = chunk.split(b'\n')
            rest += first
            for other in others:
                yield bytes(rest)
                rest = bytearray(other)
            if len(rest) > MAX_LINE:
                self.ending = 'wrote an endless line'
                return
        self.ending = self._wait(end)

    def _chunks(self, data, end):
        """What the child writes, as it comes."""
        stdin, stdout = self._pipes
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            while (left := end - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    if key.fileobj is stdin:
                        data = self._feed(data)
                        if not data:
                            selector.unregister(stdin)
                    elif chunk := stdout.read(_CHUNK):
                        yield chunk
                    else:
                        return
        # What is in the pipe by now was said in time.
        self._kill()
        while chunk := stdout.read(_CHUNK):
            yield chunk

    def _feed(self, data):
        """Write what the pipe takes; give the rest."""
        try:
            return data[self._process.stdin.write(data) :]
        except BrokenPipeError:
            # Why the child reads no more is told by the way it ends.
            return b''

    def _wait(self, end):
        """Wait for the end; say what was wrong with it."""
        try:
            status = self._process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._kill()
        if self._is_late:
            return 'did not end in time'
        return _describe(status)

    def _kill(self):
        self.peak_mib = memory.peak_mib(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._is_late = True


def _describe(status):
    """What is wrong with an exit status, None if nothing is."""
    if status < 0:
        # Those that are reserved for applications have no name.
        with contextlib.suppress(ValueError):
            return f'ended by signal {signal.Signals(-status).name}'
        return f'ended by signal {-status}'
    return f'ended with status {status}' if status else None
