# SPDX-License-Identifier: Apache-2.0
"""The solver in a process of its own, seen from outside.

Whatever HiGHS does to memory or time, it does not do it to the caller. Every
answer is read as it comes, so that a child that is killed leaves what it had
found.
"""

import json
import math
import pickle
import sys

from nova_groupext.planner import answer
from nova_groupext.planner import process

#: Address space of a child, in bytes.
MEMORY_LIMIT = 2 * 1024**3

#: Seconds over the time limit after which a child is killed.
GRACE = 10.0

_ENVIRONMENT = {
    # Every thread of a numeric library reserves address space.
    'OPENBLAS_NUM_THREADS': '1',
    # The order of a set is the same every time.
    'PYTHONHASHSEED': '0',
}

# So libraries end their process when they get no memory.
_GIVING_UP = ('ended with status 1', 'ended by signal SIGABRT')

_CODE = 'from nova_groupext.planner import worker; worker.main({!r}, {})'


def run(problem, memory_limit=MEMORY_LIMIT, grace=GRACE, on_answer=None):
    """Search in a child process.

    :param problem: problem.Problem; its time limit binds the child
    :param memory_limit: bytes of address space
    :param grace: seconds over the time limit until the child is killed
    :param on_answer: called with every answer.Answer as it comes
    :returns: answer.Answer; stats tell the reason if the child broke off
    """
    with Solver('search', memory_limit) as solver:
        return solver.search(problem, grace, on_answer)


class Solver(process.Child):
    """A child that gets ready while its problem is still being read."""

    def __init__(self, job='search', memory_limit=MEMORY_LIMIT):
        """Start it.

        :param job: key of worker.JOBS
        :param memory_limit: bytes of address space
        """
        code = _CODE.format(job, memory_limit)
        super().__init__([sys.executable, '-P', '-c', code], _ENVIRONMENT)
        self._memory_limit = memory_limit

    def search(self, problem, grace=GRACE, on_answer=None):
        """What run() does, once."""
        best = answer.undecided({'stage': 'start', 'cut_short': True})
        for found in self.found(problem.time_limit + grace, problem):
            best = answer.Answer(**found)
            if on_answer:
                on_answer(best)
        if self.ending:
            reason = f'the solver {self.ending}'
            best = best.with_stats(cut_short=True, reason=reason)
        return best.with_stats(peak_mib=self.peak_mib)

    def found(self, seconds, *arguments):
        """Have the job done.

        :param seconds: how long at most; the child is killed then
        :param arguments: of the job's function
        :returns: generator of dicts, the attributes of what it gives;
            ``ending`` tells then what went wrong, if anything
        """
        # Processor time is the second net: who listens ends it before that,
        # and can tell why.
        most = max(1, math.ceil(seconds)) + 1
        data = pickle.dumps((most, arguments))
        told = {}
        for line in self.lines(data, seconds):
            try:
                told = json.loads(line)
                self.peak_mib = max(self.peak_mib, told['peak_mib'])
            except (KeyError, TypeError, ValueError):
                self.ending = 'wrote what is no answer'
                return
            if 'found' in told:
                yield told['found']
        self.ending = self._explain(told)

    def _explain(self, last):
        """Why it ended, by the last that it told."""
        if 'reason' in last:
            return last['reason']
        if self.ending in _GIVING_UP:
            most = self._memory_limit // 1024**2
            return f'{self.ending}, maybe for lack of memory: {most} MiB'
        if not last or 'found' in last:
            return self.ending or 'ended before it was done'
        return None
