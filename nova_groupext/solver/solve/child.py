# SPDX-License-Identifier: Apache-2.0
"""Parent side of the solver's child process.

The child protects its parent from HiGHS's use of memory and time. The parent
reads every answer as it arrives, so the answers of a child that is killed are
not lost.
"""

from collections.abc import Callable
from collections.abc import Iterator
import json
import math
import pickle

from nova_groupext.solver.aliases import JsonObject
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.solve import forked_process
from nova_groupext.solver.solve import piped_process

#: Address space of a child, in bytes.
MEMORY_LIMIT = 2 * 1024**3

#: Seconds over the deadline after which the parent kills a child.
GRACE = 1.0

# Exits of libraries that cannot allocate memory.
_ALLOCATION_FAILURES = ('ended with status 1', 'ended by signal SIGABRT')


def run(
    problem: problems.Problem,
    memory_limit: int = MEMORY_LIMIT,
    grace: float = GRACE,
    on_answer: Callable[[answers.Answer], object] | None = None,
) -> answers.Answer:
    """Solve a problem in a child process.

    :param problem: its time limit and deadline bind the child
    :param memory_limit: bytes of address space
    :param grace: seconds over the deadline until the child is killed
    :param on_answer: called with every answer as it arrives
    :returns: its stats contain the reason if the child failed
    """
    with Solver('search', memory_limit) as solver:
        return solver.search(problem, grace, on_answer)


class Solver(piped_process.PipedProcess):
    """Child process that starts while the parent still reads the problem."""

    def __init__(
        self, job: str = 'search', memory_limit: int = MEMORY_LIMIT
    ) -> None:
        """Start the child.

        :param job: key of worker.JOBS
        :param memory_limit: bytes of address space
        """
        super().__init__(forked_process.ForkedProcess(job, memory_limit))
        self._memory_limit = memory_limit

    def search(
        self,
        problem: problems.Problem,
        grace: float = GRACE,
        on_answer: Callable[[answers.Answer], object] | None = None,
    ) -> answers.Answer:
        """Solve one problem, as run() does; call this only once."""
        best = answers.undecided({'stage': 'start', 'cut_short': True})
        for result in self.results(problem.max_wait + grace, problem):
            best = answers.Answer(**result)
            if on_answer:
                on_answer(best)
        if self.exit_reason:
            reason = f'the solver {self.exit_reason}'
            best = best.with_stats(cut_short=True, reason=reason)
        return best.with_stats(peak_mib=self.peak_mib)

    def results(
        self, seconds: float, *arguments: object
    ) -> Iterator[JsonObject]:
        """Run the job; set ``exit_reason`` if it fails.

        :param seconds: time limit, after which the parent kills the child
        :param arguments: arguments of the job's function
        :returns: the attributes of each result
        """
        # The CPU limit is a fallback: before it, the parent kills the child,
        # and knows the reason.
        cpu_limit = max(1, math.ceil(seconds)) + 1
        data = pickle.dumps((cpu_limit, arguments))
        last: JsonObject = {}
        for line in self.lines(data, seconds):
            try:
                last = json.loads(line)
                self.peak_mib = max(self.peak_mib, last['peak_mib'])
            except (KeyError, TypeError, ValueError):
                self.exit_reason = 'wrote an invalid answer'
                return
            if 'result' in last:
                yield last['result']
        self.exit_reason = self._explain(last)

    def _explain(self, last: JsonObject) -> str | None:
        """Return why the child failed, or None, from its last line."""
        if 'reason' in last:
            return str(last['reason'])
        if self.exit_reason in _ALLOCATION_FAILURES:
            limit_mib = self._memory_limit // 1024**2
            return (
                f'{self.exit_reason}, possibly for lack of memory '
                f'({limit_mib} MiB)'
            )
        if not last or 'result' in last:
            return self.exit_reason or 'ended before it finished'
        return None
