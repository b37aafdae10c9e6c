# SPDX-License-Identifier: Apache-2.0
"""Cases: what is decided for each value of a number.

All time limits count processor time here, so that other processes take nothing
of them.
"""

import dataclasses
import functools
import pickle
import time
from typing import NamedTuple

from nova_groupext.solver import bounds
from nova_groupext.solver.construct import squeaky_wheel

# The first case must not include the time of the solver's late imports.
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.exact import tie_breaking  # noqa: F401
from nova_groupext.solver.model import merging
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.moves import move_check
from nova_groupext.solver.proofs import quick_proofs
from nova_groupext.solver.solve import memory
from nova_groupext.solver.solve import stages
from nova_groupext.solver.verify import verify
from tests.benchmarks.planner import runs
from tests.benchmarks.tuning import built

# Seconds that no case takes.
_NO_LIMIT = 3600


class Result(NamedTuple):
    """Result of a case with one value.

    :ivar seconds: processor time
    :ivar first_seconds: the same until the first answer
    :ivar is_decided: whether there is a plan or a proof
    :ivar members: number of members with a host
    :ivar cost: soft cost; None without a plan
    :ivar score: weigher scores of the plan; None without a plan
    :ivar relaxations: number of relaxations of a refusal
    :ivar answer: anything; equal for equal answers
    """

    seconds: float
    first_seconds: float
    is_decided: bool
    members: int = 0
    cost: float | None = None
    score: float | None = None
    relaxations: int = 0
    answer: object = None


def _problem(source, seconds):
    """Return a problem that caches nothing of an earlier run."""
    problem = pickle.loads(_pickled(source))
    return dataclasses.replace(problem, time_limit=seconds)


@functools.cache
def _pickled(source):
    if isinstance(source, runs.Instance):
        problem, _ = source.generate()
    else:
        name, *arguments = source
        problem = getattr(built, name)(*arguments)
    return pickle.dumps(problem)


@dataclasses.dataclass(frozen=True)
class Solve:
    """Decision of a problem.

    :ivar source: runs.Instance, or a function of ``built`` and its arguments
    :ivar seconds: time limit
    :ivar is_first: whether the first answer is the last
    """

    source: object
    seconds: float
    is_first: bool = False

    def run(self):
        """Return the Result."""
        problem = _problem(self.source, self.seconds)
        start = time.process_time()
        answers = stages.search(problem)
        answer = next(answers)
        first_seconds = time.process_time() - start
        if not self.is_first:
            for better in answers:
                answer = better
        cost = answer.cost or {}
        return Result(
            seconds=time.process_time() - start,
            first_seconds=first_seconds,
            is_decided=answer.status != 'undecided',
            members=len(answer.placement),
            cost=cost.get('soft'),
            score=cost.get('preference'),
            relaxations=len(answer.relaxations),
            answer=(
                answer.status,
                sorted(answer.placement.items()),
                str(answer.conflict),
                answer.minimal,
                str(answer.relaxations),
            ),
        )


def first(source, seconds):
    """Return a Solve that ends with the first answer."""
    return Solve(source, seconds, is_first=True)


@dataclasses.dataclass(frozen=True)
class Prove:
    """Search for a proof before any other search; decided if there is one.

    :ivar source: as of Solve
    :ivar seconds: time limit, of which proofs use shares
    """

    source: object
    seconds: float

    def run(self):
        """Return the Result."""
        problem = _problem(self.source, self.seconds)
        start = time.process_time()
        analysis = bounds.analyse(problem)
        is_proved = analysis.proof is not None
        if not is_proved:
            budget = time_budget.WorkBudget(self.seconds)
            verdict = quick_proofs.find(problem, analysis.shares, budget)
            is_proved = verdict.is_infeasible
        seconds = time.process_time() - start
        return Result(seconds, seconds, is_proved, answer=is_proved)


@dataclasses.dataclass(frozen=True)
class Verify:
    """Verification of a refusal; decided if every part is verified.

    :ivar source: as of Solve
    :ivar seconds: time limit
    """

    source: object
    seconds: float

    def run(self):
        """Return the Result."""
        answer = _refusal(self.source)
        problem = _problem(self.source, self.seconds)
        start = time.process_time()
        findings = list(verify.findings(problem, answer))
        seconds = time.process_time() - start
        return Result(seconds, seconds, not findings, answer=findings)


@functools.cache
def _refusal(source):
    return stages.solve(_problem(source, 10))


@dataclasses.dataclass(frozen=True)
class Move:
    """Check of a move; decided if it may leave the member's domain.

    :ivar number: number of other members that are moving
    """

    number: int

    def run(self):
        """Return the Result."""
        problem, possible_hosts = built.moves(self.number)
        start = time.process_time()
        move = move_check.Move(problem, possible_hosts, 'm-0', 'a1')
        hosts = list(filter(move.allows, problem.hosts))
        seconds = time.process_time() - start
        return Result(seconds, seconds, len(hosts) > 2, answer=hosts)


class Program(NamedTuple):
    """Building of the integer program over all hosts.

    :ivar assignments: number of (equivalence class, host) pairs
    :ivar seconds: processor time
    :ivar mib: growth of the process's peak memory, in MiB
    """

    assignments: int
    seconds: float
    mib: int


def build(source):
    """Build the program of a Solve's source; return its Program."""
    problem = merging.merge_equivalent(_problem(source, _NO_LIMIT))
    greedy = squeaky_wheel.SqueakyWheel(problem)
    start, before = time.process_time(), memory.peak_mib()
    objectives.ExactSolver(problem, time_budget.TimeBudget(_NO_LIMIT))
    seconds = time.process_time() - start
    return Program(greedy.variable_count, seconds, memory.peak_mib() - before)
