# SPDX-License-Identifier: Apache-2.0
"""One decision of the benchmark, and its measured values."""

import dataclasses
import time

from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import child
from tests.benchmarks.planner import generator
from tests.benchmarks.planner import one_by_one
from tests.benchmarks.planner import peers
from tests.benchmarks.planner import refused


@dataclasses.dataclass(frozen=True)
class Instance:
    """Parameters from which a problem is generated.

    :ivar family: of generator.generate(), '' for a refusal
    :ivar kind: of refused.generate_refused(), '' for a group that fits
    """

    hosts: int
    members: int
    family: str = ''
    fill: float = refused.FILL
    kind: str = ''
    seed: int = 0

    def generate(self):
        """Problem, and the planted placement or None."""
        size = self.hosts, self.members
        if self.kind:
            raw = refused.generate_refused(*size, self.kind, self.seed)
            return problems.parse(raw), None
        raw, planted = generator.generate(
            *size, self.family, self.fill, self.seed
        )
        return problems.parse(raw), planted

    def __str__(self):
        label = self.kind or f'{self.family} {self.fill:.0%}'
        return f'{self.hosts}x{self.members} {label} seed {self.seed}'


@dataclasses.dataclass(frozen=True)
class Baseline:
    """Values of an instance that are known without the planner.

    :ivar planted: soft cost of the planted plan; None for a refusal
    :ivar one_by_one: name of the weights -> whether it solved the instance
    :ivar members: number of planted members
    :ivar peers: name -> processor seconds until a plan, None without one;
        empty if they were not run
    """

    planted: float | None
    one_by_one: dict
    members: int = 0
    peers: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Run:
    """Result of one run of the planner on an instance.

    :ivar solver_seed: the seed it was given
    :ivar wrong: error in its answer, '' if none
    :ivar first_seconds: until it had a feasible plan, from the start of the
        search; None if there was none
    :ivar seconds: in all, the start of its process included
    :ivar peak_mib: the most memory of its process, in MiB
    :ivar members: number of members with a host
    :ivar cost: soft cost, None without a plan
    :ivar bound: proven least soft cost
    :ivar minimal: every entry of the refusal is proved to be necessary
    :ivar relaxations: number of relaxations
    :ivar stage: its last stage
    :ivar reason: reason of a failure, or None
    """

    instance: Instance
    solver_seed: int
    time_limit: float
    status: str
    wrong: str
    first_seconds: float | None
    seconds: float
    peak_mib: float
    cost: float | None
    bound: float | None
    minimal: bool
    relaxations: int
    stage: str
    reason: str | None
    members: int = 0

    @property
    def is_good(self):
        """True if the answer is right."""
        expected = 'refused' if self.instance.kind else 'placed'
        return self.status == expected and not self.wrong


def measure_baseline(problem, planted, seconds, cp_sat_python=None):
    """Return the Baseline to compare the planner with.

    :param planted: a feasible placement, or None
    :param seconds: time limit of each peer; 0 to run none
    :param cp_sat_python: see peers.measure()
    """
    if planted is None:
        return Baseline(None, {})
    cost = float(violations.soft_cost(problem, planted))
    solved = {
        name: one_by_one.place(problem, sign) is not None
        for name, sign in one_by_one.WEIGHTS.items()
    }
    measured = {}
    if seconds:
        measured = peers.measure(problem, seconds, cp_sat_python)
    return Baseline(cost, solved, len(planted), measured)


def run(instance, problem, solver_seed, time_limit):
    """Solve a problem in a process of its own; return the result."""
    problem = dataclasses.replace(
        problem, seed=solver_seed, time_limit=time_limit
    )
    start = time.monotonic()
    answer = child.run(problem)
    seconds = time.monotonic() - start
    cost = answer.cost or {}
    return Run(
        instance=instance,
        solver_seed=solver_seed,
        time_limit=time_limit,
        status=answer.status,
        wrong=_find_error(instance, problem, answer),
        first_seconds=answer.stats.get('first_seconds'),
        seconds=round(seconds, 3),
        peak_mib=answer.stats.get('peak_mib', 0),
        cost=cost.get('soft'),
        bound=cost.get('bound'),
        minimal=answer.minimal,
        relaxations=len(answer.relaxations),
        stage=answer.stats.get('stage', ''),
        reason=answer.stats.get('reason'),
        members=len(answer.placement),
    )


def _find_error(instance, problem, answer):
    """Return an error in an answer, '' if there is none."""
    if answer.status == 'refused' and not instance.kind:
        return 'refused what can be placed'
    if answer.status != 'placed':
        return ''
    plan = violations.Plan(answer.placement, answer.alternative)
    found = violations.find(problem, plan)
    if found:
        return f'unlawful: {found[0]}'
    cost = float(violations.soft_cost(problem, plan.placement))
    reported = answer.cost['soft']
    return '' if cost == reported else f'costs {cost}, not {reported}'
