# SPDX-License-Identifier: Apache-2.0
"""Child side of the solver's process.

It reads a pickled job from its standard input and writes results, one JSON
object per line, each with the peak memory so far. The last line has no result,
but the reason if the job failed.
"""

import dataclasses
import fcntl
import gc
import importlib
import json
import os
import pickle
import re
import resource
import select
import signal
import sys
import traceback
from typing import BinaryIO
from typing import Never

from nova_groupext.solver.solve import memory

#: Jobs by name: module and function, which yields dataclass objects.
JOBS = {
    'search': ('nova_groupext.solver.solve.stages', 'search'),
    'check': ('nova_groupext.solver.verify.verify', 'findings'),
}

_RECURSION_LIMIT = 100_000

# Messages of failed imports of shared libraries without memory.
_NO_MEMORY = re.compile('allocate memory|failed to map')


def main(job: str, memory_limit: int) -> Never:
    """Run a job and exit.

    :param job: key of JOBS
    :param memory_limit: bytes of address space
    """
    # Constructions nest as deep as policies that bind a member to one domain.
    sys.setrecursionlimit(_RECURSION_LIMIT)
    out = os.fdopen(os.dup(sys.stdout.fileno()), 'wb')
    # Output of libraries must not get between the lines.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _set_limit(resource.RLIMIT_AS, memory_limit, memory_limit)
    try:
        reason = _run(job, out, memory_limit)
        _send(out, **({'reason': reason} if reason else {}))
    except (BrokenPipeError, EOFError):
        # The parent is gone: no process would read a reason.
        os._exit(1)
    # The operating system frees all resources.
    os._exit(0)


def _run(job: str, out: BinaryIO, memory_limit: int) -> str | None:
    """Run a job; return the reason if it fails."""
    try:
        _run_job(job, out)
        return None
    except (BrokenPipeError, EOFError):
        raise
    except Exception as error:
        if _is_lack_of_memory(error):
            return f'ran out of memory: {memory_limit // 1024**2} MiB'
        traceback.print_exc()
        return f'failed: {type(error).__name__}'


def _is_lack_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or (
        isinstance(error, (ImportError, OSError))
        and _NO_MEMORY.search(str(error)) is not None
    )


def _run_job(job: str, out: BinaryIO) -> None:
    module, function = JOBS[job]
    # The fork server has imported it, if it could.
    run = getattr(importlib.import_module(module), function)
    try:
        # The other end of the pipe is child.Solver.
        cpu_limit, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301
    except pickle.UnpicklingError:
        # The parent closed the pipe in the middle of the job.
        raise EOFError from None
    # The child ends even if the parent is gone and HiGHS ignores the time.
    _set_limit(resource.RLIMIT_CPU, cpu_limit, cpu_limit + 1)
    _end_with_parent()
    # No part of a large problem is garbage before the end.
    gc.freeze()
    for result in run(*arguments):
        _send(out, result=dataclasses.asdict(result))


def _set_limit(kind: int, soft: int, hard: int) -> None:
    """Set a resource limit, unless a lower one is set already."""
    _, maximum = resource.getrlimit(kind)
    if maximum != resource.RLIM_INFINITY:
        soft, hard = min(soft, maximum), min(hard, maximum)
    resource.setrlimit(kind, (soft, hard))


def _end_with_parent() -> None:
    """Make the kernel end this process when the parent closes the pipe."""
    stdin = sys.stdin.fileno()
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(stdin, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(stdin, fcntl.F_GETFL)
    fcntl.fcntl(stdin, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([stdin], [], [], 0)[0]:
        # The parent closed the pipe before the kernel watched it.
        raise EOFError


def _send(out: BinaryIO, **line: object) -> None:
    line['peak_mib'] = memory.peak_mib()
    out.write(json.dumps(line).encode() + b'\n')
    out.flush()
