# SPDX-License-Identifier: Apache-2.0
"""Hosts of a problem as arrays with one entry per host."""

from typing import NamedTuple

import numpy as np

from nova_groupext.solver.aliases import Amounts
from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.model import problems

#: Bound on a host without a capacity limit: more than any topology's members.
UNLIMITED = 1_000_000


class DomainNumbers(NamedTuple):
    """Domains of the hosts, as numbers.

    :ivar numbers: by host, -1 without a domain
    :ivar size: number of domains
    """

    numbers: Ints
    size: int


class HostArrays:
    """Arrays over the hosts of a problem, built on first use.

    :ivar ids: hosts, in the order of every array
    :ivar index: index of each host in every array
    """

    def __init__(self, problem: problems.Problem) -> None:
        self.ids = list(problem.hosts)
        self.index = {host_id: n for n, host_id in enumerate(self.ids)}
        self._problem = problem
        self._hosts = list(problem.hosts.values())
        self._free: dict[str, Ints] = {}
        self._domains: dict[Level, DomainNumbers] = {}
        self._max_members: dict[int, tuple[problems.MemberClass, Ints]] = {}

    def is_for(self, problem: problems.Problem) -> bool:
        """Check whether a problem has the same hosts and levels."""
        own = self._problem
        return problem.hosts is own.hosts and problem.levels == own.levels

    def free(self, resource: str) -> Ints:
        """Return the free amount of a resource by host."""
        if resource not in self._free:
            amounts = (host.free.get(resource, 0) for host in self._hosts)
            self._free[resource] = np.fromiter(amounts, np.int64)
        return self._free[resource]

    def domains(self, level: Level) -> DomainNumbers:
        """Return the domain numbers of the hosts at a level."""
        if level not in self._domains:
            numbers: dict[Domain, int] = {}
            names = (self._problem.domain(h.id, level) for h in self._hosts)
            by_host = np.fromiter(
                (
                    -1
                    if name is None
                    else numbers.setdefault(name, len(numbers))
                    for name in names
                ),
                np.int64,
            )
            self._domains[level] = DomainNumbers(by_host, len(numbers))
        return self._domains[level]

    def foreign(self) -> Bools:
        """Return which hosts have foreign consumers."""
        return np.fromiter((host.foreign for host in self._hosts), bool)

    def max_members(self, member_class: problems.MemberClass) -> Ints:
        """Return an upper bound on a class's members on each host, alone.

        It is at most UNLIMITED, and 0 where the class excludes the host.
        """
        # A class is unhashable. The cache keeps it, so its id stays unique.
        entry = self._max_members.get(id(member_class))
        if entry is None:
            entry = member_class, self._compute_max_members(member_class)
            self._max_members[id(member_class)] = entry
        return entry[1]

    def hosts_with_capacity(
        self, member_class: problems.MemberClass
    ) -> list[HostId]:
        """Return the hosts with capacity for a member of a class."""
        return [
            self.ids[number]
            for number in np.flatnonzero(self.max_members(member_class))
        ]

    def _compute_max_members(self, member_class: problems.MemberClass) -> Ints:
        allowed = np.zeros(len(self._hosts), bool)
        allowed[
            [self.index[h] for h in member_class.hosts if h in self.index]
        ] = True
        limits = np.full(len(self._hosts), UNLIMITED, np.int64)
        for resource, amount in member_class.request.items():
            if amount:
                limits = np.minimum(limits, self.free(resource) // amount)
        for host_id, options in member_class.alternatives.items():
            if host_id in self.index:
                number = self.index[host_id]
                # Members with different requests may share the host.
                limits[number] = min(
                    UNLIMITED,
                    sum(self._max_on(number, option) for option in options),
                )
        return np.where(allowed, limits, 0)

    def _max_on(self, number: int, request: Amounts) -> int:
        """Return how many members with one request fit on a host."""
        return min(
            (
                int(self.free(resource)[number]) // amount
                for resource, amount in request.items()
                if amount
            ),
            default=UNLIMITED,
        )
