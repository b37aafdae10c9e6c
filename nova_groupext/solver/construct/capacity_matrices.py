# SPDX-License-Identifier: Apache-2.0
"""Free amounts, capacities and opportunity costs of a search.

Hosts, member classes and their allocation options are numbers here.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from nova_groupext.solver import arrays
from nova_groupext.solver import tuning
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import allocation_options
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.equivalence import EquivalenceClass

#: Amounts on a host, or an entry of each matrix.
HostState: TypeAlias = tuple[Ints | Floats, ...]


class CapacityMatrices:
    """Free capacity of the hosts, updated with each assignment.

    :ivar class_of: number of each class's member class
    :ivar resources: names of the requested resources
    :ivar free: free amounts, by host and resource
    :ivar capacity: capacity in members, at most the demand; by class and host
    :ivar opportunity_cost: lost capacity of the scarcest classes, weighted by
        scarcity, if one more member is assigned; by class and host, inf
        without capacity
    """

    def __init__(self, problem: problems.Problem) -> None:
        self.problem = problem
        self.arrays = host_arrays.of(problem)
        self.hosts = self.arrays.ids
        self.number = self.arrays.index
        self.eq_classes = equivalence.equivalence_classes(problem)
        self._read_classes()
        self._read_amounts()
        self.capacity = np.zeros(
            (len(self._classes), len(self.hosts)), np.int64
        )
        self.opportunity_cost = np.zeros(self.capacity.shape)
        # Option of least opportunity cost, by member class and host.
        self._option = np.repeat(
            self._starts[:, None], len(self.hosts), axis=1
        )
        self._columns: tuple[Ints | Floats, ...] = (
            self.capacity,
            self.opportunity_cost,
            self._option,
        )
        self._host_keys = self._find_host_keys()
        self._cached_columns: dict[tuple[int | bytes, bytes], HostState] = {}
        for hosts in self._batches():
            self.capacity[:, hosts] = self._capacities(hosts)
        self.scarcity = self._find_scarcity()
        self._choose_scarcest()
        for hosts in self._batches():
            self._find_opportunity_costs(hosts)

    def assign(
        self, eq_class: EquivalenceClass, host: int, option: int | None = None
    ) -> int:
        """Assign a member of an equivalence class to a host.

        :param option: index of the allocation option, None for the cheapest
        :returns: index of the option
        """
        number = self.class_of[eq_class]
        start = self._starts[number]
        row = self._option[number, host] if option is None else option + start
        self._add_free(host, -self._need(row, host))
        return int(row - start)

    def change(
        self, members: Iterable[tuple[EquivalenceClass, int, int]], sign: int
    ) -> None:
        """Assign or unassign members; compute the state of each host once.

        :param members: (class, host, index of the option) of each
        :param sign: 1 to assign, -1 to unassign
        """
        needs: dict[int, Ints] = {}
        for eq_class, host, option in members:
            row = option + self._starts[self.class_of[eq_class]]
            need = self._need(row, host)
            needs[host] = needs[host] + need if host in needs else need
        for host, need in needs.items():
            self._add_free(host, -sign * need)

    def save(self, host: int) -> HostState:
        """Return the state of a host for restore()."""
        columns = (column[:, host].copy() for column in self._columns)
        return self.free[host].copy(), *columns

    def restore(self, host: int, saved: HostState) -> None:
        """Reset a host to a state from save()."""
        self.free[host] = saved[0]
        self._set_columns(host, saved[1:])

    def allowed_mask(self, eq_class: EquivalenceClass) -> Bools:
        """Return by host whether a class may use it, capacity aside."""
        allowed = self._allowed[self._options_of[self.class_of[eq_class]]]
        mask: Bools = np.logical_or.reduce(allowed, axis=0)
        return mask

    def need_of(self, eq_class: EquivalenceClass) -> Ints:
        """Return the least amounts a member may request, by resource."""
        options = self._needs[:, self._options_of[self.class_of[eq_class]]]
        need: Ints = options.min(axis=(1, 2))
        return need

    def count_fits(self, need: Ints) -> Ints:
        """Return how many times some amounts fit, by host."""
        return arrays.count_fits(self.free.T, need[:, None])

    def _add_free(self, host: int, amounts: Ints) -> None:
        self.free[host] += amounts
        state = self._host_keys[host], self.free[host].tobytes()
        columns = self._cached_columns.get(state)
        if columns is None:
            columns = self._cached_columns[state] = self._find_columns(host)
            if len(self._cached_columns) > tuning.MAX_CACHED_STATES:
                self._cached_columns.clear()
        self._set_columns(host, columns)

    def _find_columns(self, host: int) -> HostState:
        """Update and copy the columns of a host, which depend on `free`."""
        hosts = slice(host, host + 1)
        self.capacity[:, hosts] = self._capacities(hosts)
        self._find_opportunity_costs(hosts)
        return tuple(c[:, host].copy() for c in self._columns)

    def _set_columns(self, host: int, columns: HostState) -> None:
        for column, new in zip(self._columns, columns, strict=True):
            column[:, host] = new

    def _need(self, row: np.int64, host: int) -> Ints:
        return self._needs[:, row, host if self._needs.shape[2] > 1 else 0]

    def _read_classes(self) -> None:
        classes: dict[int, tuple[int, EquivalenceClass]] = {}
        demand: dict[int, int] = {}
        self.class_of: dict[EquivalenceClass, int] = {}
        for eq_class in self.eq_classes:
            key = id(eq_class.member_class)
            number = classes.setdefault(key, (len(classes), eq_class))[0]
            self.class_of[eq_class] = number
            demand[number] = demand.get(number, 0) + len(eq_class.members)
        self._classes = [
            eq_class.member_class for _, eq_class in classes.values()
        ]
        self._demand = np.array(
            [demand[n] for n in range(len(classes))], np.int64
        )

    def _read_amounts(self) -> None:
        requests = [
            option
            for member_class in self._classes
            for options in (
                [member_class.request],
                *member_class.alternatives.values(),
            )
            for option in options
        ]
        names = sorted(
            {r for option in requests for r, n in option.items() if n}
        )
        self.resources = names
        self.free = self.arrays.free_amounts(names).T.copy()
        self._read_options()

    def _read_options(self) -> None:
        self._options_of: list[slice[int, int]] = []
        rows: list[allocation_options.Option] = []
        for member_class in self._classes:
            options = allocation_options.of_class(
                self.arrays, member_class, self.resources
            )
            self._options_of.append(slice(len(rows), len(rows) + len(options)))
            rows += options
        self._starts = np.array(
            [options.start for options in self._options_of]
        )
        width = max((row.needs.shape[0] for row in rows), default=1)
        # The resource axis comes first: minima over resources are fast.
        self._needs = np.zeros(
            (len(self.resources), len(rows), width), np.int64
        )
        for number, row in enumerate(rows):
            self._needs[:, number] = row.needs.T
        self._allowed = np.array([row.mask for row in rows], bool).reshape(
            len(rows), len(self.hosts)
        )

    def _find_host_keys(self) -> Sequence[int | bytes]:
        """Return by host a key of what columns depend on besides `free`."""
        if self._needs.shape[2] > 1:
            return range(len(self.hosts))
        return [allowed.tobytes() for allowed in self._allowed.T]

    def _find_scarcity(self) -> Floats:
        """Return the demand over the capacity of each class, or more.

        Classes compete for capacity: the ratio grows with the share of a
        needed resource that all classes together request.
        """
        scarcity = self._demand / np.maximum(1, self.capacity.sum(axis=1))
        needs = np.array(
            [
                self._needs[:, options].min(axis=(1, 2))
                for options in self._options_of
            ]
        )
        demand = (needs * self._demand[:, None]).sum(axis=0)
        usage = np.minimum(1, demand / np.maximum(1, self.free.sum(axis=0)))
        max_usage: Floats = np.where(needs > 0, usage, 0).max(
            axis=1, initial=0
        )
        weighted: Floats = scarcity / (1.02 - max_usage)
        return weighted

    def _choose_scarcest(self) -> None:
        scarcest = np.argsort(-self.scarcity, kind='stable')[
            : tuning.MAX_SCARCEST
        ]
        self._scarcest = np.sort(scarcest)
        options = [self._options_of[number] for number in self._scarcest]
        sizes = [option.stop - option.start for option in options]
        self._scarcest_starts = np.cumsum([0, *sizes[:-1]])
        numbers = np.concatenate(
            [np.arange(option.start, option.stop) for option in options]
        )
        self._scarcest_allowed = self._allowed[numbers]
        self._scarcest_needs = self._needs[:, numbers]

    def _batches(self) -> Iterator[slice]:
        resources, options, _ = self._needs.shape
        size = max(
            1, tuning.BATCH_SIZE // max(1, options * options * resources)
        )
        for start in range(0, len(self.hosts), size):
            yield slice(start, start + size)

    def _free_on(self, hosts: slice) -> Ints:
        """Return the free amounts by resource, option (length 1) and host."""
        return self.free[hosts].T.copy()[:, None]

    def _capacities(self, hosts: slice) -> Ints:
        """Return the capacities of some hosts, by class and host."""
        capacities = arrays.count_fits(
            self._free_on(hosts), _on_hosts(hosts, self._needs)
        )
        capacities *= self._allowed[:, hosts]
        best = np.maximum.reduceat(capacities, self._starts, axis=0)
        return np.minimum(best, self._demand[:, None])

    def _find_opportunity_costs(self, hosts: slice) -> None:
        """Update the opportunity costs on some hosts and the best options."""
        remaining = self._free_on(hosts) - _on_hosts(hosts, self._needs)
        needs = _on_hosts(hosts, self._scarcest_needs)
        after = arrays.count_fits(remaining[:, :, None], needs[:, None])
        after *= self._scarcest_allowed[:, hosts]
        after = np.maximum.reduceat(after, self._scarcest_starts, axis=1)
        after = np.minimum(after, self._demand[self._scarcest, None])
        lost = self.capacity[self._scarcest, hosts] - after
        weighted = lost * self.scarcity[self._scarcest, None]
        # A sum in fixed order is the same for one host as for many.
        costs = weighted.cumsum(axis=1)[:, -1]
        costs[(remaining < 0).any(axis=0) | ~self._allowed[:, hosts]] = np.inf
        if len(costs) == len(self._starts):
            self.opportunity_cost[:, hosts] = costs
            return
        for number, options in enumerate(self._options_of):
            self.opportunity_cost[number, hosts] = costs[options].min(axis=0)
            self._option[number, hosts] = options.start + costs[
                options
            ].argmin(axis=0)


def _on_hosts(hosts: slice, needs: Ints) -> Ints:
    """Return the needs on some hosts; a last axis of 1 means all hosts."""
    return needs[..., hosts] if needs.shape[-1] > 1 else needs
