# SPDX-License-Identifier: Apache-2.0
"""The solver's own process, seen from inside.

It reads a pickled job from its standard input and writes what it finds, a
JSON object a line, each with the memory it took so far. The last line has
nothing found in it, or the reason of an early end.
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

from nova_groupext.planner import memory

#: Jobs by name: module and function, a generator of dataclass objects.
JOBS = {
    'search': ('nova_groupext.planner.search', 'search'),
    'check': ('nova_groupext.planner.check.verify', 'findings'),
}

_DEEP = 100_000

# So the imports of shared libraries fail that find no memory.
_NO_MEMORY = re.compile('allocate memory|failed to map')


def main(job, memory_limit):
    """Do a job and exit.

    :param job: key of JOBS
    :param memory_limit: bytes of address space
    """
    # Attempts nest as deep as policies do that tie the same member to others.
    sys.setrecursionlimit(_DEEP)
    out = os.fdopen(os.dup(sys.stdout.fileno()), 'wb')
    # Nothing a library prints may get between the lines.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit(resource.RLIMIT_AS, memory_limit, memory_limit)
    try:
        reason = _try(job, out, memory_limit)
        _tell(out, **({'reason': reason} if reason else {}))
    except (BrokenPipeError, EOFError):
        # The parent is gone; nobody is left to be told.
        os._exit(1)
    # What is left to tidy up goes with the process.
    os._exit(0)


def _try(job, out, memory_limit):
    """Do a job; give the reason if that fails."""
    try:
        _work(job, out)
    except (BrokenPipeError, EOFError):
        raise
    except Exception as error:
        if _is_for_lack_of_memory(error):
            return f'ran out of memory: {memory_limit // 1024**2} MiB'
        traceback.print_exc()
        return f'failed: {type(error).__name__}'


def _is_for_lack_of_memory(error):
    return isinstance(error, MemoryError) or (
        isinstance(error, (ImportError, OSError))
        and _NO_MEMORY.search(str(error))
    )


def _work(job, out):
    module, function = JOBS[job]
    # While the parent is still busy with the problem.
    do = getattr(importlib.import_module(module), function)
    try:
        # The other end of the pipe is child.Solver.
        cpu_limit, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301
    except pickle.UnpicklingError:
        # It was closed in the middle.
        raise EOFError from None
    # The end even if the parent is gone and the solver forgets the time.
    _limit(resource.RLIMIT_CPU, cpu_limit, cpu_limit + 1)
    _end_with_parent()
    # Nothing of a large problem is garbage before the end.
    gc.freeze()
    for found in do(*arguments):
        _tell(out, found=dataclasses.asdict(found))


def _limit(kind, soft, hard):
    """Set a limit, unless a lower one is set already."""
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def _end_with_parent():
    """Have the kernel end this process when the other end is closed."""
    stdin = sys.stdin.fileno()
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(stdin, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(stdin, fcntl.F_GETFL)
    fcntl.fcntl(stdin, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([stdin], [], [], 0)[0]:
        # It was closed before the kernel was asked.
        raise EOFError


def _tell(out, **line):
    line['peak_mib'] = memory.peak_mib()
    out.write(json.dumps(line).encode() + b'\n')
    out.flush()
