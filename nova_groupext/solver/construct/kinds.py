# SPDX-License-Identifier: Apache-2.0
"""Kinds of propagators, the tools of policy types for construction."""

from nova_groupext.solver.construct import propagators


class Kinds:
    """The propagator of one policy, of a kind that its type chooses."""

    def __init__(self, matrices, policy):
        self._arguments = matrices, policy

    def unfiltered(self):
        """Return a filter of nothing, or by the violation of domains."""
        if self._arguments[1].domain_violation is None:
            return propagators.Propagator(*self._arguments)
        return propagators.DomainViolation(*self._arguments)

    def one_domain(self):
        """Return a filter to one domain."""
        return propagators.OneDomain(*self._arguments)

    def short_distance(self):
        """Return a filter to one domain, or to near hosts."""
        return propagators.ShortDistance(*self._arguments)

    def count_limit(self, limit_of):
        """Return a filter by the number of members in a domain.

        :param limit_of: function of the final count, returns the limit
        """
        return propagators.CountLimit(*self._arguments, limit_of)

    def balanced_counts(self, min_domains, max_skew):
        """Return a filter to several domains with balanced counts."""
        return propagators.BalancedCounts(
            *self._arguments, min_domains, max_skew
        )

    def exclusive_domains(self):
        """Return a filter to domains without others, for others, too."""
        return propagators.ExclusiveDomains(*self._arguments)


def make(matrices, policy):
    """Return the propagator of a policy."""
    return policy.propagator(Kinds(matrices, policy))
