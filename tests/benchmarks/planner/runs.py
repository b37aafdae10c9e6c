# SPDX-License-Identifier: Apache-2.0
"""One decision of the benchmark, and what was measured of it."""

import dataclasses
import time

from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import violations
from nova_groupext.solver.solve import child
from tests.benchmarks.planner import generator
from tests.benchmarks.planner import one_by_one
from tests.benchmarks.planner import refused


@dataclasses.dataclass(frozen=True)
class Instance:
    """What a problem is generated from.

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
        what = self.kind or f'{self.family} {self.fill:.0%}'
        return f'{self.hosts}x{self.members} {what} seed {self.seed}'


@dataclasses.dataclass(frozen=True)
class Rival:
    """What is known of an instance without the planner.

    :ivar planted: soft cost of the planted plan; None for a refusal
    :ivar one_by_one: name of the weights -> whether it solved the instance
    """

    planted: float | None
    one_by_one: dict


@dataclasses.dataclass(frozen=True)
class Run:
    """What the planner made of an instance, once.

    :ivar solver_seed: the seed it was given
    :ivar wrong: what is wrong with its answer, '' if nothing is
    :ivar first_seconds: until it had a lawful plan, from the start of the
        search; None if there was none
    :ivar seconds: in all, the start of its process included
    :ivar peak_mib: the most memory of its process, in MiB
    :ivar cost: soft cost, None without a plan
    :ivar bound: proven least soft cost
    :ivar minimal: the refusal is proved to name nothing needless
    :ivar relaxations: how many changes it offers
    :ivar stage: where it ended
    :ivar reason: why it broke off, if it did
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

    @property
    def is_good(self):
        """It said what is true of its instance."""
        expected = 'refused' if self.instance.kind else 'placed'
        return self.status == expected and not self.wrong


def rival(problem, planted):
    """What there is to compare the planner with.

    :param planted: a lawful placement, or None
    """
    if planted is None:
        return Rival(None, {})
    cost = float(violations.soft_cost(problem, planted))
    solved = {
        name: one_by_one.place(problem, sign) is not None
        for name, sign in one_by_one.WEIGHTS.items()
    }
    return Rival(cost, solved)


def run(instance, problem, solver_seed, time_limit):
    """Have the planner decide, in a process of its own."""
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
        wrong=_fault(instance, problem, answer),
        first_seconds=answer.stats.get('first_seconds'),
        seconds=round(seconds, 3),
        peak_mib=answer.stats.get('peak_mib', 0),
        cost=cost.get('soft'),
        bound=cost.get('bound'),
        minimal=answer.minimal,
        relaxations=len(answer.relaxations),
        stage=answer.stats.get('stage', ''),
        reason=answer.stats.get('reason'),
    )


def _fault(instance, problem, answer):
    """What is wrong with an answer, '' if nothing is."""
    if answer.status == 'refused' and not instance.kind:
        return 'refused what can be placed'
    if answer.status != 'placed':
        return ''
    plan = violations.Plan(answer.placement, answer.alternative)
    faults = violations.find(problem, plan)
    if faults:
        return f'unlawful: {faults[0]}'
    cost = float(violations.soft_cost(problem, plan.placement))
    told = answer.cost['soft']
    return '' if cost == told else f'costs {cost}, not {told}'
