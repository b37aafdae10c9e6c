# SPDX-License-Identifier: Apache-2.0
"""View of a placement, the part of it that a policy may judge.

A policy sees the placed members that it covers. Only an exclusive policy sees
others. So a policy type cannot depend on what its facts do not declare.
"""

import collections
import functools
import itertools


class View:
    """A placement as one policy sees it.

    :ivar levels: topology levels, smallest first
    """

    def __init__(self, problem, policy, placement):
        self._problem = problem
        self._policy = policy
        self._placement = placement
        self.levels = problem.levels

    def domain(self, host, level=None):
        """Return a host's domain at a level, None if it has none.

        :param level: None for the policy's scope
        """
        return self._problem.domain(host, level or self._policy.scope)

    @functools.cached_property
    def counts(self):
        """Counter of placed members by domain, None for hosts without one."""
        problem, placement = self._problem, self._placement
        scope = self._policy.scope
        return collections.Counter(
            problem.domain(placement[path], scope)
            for path in itertools.chain(*self._policy.sides)
            if path in placement
        )

    @property
    def hosts(self):
        """Mapping of the paths of placed members to host ids."""
        return {
            path: self._placement[path]
            for path in itertools.chain(*self._policy.sides)
            if path in self._placement
        }

    @property
    def sides(self):
        """Counters of placed members by host, one for each side."""
        return [
            collections.Counter(
                self._placement[path]
                for path in side
                if path in self._placement
            )
            for side in self._policy.sides
        ]

    @property
    def other_domains(self):
        """Domains with foreign consumers or members that are not covered."""
        if not self._policy.is_exclusive:
            raise AttributeError('only an exclusive policy sees others')
        covered = set(itertools.chain(*self._policy.sides))
        hosts = [h.id for h in self._problem.hosts.values() if h.foreign]
        hosts += [
            host_id
            for path, host_id in self._placement.items()
            if path not in covered
        ]
        return {self.domain(host_id) for host_id in hosts}
