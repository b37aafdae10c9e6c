# SPDX-License-Identifier: Apache-2.0
"""The cloud as arrays: free amounts, capacities and opportunity costs.

Hosts (in the order of their ids), member classes, their allocation options
and the domains of a level are numbers here.
"""

import itertools

import numpy as np

from nova_groupext.solver.model import equivalence

# Unlimited capacity.
_UNLIMITED = 1 << 31

# Number of member classes whose lost capacity counts: the scarcest ones.
_MAX_SCARCEST = 24

# Limit of the cache of host states: iterations return to the same states.
_MAX_CACHED_STATES = 100_000

# Size of one array while the opportunity costs of many hosts are computed at
# once: as many numbers as a processor's cache holds.
_BATCH_SIZE = 1 << 16


class CapacityMatrices:
    """Free capacity of the hosts, updated with each assignment.

    :ivar eq_classes: EquivalenceClass objects
    :ivar class_of: EquivalenceClass -> number of its member class
    :ivar resources: names of the requested resources
    :ivar free: free amounts, by host and resource
    :ivar capacity: capacity in members, at most the demand; by class and host
    :ivar opportunity_cost: lost capacity of the scarcest classes, weighted by
        scarcity, if one more member is assigned; by class and host, inf
        without capacity
    """

    def __init__(self, problem):
        self.problem = problem
        self.hosts = list(problem.hosts)
        self.number = {host: n for n, host in enumerate(self.hosts)}
        self.eq_classes = equivalence.equivalence_classes(problem)
        self._levels = {}
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
        self._columns = self.capacity, self.opportunity_cost, self._option
        self._host_keys = self._find_host_keys()
        self._cached_columns = {}
        for hosts in self._batches():
            self.capacity[:, hosts] = self._capacities(hosts)
        self.scarcity = self._find_scarcity()
        self._choose_scarcest()
        for hosts in self._batches():
            self._find_opportunity_costs(hosts)

    def level(self, name):
        """Return the domain number at a level by host, -1 for none."""
        return self._level(name)[0]

    def domains(self, name):
        """Return the array of host numbers of every domain of a level."""
        return self._level(name)[1]

    def first_hosts(self, name):
        """Return the first host of every domain of a level."""
        return self._level(name)[2]

    def assign(self, eq_class, host, option=None):
        """Assign a member of an equivalence class to a host.

        :param option: index of the allocation option, None for the cheapest
        :returns: index of the option
        """
        if option is None:
            option = self._option[self.class_of[eq_class], host]
        else:
            option += self._starts[self.class_of[eq_class]]
        self._add_free(host, -self._need(option, host))
        return int(option - self._starts[self.class_of[eq_class]])

    def unassign(self, eq_class, host, option):
        """Undo assign()."""
        option += self._starts[self.class_of[eq_class]]
        self._add_free(host, self._need(option, host))

    def save(self, host):
        """Return the state of a host for restore()."""
        columns = (column[:, host].copy() for column in self._columns)
        return self.free[host].copy(), *columns

    def restore(self, host, saved):
        """Reset a host to a state from save()."""
        self.free[host] = saved[0]
        self._set_columns(host, saved[1:])

    def allowed_mask(self, eq_class):
        """Return by host whether a class may use it, capacity aside."""
        return self._allowed[self._options_of[self.class_of[eq_class]]].any(
            axis=0
        )

    def need_of(self, eq_class):
        """Return the least amounts a member may request, by resource."""
        options = self._needs[:, self._options_of[self.class_of[eq_class]]]
        return options.min(axis=(1, 2))

    def count_fits(self, need):
        """Return how many times some amounts fit, by host."""
        return _count_fits(self.free.T, need[:, None])

    def _add_free(self, host, amounts):
        self.free[host] += amounts
        state = self._host_keys[host], self.free[host].tobytes()
        columns = self._cached_columns.get(state)
        if columns is None:
            columns = self._cached_columns[state] = self._find_columns(host)
            if len(self._cached_columns) > _MAX_CACHED_STATES:
                self._cached_columns.clear()
        self._set_columns(host, columns)

    def _find_columns(self, host):
        """Update and copy the columns of a host, which depend on `free`."""
        hosts = slice(host, host + 1)
        self.capacity[:, hosts] = self._capacities(hosts)
        self._find_opportunity_costs(hosts)
        return tuple(c[:, host].copy() for c in self._columns)

    def _set_columns(self, host, columns):
        for column, new in zip(self._columns, columns, strict=True):
            column[:, host] = new

    def _need(self, option, host):
        return self._needs[:, option, host if self._needs.shape[2] > 1 else 0]

    def _read_classes(self):
        classes = {}
        demand = {}
        self.class_of = {}
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

    def _read_amounts(self):
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
        self.free = np.array(
            [
                [host.free.get(name, 0) for name in names]
                for host in self.problem.hosts.values()
            ],
            np.int64,
        ).reshape(len(self.hosts), len(names))
        self._options_of = []
        rows, masks = [], []
        for member_class in self._classes:
            options = self._options(member_class, names)
            self._options_of.append(slice(len(rows), len(rows) + len(options)))
            rows += [need for need, _ in options]
            masks += [mask for _, mask in options]
        self._starts = np.array(
            [options.start for options in self._options_of]
        )
        width = max((need.shape[0] for need in rows), default=1)
        # The resource axis comes first: minima over resources are fast.
        self._needs = np.zeros((len(names), len(rows), width), np.int64)
        for option, need in enumerate(rows):
            self._needs[:, option] = need.T
        self._allowed = np.array(masks, bool).reshape(
            len(rows), len(self.hosts)
        )

    def _options(self, member_class, names):
        """Return (amounts by host, mask of its hosts) of every option."""
        allowed = np.full(
            len(self.hosts), len(member_class.hosts) == len(self.hosts)
        )
        if not allowed.all():
            allowed[[self.number[host] for host in member_class.hosts]] = True
        base = np.array(
            [[member_class.request.get(name, 0) for name in names]]
        )
        if not member_class.alternatives:
            return [(base, allowed)]
        max_count = max(
            len(options) for options in member_class.alternatives.values()
        )
        needs = [
            base.repeat(len(self.hosts), axis=0) for _ in range(max_count)
        ]
        masks = [
            allowed.copy() if option == 0 else allowed & False
            for option in range(max_count)
        ]
        for host, options in member_class.alternatives.items():
            number = self.number[host]
            for option, request in enumerate(options):
                needs[option][number] = [
                    request.get(name, 0) for name in names
                ]
                masks[option][number] = allowed[number]
        return list(zip(needs, masks, strict=True))

    def _find_host_keys(self):
        """Return by host a key of what columns depend on besides `free`."""
        if self._needs.shape[2] > 1:
            return range(len(self.hosts))
        return [allowed.tobytes() for allowed in self._allowed.T]

    def _find_scarcity(self):
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
        max_usage = np.where(needs > 0, usage, 0).max(axis=1, initial=0)
        return scarcity / (1.02 - max_usage)

    def _choose_scarcest(self):
        scarcest = np.argsort(-self.scarcity, kind='stable')[:_MAX_SCARCEST]
        self._scarcest = np.sort(scarcest)
        options = [self._options_of[number] for number in self._scarcest]
        sizes = [option.stop - option.start for option in options]
        self._scarcest_starts = np.cumsum([0, *sizes[:-1]])
        numbers = np.concatenate(
            [np.arange(option.start, option.stop) for option in options]
        )
        self._scarcest_allowed = self._allowed[numbers]
        self._scarcest_needs = self._needs[:, numbers]

    def _batches(self):
        resources, options, _ = self._needs.shape
        size = max(1, _BATCH_SIZE // max(1, options * options * resources))
        for start in range(0, len(self.hosts), size):
            yield slice(start, start + size)

    def _free_on(self, hosts):
        """Return the free amounts by resource, option (length 1) and host."""
        return self.free[hosts].T.copy()[:, None]

    def _capacities(self, hosts):
        """Return the capacities of some hosts, by class and host."""
        capacities = _count_fits(
            self._free_on(hosts), _on_hosts(hosts, self._needs)
        )
        capacities *= self._allowed[:, hosts]
        best = np.maximum.reduceat(capacities, self._starts, axis=0)
        return np.minimum(best, self._demand[:, None])

    def _find_opportunity_costs(self, hosts):
        """Update the opportunity costs on some hosts and the best options."""
        remaining = self._free_on(hosts) - _on_hosts(hosts, self._needs)
        needs = _on_hosts(hosts, self._scarcest_needs)
        after = _count_fits(remaining[:, :, None], needs[:, None])
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

    def _level(self, name):
        if name not in self._levels:
            by_host = [self.problem.domain(host, name) for host in self.hosts]
            names = dict.fromkeys(n for n in by_host if n is not None)
            numbers = {domain: number for number, domain in enumerate(names)}
            domain_of = np.array(
                [numbers.get(n, -1) for n in by_host], np.int64
            )
            order = np.argsort(domain_of, kind='stable')
            counts = np.arange(len(numbers) + 1)
            cuts = np.searchsorted(domain_of[order], counts)
            domains = [
                order[start:end] for start, end in itertools.pairwise(cuts)
            ]
            self._levels[name] = domain_of, domains, order[cuts[:-1]]
        return self._levels[name]


def _on_hosts(hosts, needs):
    """Return the needs on some hosts; a last axis of 1 means all hosts."""
    return needs[..., hosts] if needs.shape[-1] > 1 else needs


def _count_fits(free, needs):
    """Return how many times needs fit, as the minimum over the first axis."""
    times = np.where(needs > 0, free // np.maximum(needs, 1), _UNLIMITED)
    return np.maximum(times.min(axis=0, initial=_UNLIMITED), 0)
