# SPDX-License-Identifier: Apache-2.0
"""The solver in a process of its own.

Whatever HiGHS does to memory or time, it does not do it to the caller. The
child reads a pickled problem from its standard input and writes every answer
of search.search() as a line of JSON, so that a child that is killed leaves
what it had found.
"""

import json
import math
import os
import pickle
import resource
import subprocess
import sys

from nova_groupext.planner import answer

#: Address space of a child, in bytes.
MEMORY_LIMIT = 4 * 1024**3

#: Seconds over the time limit after which a child is killed.
GRACE = 10.0


def run(problem, memory_limit=MEMORY_LIMIT, grace=GRACE):
    """Search in a child process.

    :param problem: problem.Problem; its time limit binds the child
    :param memory_limit: bytes of address space
    :param grace: seconds over the time limit until the child is killed
    :returns: answer.Answer; stats tell the reason if the child broke off
    """
    limits = [memory_limit, math.ceil(problem.time_limit + grace)]
    try:
        done = subprocess.run(
            [sys.executable, '-P', '-m', __name__, *map(str, limits)],
            input=pickle.dumps(problem),
            stdout=subprocess.PIPE,
            timeout=problem.time_limit + grace,
            check=False,
            # Every thread of a numeric library reserves address space.
            env={**os.environ, 'OPENBLAS_NUM_THREADS': '1'},
        )
    except subprocess.TimeoutExpired as error:
        return _last(error.output, 'the solver did not end in time')
    if done.returncode:
        return _last(
            done.stdout, f'the solver ended with status {done.returncode}'
        )
    return _last(done.stdout)


def main(memory_limit, cpu_limit):
    """Be the child."""
    # The parent must not pay for importing the solver.
    from nova_groupext.planner import search

    resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))
    # The end even if the parent is gone and the solver forgets the time.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit))
    # The other end of the pipe is run().
    problem = pickle.load(sys.stdin.buffer)  # noqa: S301
    answers = os.fdopen(os.dup(sys.stdout.fileno()), 'w')
    # Nothing a library prints may get between the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for found in search.search(problem):
        answers.write(json.dumps(found.to_dict()) + '\n')
        answers.flush()


def _last(output, reason=None):
    """The last whole line of a child's output."""
    lines = (output or b'').split(b'\n')[:-1]
    if lines:
        found = answer.Answer(**json.loads(lines[-1]))
    else:
        found = answer.undecided({'stage': 'start', 'cut_short': True})
    if reason:
        found = found.with_stats(cut_short=True, reason=reason)
    return found


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
