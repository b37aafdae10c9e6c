# SPDX-License-Identifier: Apache-2.0
"""Hosts of a problem as arrays with one entry per host.

Hosts are numbers here, in the order of their ids, and so are the domains of a
level, in the order of their first hosts.
"""

from collections.abc import Sequence
import functools
import itertools

import numpy as np

from nova_groupext.solver import arrays
from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.model import problems


class Domains:
    """Domains of the hosts, as numbers.

    :ivar numbers: number of the domain by host, -1 without one
    :ivar size: number of domains
    :ivar names: of the domains, by number, if they have any
    """

    def __init__(
        self, numbers: Ints, size: int, names: Sequence[Domain] = ()
    ) -> None:
        self.numbers = numbers
        self.size = size
        self.names = names

    @classmethod
    def whole_cloud(cls, hosts: int) -> 'Domains':
        """Return one domain of all hosts.

        :param hosts: number of the hosts
        """
        return cls(np.zeros(hosts, np.int64), 1)

    @functools.cached_property
    def hosts(self) -> list[Ints]:
        """Host numbers of every domain."""
        order = np.argsort(self.numbers, kind='stable')
        cuts = np.searchsorted(self.numbers[order], np.arange(self.size + 1))
        return [order[start:end] for start, end in itertools.pairwise(cuts)]

    @functools.cached_property
    def first_hosts(self) -> Ints:
        """First host of every domain."""
        return np.fromiter((hosts[0] for hosts in self.hosts), np.int64)

    def sum(self, values: Ints | Floats, hosts: Ints | None = None) -> Floats:
        """Sum values by domain; hosts without a domain do not count.

        :param values: by host
        :param hosts: numbers of the hosts that have the values; None for all
        """
        numbers = self.numbers if hosts is None else self.numbers[hosts]
        if self.size == 1 and not numbers.any():
            return np.array([values.sum(dtype=np.float64)])
        sums = np.bincount(numbers + 1, values, self.size + 1)
        # Hosts without a domain have number -1: drop their sum. Weighted sums
        # are floats, which numpy's annotations do not tell.
        return np.asarray(sums[1:], np.float64)


def of(problem: problems.Problem) -> 'HostArrays':
    """Return the arrays of a problem."""
    arrays: HostArrays | None = problem.shared.get('host_arrays')
    if arrays is None:
        arrays = problem.shared['host_arrays'] = HostArrays(problem)
    return arrays


class HostArrays:
    """Arrays over the hosts of a problem, built on first use.

    Use of(), which builds them once for problems with the same hosts.

    :ivar ids: hosts, in the order of every array
    :ivar index: index of each host in every array
    """

    def __init__(self, problem: problems.Problem) -> None:
        self.ids = list(problem.hosts)
        self.index = {host_id: n for n, host_id in enumerate(self.ids)}
        self._problem = problem
        self._hosts = list(problem.hosts.values())
        self._free: dict[str, Ints] = {}
        self._domains: dict[Level, Domains] = {}
        self._max_members: dict[int, tuple[problems.MemberClass, Ints]] = {}

    def free(self, resource: str) -> Ints:
        """Return the free amount of a resource by host."""
        if resource not in self._free:
            amounts = (host.free.get(resource, 0) for host in self._hosts)
            self._free[resource] = np.fromiter(amounts, np.int64)
        return self._free[resource]

    def free_amounts(self, resources: Sequence[str]) -> Ints:
        """Return the free amounts by resource and host."""
        amounts = np.array(list(map(self.free, resources)), np.int64)
        return amounts.reshape(len(resources), len(self.ids))

    def domains(self, level: Level) -> Domains:
        """Return the domains of a level."""
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
            self._domains[level] = Domains(by_host, len(numbers), [*numbers])
        return self._domains[level]

    def foreign(self) -> Bools:
        """Return which hosts have foreign consumers."""
        return np.fromiter((host.foreign for host in self._hosts), bool)

    def allowed(self, member_class: problems.MemberClass) -> Bools:
        """Return which hosts a class may use, capacity aside."""
        allowed = np.full(
            len(self.ids), len(member_class.hosts) == len(self.ids)
        )
        if not allowed.all():
            allowed[[self.index[host] for host in member_class.hosts]] = True
        return allowed

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
        request = member_class.request
        needs = np.array([*request.values()], np.int64)
        limits = arrays.count_fits(
            self.free_amounts([*request]), needs[:, None]
        )
        for host_id, options in member_class.alternatives.items():
            # Members with different requests may share the host.
            number = self.index[host_id]
            limits[number] = sum(
                self._hosts[number].count_fits(option, arrays.UNLIMITED)
                for option in options
            )
        limits = np.minimum(limits, arrays.UNLIMITED)
        return np.where(self.allowed(member_class), limits, 0)
