# SPDX-License-Identifier: Apache-2.0
"""Everything that was measured, and the least costs that are known."""

import dataclasses
import json
import sys

from tests.benchmarks.planner import machine
from tests.benchmarks.planner import runs


class Bench:
    """Runs as they come.

    :ivar runs: list of runs.Run
    :ivar rivals: instance -> runs.Rival
    :ivar best: instance -> least soft cost that is known
    """

    def __init__(self, solver_seeds=1):
        """Nothing is measured yet.

        :param solver_seeds: with how many seeds each instance is decided
        """
        self.solver_seeds = solver_seeds
        self.runs = []
        self.rivals = {}
        self.best = {}

    def measure(self, instance, time_limit):
        """Decide one instance, with every seed; tell how it went."""
        problem, planted = instance.generate()
        rival = runs.rival(problem, planted)
        self.rivals[instance] = rival
        self._learn(instance, rival.planted)
        for seed in range(self.solver_seeds):
            run = runs.run(instance, problem, seed, time_limit)
            self.runs.append(run)
            if run.is_good:
                self._learn(instance, run.cost)
            sys.stderr.write(f'{self._line(run)}\n')

    def read(self, path):
        """Learn the costs that an earlier benchmark has written down."""
        with open(path) as file:
            known = json.load(file)['best']
        for entry in known:
            self._learn(runs.Instance(**entry['instance']), entry['cost'])

    def write(self, path):
        """Write everything down."""
        found = {
            'machine': machine.describe(),
            'runs': [dataclasses.asdict(run) for run in self.runs],
            'rivals': [
                {'instance': dataclasses.asdict(i), **dataclasses.asdict(r)}
                for i, r in self.rivals.items()
            ],
            'best': [
                {'instance': dataclasses.asdict(i), 'cost': cost}
                for i, cost in self.best.items()
            ],
        }
        with open(path, 'w') as file:
            json.dump(found, file, indent=1)
            file.write('\n')

    def _learn(self, instance, cost):
        if cost is not None:
            self.best[instance] = min(cost, self.best.get(instance, cost))

    def _line(self, run):
        """One run in a line."""
        said = [f'{run.status} in {run.seconds:.2f} s']
        if run.first_seconds is not None:
            said.append(f'first {run.first_seconds:.3f} s')
        if run.cost is not None:
            planted = self.rivals[run.instance].planted
            said.append(
                f'cost {run.cost:g}, bound {run.bound:g}, planted {planted:g}'
            )
        said += [f'{run.peak_mib:.0f} MiB', run.stage]
        said += [why for why in (run.reason, run.wrong) if why]
        return f'{run.instance}: {"; ".join(said)}'
