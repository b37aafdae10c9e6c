# SPDX-License-Identifier: Apache-2.0
"""Search for any plan with CP-SAT: a problem on stdin, its plan on stdout.

It runs in a Python that has OR-Tools and nothing of this project.
"""

import collections
import json
import sys
import time

from ortools.sat.python import cp_model


class Program:
    """Columns are the numbers of members of a class on a host."""

    def __init__(self, problem):
        """Write the program of a problem of cp_sat.py."""
        self._problem = problem
        self.model = cp_model.CpModel()
        self.columns = [
            {
                host: self.model.new_int_var(0, limit, '')
                for host, limit in each['hosts']
            }
            for each in problem['classes']
        ]
        self._add_counts()
        self._add_capacity()
        for policy in problem['policies']:
            kind = policy['type'].replace('-', '_')
            getattr(self, f'_add_{kind}')(policy, self._by_domain(policy))

    def _add_counts(self):
        totals = [sum(columns.values()) for columns in self.columns]
        for total, each in zip(totals, self._problem['classes'], strict=True):
            self.model.add(total <= each['count'])
        for least, classes in self._problem['member_sets']:
            self.model.add(sum(totals[number] for number in classes) >= least)

    def _add_capacity(self):
        used = collections.defaultdict(list)
        for each, columns in zip(
            self._problem['classes'], self.columns, strict=True
        ):
            for host, column in columns.items():
                for resource, amount in each['request'].items():
                    used[host, resource].append(amount * column)
        for (host, resource), terms in used.items():
            free = self._problem['free'][host].get(resource, 0)
            self.model.add(sum(terms) <= free)

    def _by_domain(self, policy):
        """Return the columns of a policy's members, by domain."""
        found = collections.defaultdict(list)
        for number in policy['classes']:
            for host, column in self.columns[number].items():
                found[policy['domains'][host]].append(column)
        return [*found.values()]

    def _size(self, policy):
        classes = self._problem['classes']
        return sum(classes[number]['count'] for number in policy['classes'])

    def _used(self, columns, size):
        """Return a column that is 1 if one of others is more than 0."""
        used = self.model.new_bool_var('')
        self.model.add(sum(columns) <= size * used)
        self.model.add(sum(columns) >= used)
        return used

    def _add_affinity(self, policy, domains):
        size = self._size(policy)
        chosen = [self._used(columns, size) for columns in domains]
        self.model.add_at_most_one(chosen)

    def _add_anti_affinity(self, policy, domains):
        for columns in domains:
            self.model.add(sum(columns) <= policy['max_per_domain'])

    def _add_spread(self, policy, domains):
        size = self._size(policy)
        used = [self._used(columns, size) for columns in domains]
        self.model.add(sum(used) >= min(policy['min_domains'], size))
        smallest = self.model.new_int_var(0, size, '')
        for each, columns in zip(used, domains, strict=True):
            self.model.add(sum(columns) <= smallest + policy['max_skew'])
            self.model.add(sum(columns) >= smallest).only_enforce_if(each)

    def _add_survive(self, policy, domains):
        size = self._size(policy)
        threshold = self.model.new_int_var(0, size, '')
        lost = [policy['failures'] * threshold]
        for columns in domains:
            excess = self.model.new_int_var(0, size, '')
            self.model.add(sum(columns) - threshold <= excess)
            lost.append(excess)
        placed = sum(map(sum, domains))
        self.model.add(placed - sum(lost) >= policy['min_members'])


def main():
    """Read the problem, and write {counts by class, or None; seconds}."""
    problem = json.load(sys.stdin)
    began = time.process_time()
    program = Program(problem)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    used = time.process_time() - began
    solver.parameters.max_time_in_seconds = max(0, problem['seconds'] - used)
    status = solver.solve(program.model)
    counts = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        counts = [
            [
                [host, solver.value(column)]
                for host, column in columns.items()
                if solver.value(column)
            ]
            for columns in program.columns
        ]
    seconds = round(time.process_time() - began, 3)
    json.dump({'counts': counts, 'seconds': seconds}, sys.stdout)


if __name__ == '__main__':
    main()
