# SPDX-License-Identifier: Apache-2.0
"""View of a placement, the part of it that a policy may judge.

A policy sees the placed members that it covers. Only an exclusive policy sees
others. So a policy type cannot depend on what its facts do not declare.
"""

import collections
from collections.abc import Mapping
import functools
import itertools
from typing import Protocol

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.policies import base


class Cloud(Protocol):
    """The part of a problem that views read."""

    @property
    def levels(self) -> tuple[Level, ...]: ...
    @property
    def foreign_hosts(self) -> list[HostId]: ...
    def domain(self, host_id: HostId, level: Level) -> Domain | None: ...


class View:
    """A placement as one policy sees it.

    :ivar levels: topology levels, smallest first
    """

    def __init__(
        self,
        problem: Cloud,
        policy: base.Policy,
        placement: Mapping[Path, HostId],
    ) -> None:
        self._problem = problem
        self._policy = policy
        self._placement = placement
        self.levels = problem.levels

    def domain(
        self, host: HostId, level: Level | None = None
    ) -> Domain | None:
        """Return a host's domain at a level, None if it has none.

        :param level: None for the policy's scope
        """
        return self._problem.domain(host, level or self._policy.scope)

    @functools.cached_property
    def counts(self) -> collections.Counter[Domain | None]:
        """Placed members by domain, None for hosts without one."""
        problem, placement = self._problem, self._placement
        scope = self._policy.scope
        return collections.Counter(
            problem.domain(placement[path], scope)
            for path in self._policy.members
            if path in placement
        )

    @property
    def hosts(self) -> dict[Path, HostId]:
        """Hosts of the placed members."""
        return {
            path: self._placement[path]
            for path in self._policy.members
            if path in self._placement
        }

    @property
    def sides(self) -> list[collections.Counter[HostId]]:
        """Placed members of each side by host."""
        return [
            collections.Counter(
                self._placement[path]
                for path in side
                if path in self._placement
            )
            for side in self._policy.sides
        ]

    @property
    def other_domains(self) -> set[Domain | None]:
        """Domains with foreign consumers or members that are not covered."""
        if not self._policy.is_exclusive:
            raise AttributeError('only an exclusive policy sees others')
        others = [
            host_id
            for path, host_id in self._placement.items()
            if path not in self._policy.paths
        ]
        hosts = itertools.chain(self._problem.foreign_hosts, others)
        return {self.domain(host_id) for host_id in hosts}
