# SPDX-License-Identifier: Apache-2.0
"""Lexicographic levels of unit costs that differ by orders of magnitude.

The solver rounds, so one objective cannot hold unit costs of 100000 and 0.1.
Where the least cost difference of the expensive policies exceeds the total of
all cheap ones, the solver minimises the expensive ones first instead.
"""

import fractions
import math

#: In units; the solver rounds at 1e-6, so larger costs are not exact.
LARGEST_PRICE = 100_000

# Maximum number of topology levels of a problem.
_MOST_LEVELS = 8


def split(prices):
    """Return the unit costs as lexicographic levels, most expensive first.

    Minimising the levels in this order minimises the total cost.

    :param prices: {topology.Policy: cost of one unit of violation, a Fraction}
    :returns: [such a mapping, ...]
    """
    if steepest(prices) / unit(prices.values()) <= LARGEST_PRICE:
        return [prices]
    tiers = []
    below = fractions.Fraction(0)
    tier = {}
    cheap_first = sorted(prices.items(), key=lambda item: item[1])
    for number, (policy, price) in enumerate(cheap_first, 1):
        tier[policy] = price
        dearer = [other for _policy, other in cheap_first[number:]]
        at_most = below + sum(c * _most(p) for p, c in tier.items())
        if not dearer or unit(dearer) > at_most:
            tiers.insert(0, tier)
            below, tier = at_most, {}
    return tiers


def steepest(prices):
    """Return the largest coefficient of the unit costs in the objective.

    :param prices: as split() takes them
    """
    return max(price * _steps(policy) for policy, price in prices.items())


def unit(prices):
    """Return the largest Fraction of which all costs are whole multiples."""
    shared = math.lcm(*(price.denominator for price in prices))
    return fractions.Fraction(
        math.gcd(*(int(price * shared) for price in prices)), shared
    )


def _steps(policy):
    """Return an upper bound of the coefficients in policy_rows.add_soft()."""
    return _members(policy) if policy.type == 'anti-affinity' else 1


def _members(policy):
    return sum(len(side) for side in policy.sides)


def _most(policy):
    """Return an upper bound of the violation of a policy."""
    members = _members(policy)
    if policy.type == 'anti-affinity':
        return members * (members + 1) // 2
    if policy.type == 'network-proximity':
        # More than all pairs, at the largest distance: the number of levels.
        return members**2 * _MOST_LEVELS
    return 2 * members + policy.min_members
