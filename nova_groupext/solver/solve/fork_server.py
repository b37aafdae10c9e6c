# SPDX-License-Identifier: Apache-2.0
"""Server process that imports the solver once and forks a child for each job.

The imports take longer than the decision for most groups. A request has the
child's standard streams and a job socket. The server writes the process id of
the child to the job socket and, when the child has ended, its status; if the
other end is closed first, the server kills the child. The server itself ends
when the process that started it closes the request socket or is gone.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import traceback
from typing import Never

from nova_groupext.solver.policies import registry
from nova_groupext.solver.solve import worker

#: Maximum length of a request or a message on a job socket, in bytes.
MAX_MESSAGE = 1024

#: Descriptors of a request: stdin, stdout, stderr and the job socket.
DESCRIPTORS = 4

# Modules by job that its own module imports only when it needs them.
_IMPORTED_LATE = {
    'search': (
        'nova_groupext.solver.exact.objectives',
        'nova_groupext.solver.exact.tie_breaking',
        'nova_groupext.solver.repair.master_problem',
    )
}


def main(descriptor: int) -> Never:
    """Serve requests.

    :param descriptor: number of the request socket
    """
    server = ForkServer(socket.socket(fileno=descriptor))
    with contextlib.suppress(EOFError):
        while True:
            server.handle_next()
    os._exit(0)


class ForkServer:
    """State of the server: a selector with a handler for each open file.

    It has one thread, so that a child that is forked is complete.
    """

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ, self._fork)

    def handle_next(self) -> None:
        """Wait for an event and handle it.

        :raises EOFError: the process that started the server is gone
        """
        # One event at a time: a handler may close the file of the next.
        key, _ = self._selector.select()[0]
        key.data()

    def _fork(self) -> None:
        """Fork a child for the next request."""
        request, files, *_ = socket.recv_fds(
            self._requests, MAX_MESSAGE, DESCRIPTORS
        )
        if not request:
            raise EOFError
        job, memory_limit = json.loads(request)
        _import_modules(job)
        # Children share these objects as long as nobody writes to them.
        gc.freeze()
        pid = os.fork()
        if not pid:
            _run_child(files, job, memory_limit)
        # Signals from the terminal or to the server do not reach it.
        os.setpgid(pid, pid)
        *streams, descriptor = files
        for stream in streams:
            os.close(stream)
        job_socket = socket.socket(fileno=descriptor)
        self._watch(pid, job_socket)

    def _watch(self, pid: int, job_socket: socket.socket) -> None:
        """Wait for the end of a child, or of its parent's interest in it."""
        process = os.pidfd_open(pid)
        reap = functools.partial(self._reap, pid, process, job_socket)
        kill = functools.partial(self._kill, pid, job_socket)
        self._selector.register(process, selectors.EVENT_READ, reap)
        self._selector.register(job_socket, selectors.EVENT_READ, kill)
        _tell(job_socket, pid)

    def _kill(self, pid: int, job_socket: socket.socket) -> None:
        self._selector.unregister(job_socket)
        # It is not reaped yet, so this is no other process.
        os.kill(pid, signal.SIGKILL)

    def _reap(self, pid: int, process: int, job_socket: socket.socket) -> None:
        _, status = os.waitpid(pid, 0)
        self._selector.unregister(process)
        os.close(process)
        # It is gone if the child was killed.
        with contextlib.suppress(KeyError):
            self._selector.unregister(job_socket)
        _tell(job_socket, os.waitstatus_to_exitcode(status))
        job_socket.close()


def _import_modules(job: str) -> None:
    """Import what the children need, also what few of them need."""
    # The child reports what fails here.
    with contextlib.suppress(Exception):
        for module in (worker.JOBS[job][0], *_IMPORTED_LATE.get(job, ())):
            importlib.import_module(module)
        # Their classes are part of the problems.
        registry.types()


def _tell(job_socket: socket.socket, number: int) -> None:
    """Send a number to the parent of a child, unless it is gone."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        job_socket.send(b'%d' % number)


def _run_child(files: list[int], job: str, memory_limit: int) -> Never:
    """Run a job in the forked child and exit."""
    try:
        for number, file in enumerate(files[:3]):
            os.dup2(file, number)
        # Only the server watches its other children.
        os.closerange(3, os.sysconf('SC_OPEN_MAX'))
        worker.main(job, memory_limit)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
