# SPDX-License-Identifier: Apache-2.0
"""Measured runs, and the least known costs."""

import dataclasses
import json
import sys

from tests.benchmarks.planner import machine
from tests.benchmarks.planner import runs


class Bench:
    """Collection of runs.

    :ivar runs: list of runs.Run
    :ivar baselines: instance -> runs.Baseline
    :ivar best: instance -> least soft cost that is known
    """

    def __init__(self, solver_seeds=1, cp_sat_python=None):
        """Start without runs.

        :param solver_seeds: number of seeds with which to decide an instance
        :param cp_sat_python: see peers.measure()
        """
        self._cp_sat_python = cp_sat_python
        self.solver_seeds = solver_seeds
        self.runs = []
        self.baselines = {}
        self.best = {}

    def measure(self, instance, time_limit, has_peers=False):
        """Decide one instance with every seed, and report each run."""
        problem, planted = instance.generate()
        baseline = runs.measure_baseline(
            *(problem, planted, time_limit if has_peers else 0),
            self._cp_sat_python,
        )
        self.baselines[instance] = baseline
        self._update_best(instance, baseline.planted)
        for seed in range(self.solver_seeds):
            run = runs.run(instance, problem, seed, time_limit)
            self.runs.append(run)
            if run.is_good and run.members == baseline.members:
                self._update_best(instance, run.cost)
            sys.stderr.write(f'{self._line(run)}\n')

    def read(self, path):
        """Read the least costs of an earlier benchmark."""
        with open(path) as file:
            entries = json.load(file)['best']
        for entry in entries:
            self._update_best(
                runs.Instance(**entry['instance']), entry['cost']
            )

    def write(self, path):
        """Write everything to a file."""
        content = {
            'machine': machine.describe(),
            'runs': [dataclasses.asdict(run) for run in self.runs],
            'rivals': [
                {'instance': dataclasses.asdict(i), **dataclasses.asdict(r)}
                for i, r in self.baselines.items()
            ],
            'best': [
                {'instance': dataclasses.asdict(i), 'cost': cost}
                for i, cost in self.best.items()
            ],
        }
        with open(path, 'w') as file:
            json.dump(content, file, indent=1)
            file.write('\n')

    def _update_best(self, instance, cost):
        if cost is not None:
            self.best[instance] = min(cost, self.best.get(instance, cost))

    def _line(self, run):
        """One run in a line."""
        parts = [f'{run.status} in {run.seconds:.2f} s']
        if run.first_seconds is not None:
            parts.append(f'first {run.first_seconds:.3f} s')
        if run.cost is not None:
            planted = self.baselines[run.instance].planted
            parts.append(
                f'cost {run.cost:g}, bound {run.bound:g}, planted {planted:g}'
            )
        parts += [f'{run.peak_mib:.0f} MiB', run.stage]
        parts += [reason for reason in (run.reason, run.wrong) if reason]
        return f'{run.instance}: {"; ".join(parts)}'
