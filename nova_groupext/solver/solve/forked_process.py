# SPDX-License-Identifier: Apache-2.0
"""Child processes that this process's fork server forks."""

import atexit
from collections.abc import Sequence
import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
import threading

from nova_groupext.solver.solve import fork_server

_ENVIRONMENT = {
    # Every thread of a numeric library reserves address space.
    'OPENBLAS_NUM_THREADS': '1',
    # Sets have the same order in every run.
    'PYTHONHASHSEED': '0',
}

_CODE = 'from nova_groupext.solver.solve import fork_server as s; s.main({})'

_STDERR = 2


class ForkedProcess:
    """Child process, used like a subprocess.Popen.

    :ivar stdin: pipe to the child's standard input
    :ivar stdout: pipe from the child's standard output
    """

    def __init__(self, job: str, memory_limit: int) -> None:
        """Ask the fork server for the child, without waiting for it.

        :param job: key of worker.JOBS
        :param memory_limit: bytes of address space
        """
        read_input, write_input = os.pipe()
        read_output, write_output = os.pipe()
        self.stdin = os.fdopen(write_input, 'wb', buffering=0)
        self.stdout = os.fdopen(read_output, 'rb', buffering=0)
        self._socket, other = _socket_pair()
        files = [read_input, write_output, _STDERR, other.fileno()]
        try:
            _request(json.dumps([job, memory_limit]).encode(), files)
        finally:
            os.close(read_input)
            os.close(write_output)
            other.close()

    @functools.cached_property
    def pid(self) -> int | None:
        """Process id; None if the fork server ended before it forked."""
        return self._receive()

    @functools.cached_property
    def _status(self) -> int | None:
        """Exit status, negative for a signal; None if it is not known."""
        status = self._receive() if self.pid else None
        self._socket.close()
        return status

    def _receive(self) -> int | None:
        """Return the next number from the fork server, None if it is gone."""
        message = self._socket.recv(fork_server.MAX_MESSAGE)
        return int(message) if message else None

    def kill(self) -> None:
        """Make the fork server kill the child."""
        # Without a connection, the child or the fork server has ended.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the child and return its exit status.

        :param timeout: maximum number of seconds
        :returns: negative for a signal, None if the fork server is gone
        :raises subprocess.TimeoutExpired: the child runs on
        """
        if '_status' not in self.__dict__:
            self._socket.settimeout(timeout)
        try:
            return self._status
        except (BlockingIOError, TimeoutError):
            raise subprocess.TimeoutExpired('solver', timeout or 0) from None


class _Server:
    """Running fork server of one process."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        self._socket, other = _socket_pair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, '-P', '-c', _CODE.format(other.fileno())],
                env={**os.environ, **_ENVIRONMENT},
                pass_fds=[other.fileno()],
                process_group=0,
            )

    def send(self, message: bytes, files: Sequence[int]) -> None:
        socket.send_fds(self._socket, [message], files)

    def stop(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait()


_lock = threading.Lock()
_server: _Server | None = None


def _request(message: bytes, files: Sequence[int]) -> None:
    """Send a request to the fork server, and start that first if needed."""
    global _server
    with _lock:
        # A process that was forked from another has no server of its own.
        if _server is None or _server.parent != os.getpid():
            _server = _Server()
        try:
            _server.send(message, files)
        except (BrokenPipeError, ConnectionResetError):
            _server.stop()
            _server = _Server()
            _server.send(message, files)


@atexit.register
def stop_server() -> None:
    """End the fork server; the next child starts another one."""
    global _server
    with _lock:
        if _server is not None and _server.parent == os.getpid():
            _server.stop()
        _server = None


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets that keep the limits of messages."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
