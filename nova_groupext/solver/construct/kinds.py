# SPDX-License-Identifier: Apache-2.0
"""Kinds of propagators, the tools of policy types for construction."""

from collections.abc import Callable

from nova_groupext.solver.construct import balanced_counts
from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.policies import base


class Kinds:
    """The propagator of one policy, of a kind that its type chooses."""

    def __init__(
        self, matrices: capacity_matrices.CapacityMatrices, policy: base.Policy
    ) -> None:
        self._arguments = matrices, policy

    def unfiltered(self) -> propagators.Propagator:
        """Return a filter of nothing, or by the violation of domains."""
        _, policy = self._arguments
        if policy.domain_violation is None:
            return propagators.Propagator(*self._arguments)
        return propagators.DomainViolation(
            *self._arguments, policy.domain_violation
        )

    def one_domain(self) -> propagators.Propagator:
        """Return a filter to one domain."""
        return propagators.OneDomain(*self._arguments)

    def short_distance(self) -> propagators.Propagator:
        """Return a filter to one domain, or to near hosts."""
        return propagators.ShortDistance(*self._arguments)

    def count_limit(
        self, limit_of: Callable[[int], int]
    ) -> propagators.Propagator:
        """Return a filter by the number of members in a domain.

        :param limit_of: function of the final count, returns the limit
        """
        return propagators.CountLimit(*self._arguments, limit_of)

    def balanced_counts(
        self, min_domains: int, max_skew: int
    ) -> propagators.Propagator:
        """Return a filter to several domains with balanced counts."""
        return balanced_counts.BalancedCounts(
            *self._arguments, min_domains, max_skew
        )

    def exclusive_domains(self) -> propagators.Propagator:
        """Return a filter to domains without others, for others, too."""
        return propagators.ExclusiveDomains(*self._arguments)


def make(
    matrices: capacity_matrices.CapacityMatrices, policy: base.Policy
) -> propagators.Propagator:
    """Return the propagator of a policy."""
    return policy.propagator(Kinds(matrices, policy))
