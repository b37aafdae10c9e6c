# SPDX-License-Identifier: Apache-2.0
"""The cloud as arrays: free amounts, capacities and opportunity costs.

Hosts (in the order of their ids), member classes, their allocation options
("ways") and the domains of a level are numbers here.
"""

import itertools

import numpy as np

from nova_groupext.solver.model import equivalence

# Unlimited capacity.
_PLENTY = 1 << 31

# Number of member classes whose lost capacity counts: the scarcest ones.
_WITNESSES = 24

# Limit of the cache of host states: iterations return to the same states.
_STATES = 100_000

# Size of one array while losses of many hosts are computed at once: as many
# numbers as a processor's cache holds.
_BATCH = 1 << 16


class CapacityMatrices:
    """Free capacity of the hosts, updated with each assignment.

    :ivar units: EquivalenceClass objects
    :ivar class_of: EquivalenceClass -> number of its member class
    :ivar resources: names of the requested resources
    :ivar free: free amounts, by host and resource
    :ivar room: capacity in members, at most the demand; by class and host
    :ivar loss: opportunity cost of one more member: the scarcest classes' lost
        capacity, weighted by scarcity; by class and host, inf without capacity
    """

    def __init__(self, problem):
        self.problem = problem
        self.hosts = list(problem.hosts)
        self.number = {host: n for n, host in enumerate(self.hosts)}
        self.units = equivalence.equivalence_classes(problem)
        self._levels = {}
        self._read_classes()
        self._read_amounts()
        self.room = np.zeros((len(self._classes), len(self.hosts)), np.int64)
        self.loss = np.zeros(self.room.shape)
        # Option of least opportunity cost, by member class and host.
        self._way = np.repeat(self._starts[:, None], len(self.hosts), axis=1)
        self._columns = self.room, self.loss, self._way
        self._kind_of = self._find_kinds()
        self._states = {}
        for hosts in self._batches():
            self.room[:, hosts] = self._rooms(hosts)
        self.scarcity = self._find_scarcity()
        self._choose_witnesses()
        for hosts in self._batches():
            self._find_losses(hosts)

    def level(self, name):
        """Return the domain number at a level by host, -1 for none."""
        return self._level(name)[0]

    def domains(self, name):
        """Return the array of host numbers of every domain of a level."""
        return self._level(name)[1]

    def firsts(self, name):
        """Return the first host of every domain of a level."""
        return self._level(name)[2]

    def put(self, unit, host, way=None):
        """Assign a member of an equivalence class to a host.

        :param way: index of the allocation option, None for the cheapest one
        :returns: index of the option taken
        """
        if way is None:
            way = self._way[self.class_of[unit], host]
        else:
            way += self._starts[self.class_of[unit]]
        self._change(host, -self._need(way, host))
        return int(way - self._starts[self.class_of[unit]])

    def take(self, unit, host, way):
        """Undo put()."""
        way += self._starts[self.class_of[unit]]
        self._change(host, self._need(way, host))

    def remember(self, host):
        """Return the state of a host for restore()."""
        columns = (column[:, host].copy() for column in self._columns)
        return self.free[host].copy(), *columns

    def restore(self, host, before):
        """Reset a host to a state from remember()."""
        self.free[host] = before[0]
        self._fill(host, before[1:])

    def may(self, unit):
        """Return by host whether a class may use it, capacity aside."""
        return self._may[self._ways_of[self.class_of[unit]]].any(axis=0)

    def need_of(self, unit):
        """Return the least amounts a member may request, by resource."""
        ways = self._needs[:, self._ways_of[self.class_of[unit]]]
        return ways.min(axis=(1, 2))

    def places(self, need):
        """Return how many times some amounts fit, by host."""
        return _fit(self.free.T, need[:, None])

    def _change(self, host, amounts):
        self.free[host] += amounts
        state = self._kind_of[host], self.free[host].tobytes()
        columns = self._states.get(state)
        if columns is None:
            columns = self._states[state] = self._find_columns(host)
            if len(self._states) > _STATES:
                self._states.clear()
        self._fill(host, columns)

    def _find_columns(self, host):
        """Update and copy the columns of a host, which depend on `free`."""
        hosts = slice(host, host + 1)
        self.room[:, hosts] = self._rooms(hosts)
        self._find_losses(hosts)
        return tuple(c[:, host].copy() for c in self._columns)

    def _fill(self, host, columns):
        for column, new in zip(self._columns, columns, strict=True):
            column[:, host] = new

    def _need(self, way, host):
        return self._needs[:, way, host if self._needs.shape[2] > 1 else 0]

    def _read_classes(self):
        classes = {}
        demand = {}
        self.class_of = {}
        for unit in self.units:
            key = id(unit.member_class)
            number = classes.setdefault(key, (len(classes), unit))[0]
            self.class_of[unit] = number
            demand[number] = demand.get(number, 0) + len(unit.members)
        self._classes = [unit.member_class for _, unit in classes.values()]
        self._demand = np.array(
            [demand[n] for n in range(len(classes))], np.int64
        )

    def _read_amounts(self):
        requests = [
            way
            for each in self._classes
            for ways in ([each.request], *each.alternatives.values())
            for way in ways
        ]
        names = sorted({r for way in requests for r, n in way.items() if n})
        self.resources = names
        self.free = np.array(
            [
                [host.free.get(name, 0) for name in names]
                for host in self.problem.hosts.values()
            ],
            np.int64,
        ).reshape(len(self.hosts), len(names))
        self._ways_of = []
        rows, masks = [], []
        for each in self._classes:
            ways = self._ways(each, names)
            self._ways_of.append(slice(len(rows), len(rows) + len(ways)))
            rows += [need for need, _ in ways]
            masks += [mask for _, mask in ways]
        self._starts = np.array([ways.start for ways in self._ways_of])
        width = max((need.shape[0] for need in rows), default=1)
        # The resource axis comes first: minima over resources are fast.
        self._needs = np.zeros((len(names), len(rows), width), np.int64)
        for way, need in enumerate(rows):
            self._needs[:, way] = need.T
        self._may = np.array(masks, bool).reshape(len(rows), len(self.hosts))

    def _ways(self, each, names):
        """Return (amounts by host, mask of its hosts) of every option."""
        may = np.full(len(self.hosts), len(each.hosts) == len(self.hosts))
        if not may.all():
            may[[self.number[host] for host in each.hosts]] = True
        base = np.array([[each.request.get(name, 0) for name in names]])
        if not each.alternatives:
            return [(base, may)]
        most = max(len(ways) for ways in each.alternatives.values())
        needs = [base.repeat(len(self.hosts), axis=0) for _ in range(most)]
        masks = [
            may.copy() if way == 0 else may & False for way in range(most)
        ]
        for host, ways in each.alternatives.items():
            number = self.number[host]
            for way, request in enumerate(ways):
                needs[way][number] = [request.get(name, 0) for name in names]
                masks[way][number] = may[number]
        return list(zip(needs, masks, strict=True))

    def _find_kinds(self):
        """Return by host a key of what columns depend on besides `free`."""
        if self._needs.shape[2] > 1:
            return range(len(self.hosts))
        return [may.tobytes() for may in self._may.T]

    def _find_scarcity(self):
        """Return the demand over the capacity of each class, or more.

        Classes compete for capacity: the ratio grows with the share of a
        needed resource that all classes together request.
        """
        scarcity = self._demand / np.maximum(1, self.room.sum(axis=1))
        needs = np.array(
            [self._needs[:, ways].min(axis=(1, 2)) for ways in self._ways_of]
        )
        asked = (needs * self._demand[:, None]).sum(axis=0)
        used = np.minimum(1, asked / np.maximum(1, self.free.sum(axis=0)))
        most = np.where(needs > 0, used, 0).max(axis=1, initial=0)
        return scarcity / (1.02 - most)

    def _choose_witnesses(self):
        scarcest = np.argsort(-self.scarcity, kind='stable')[:_WITNESSES]
        self._witnesses = np.sort(scarcest)
        ways = [self._ways_of[number] for number in self._witnesses]
        sizes = [way.stop - way.start for way in ways]
        self._witness_starts = np.cumsum([0, *sizes[:-1]])
        numbers = np.concatenate(
            [np.arange(way.start, way.stop) for way in ways]
        )
        self._witness_may = self._may[numbers]
        self._witness_needs = self._needs[:, numbers]

    def _batches(self):
        resources, ways, _ = self._needs.shape
        size = max(1, _BATCH // max(1, ways * ways * resources))
        for start in range(0, len(self.hosts), size):
            yield slice(start, start + size)

    def _free_on(self, hosts):
        """Return the free amounts by resource, option (length 1) and host."""
        return self.free[hosts].T.copy()[:, None]

    def _rooms(self, hosts):
        """Return the capacities of some hosts, by class and host."""
        rooms = _fit(self._free_on(hosts), _on(hosts, self._needs))
        rooms *= self._may[:, hosts]
        most = np.maximum.reduceat(rooms, self._starts, axis=0)
        return np.minimum(most, self._demand[:, None])

    def _find_losses(self, hosts):
        """Update the losses on some hosts, and the options of least loss."""
        left = self._free_on(hosts) - _on(hosts, self._needs)
        needs = _on(hosts, self._witness_needs)
        rooms = _fit(left[:, :, None], needs[:, None])
        rooms *= self._witness_may[:, hosts]
        rooms = np.maximum.reduceat(rooms, self._witness_starts, axis=1)
        rooms = np.minimum(rooms, self._demand[self._witnesses, None])
        rooms = self.room[self._witnesses, hosts] - rooms
        weighted = rooms * self.scarcity[self._witnesses, None]
        # A sum in fixed order is the same for one host as for many.
        lost = weighted.cumsum(axis=1)[:, -1]
        lost[(left < 0).any(axis=0) | ~self._may[:, hosts]] = np.inf
        if len(lost) == len(self._starts):
            self.loss[:, hosts] = lost
            return
        for number, ways in enumerate(self._ways_of):
            self.loss[number, hosts] = lost[ways].min(axis=0)
            self._way[number, hosts] = ways.start + lost[ways].argmin(axis=0)

    def _level(self, name):
        if name not in self._levels:
            names = [self.problem.domain(host, name) for host in self.hosts]
            known = dict.fromkeys(each for each in names if each is not None)
            numbers = {each: number for number, each in enumerate(known)}
            domain_of = np.array([numbers.get(n, -1) for n in names], np.int64)
            order = np.argsort(domain_of, kind='stable')
            counts = np.arange(len(numbers) + 1)
            cuts = np.searchsorted(domain_of[order], counts)
            inside = [
                order[start:end] for start, end in itertools.pairwise(cuts)
            ]
            self._levels[name] = domain_of, inside, order[cuts[:-1]]
        return self._levels[name]


def _on(hosts, needs):
    """Return the needs on some hosts; a last axis of 1 means all hosts."""
    return needs[..., hosts] if needs.shape[-1] > 1 else needs


def _fit(free, needs):
    """Return how many times needs fit, as the minimum over the first axis."""
    times = np.where(needs > 0, free // np.maximum(needs, 1), _PLENTY)
    return np.maximum(times.min(axis=0, initial=_PLENTY), 0)
