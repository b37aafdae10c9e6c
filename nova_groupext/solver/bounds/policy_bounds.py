# SPDX-License-Identifier: Apache-2.0
"""Necessary conditions of policies that limit the members of a domain.

``limits`` are upper bounds on covered members by domain: without pinned ones
for anti-affinity, else with them. A failed condition is a proof; a condition
that holds proves nothing.
"""

import numpy as np


def _may_be_apart(policy, coverage, limits):
    """Check whether all domains together may take the members."""
    return sum(coverage.required.values()) <= limits.sum()


def _may_spread(policy, coverage, limits):
    """Check whether some domains may take all members evenly."""
    required = sum(coverage.required.values()) + len(coverage.pinned_hosts)
    if not required:
        return True
    if not policy.max_skew:
        return _may_be_even(policy, coverage, limits, required)
    # A smallest count between two of these never allows more members.
    for smallest in np.unique(limits[limits > 0]):
        used = limits[limits >= smallest]
        total = np.minimum(used, smallest + policy.max_skew).sum()
        has_domains = len(used) >= min(policy.min_domains, required)
        if has_domains and total >= required:
            return True
    return False


def _may_be_even(policy, coverage, limits, required):
    """Check whether used domains may have equal numbers of members."""
    members = _count_members(coverage)
    for number in range(1, min(members, int(limits.max(initial=0))) + 1):
        max_domains = min(
            np.count_nonzero(limits >= number), members // number
        )
        for domains in range(-(-required // number), max_domains + 1):
            if domains >= min(policy.min_domains, domains * number):
                return True
    return False


def _may_survive(policy, coverage, limits):
    """Check whether enough members may survive the worst failure."""
    limits = np.sort(limits)[::-1]
    if limits[policy.failures :].sum() < policy.min_members:
        return False
    used = np.count_nonzero(limits)
    members = _count_members(coverage)
    # The fullest domains have at least the average number of members.
    lost = -(-members * policy.failures // max(1, used))
    return members - lost >= policy.min_members


def _count_members(coverage):
    return sum(coverage.unpinned.values()) + len(coverage.pinned_hosts)


#: Policy type -> its condition, a function of (policy, Coverage, limits).
CONDITIONS = {
    'anti-affinity': _may_be_apart,
    'spread': _may_spread,
    'survive': _may_survive,
}
