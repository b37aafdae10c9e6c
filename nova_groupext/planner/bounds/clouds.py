# SPDX-License-Identifier: Apache-2.0
"""The hosts of a problem as arrays, one entry for each host."""

import numpy as np

#: More members than any topology has: what a host without limits takes.
MANY = 1_000_000


class Cloud:
    """Arrays that are made when they are first asked for.

    :ivar ids: of the hosts, in the order of every array
    :ivar index: host id -> its place there
    """

    def __init__(self, problem):
        self.ids = list(problem.hosts)
        self.index = {host_id: n for n, host_id in enumerate(self.ids)}
        self._problem = problem
        self._hosts = list(problem.hosts.values())
        self._free = {}
        self._domains = {}
        self._fits = {}

    def is_of(self, problem):
        """Whether a problem has these very hosts and levels."""
        own = self._problem
        return problem.hosts is own.hosts and problem.levels == own.levels

    def free(self, resource):
        """How much of a resource is free, int64."""
        if resource not in self._free:
            amounts = (host.free.get(resource, 0) for host in self._hosts)
            self._free[resource] = np.fromiter(amounts, np.int64)
        return self._free[resource]

    def domains(self, level):
        """The number of the domain that each host is in, -1 without one.

        :returns: (int array, how many domains there are)
        """
        if level not in self._domains:
            numbers = {}
            names = (self._problem.domain(h.id, level) for h in self._hosts)
            found = np.fromiter(
                (
                    -1
                    if name is None
                    else numbers.setdefault(name, len(numbers))
                    for name in names
                ),
                np.int64,
            )
            self._domains[level] = found, len(numbers)
        return self._domains[level]

    def foreign(self):
        """Whether something of others is there, bool."""
        return np.fromiter((host.foreign for host in self._hosts), bool)

    def fits(self, member_class):
        """How many members of a class each host has room for, if alone.

        Never less than there are, at most MANY; 0 where none may be.
        """
        # A class has no hash; kept with its result, it keeps its id.
        known = self._fits.get(id(member_class))
        if known is None:
            known = member_class, self._find_fits(member_class)
            self._fits[id(member_class)] = known
        return known[1]

    def where(self, member_class):
        """Ids of the hosts that have room for a member of a class."""
        return [self.ids[n] for n in np.flatnonzero(self.fits(member_class))]

    def _find_fits(self, member_class):
        may = np.zeros(len(self._hosts), bool)
        may[[self.index[h] for h in member_class.hosts if h in self.index]] = 1
        room = np.full(len(self._hosts), MANY, np.int64)
        for resource, amount in member_class.request.items():
            if amount:
                room = np.minimum(room, self.free(resource) // amount)
        for host_id, ways in member_class.alternatives.items():
            if host_id in self.index:
                number = self.index[host_id]
                # Members that take different ways may be there together.
                rooms = (self._room(number, way) for way in ways)
                room[number] = min(MANY, sum(rooms))
        return np.where(may, room, 0)

    def _room(self, number, request):
        return min(
            (
                int(self.free(resource)[number]) // amount
                for resource, amount in request.items()
                if amount
            ),
            default=MANY,
        )
