# SPDX-License-Identifier: Apache-2.0
"""Prices that lie far apart, sorted into tiers that can be paid in turn.

The solver rounds, so one objective cannot hold prices of 100000 and 0.1. It
need not: where the least difference that the dear policies can make is more
than all that the cheap ones can cost together, the dear ones come first.
"""

import fractions
import math

#: In units; the solver rounds at 1e-6, so beyond it would not be exact.
LARGEST_PRICE = 100_000

# Problems have no more levels than this.
_MOST_LEVELS = 8


def split(prices):
    """Return the prices as tiers, the dearest first.

    To pay the least in each tier, in this order, is to pay the least in all.

    :param prices: {topology.Policy: price of one unit of breach, a Fraction}
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
    """Return the most that one member more in a domain may cost.

    :param prices: as split() takes them
    """
    return max(price * _steps(policy) for policy, price in prices.items())


def unit(prices):
    """Return the largest Fraction of which all prices are whole multiples."""
    shared = math.lcm(*(price.denominator for price in prices))
    return fractions.Fraction(
        math.gcd(*(int(price * shared) for price in prices)), shared
    )


def _steps(policy):
    """Return by how much more the last member too many costs than the first.

    At most: as if all were in one domain.
    """
    return _members(policy) if policy.type == 'anti-affinity' else 1


def _members(policy):
    return sum(len(side) for side in policy.sides)


def _most(policy):
    """Return a number that no breach of the policy exceeds."""
    members = _members(policy)
    if policy.type == 'anti-affinity':
        return members * (members + 1) // 2
    if policy.type == 'network-proximity':
        # Pairs, each at a distance of at most as many levels as there are.
        return members**2 * _MOST_LEVELS
    return 2 * members + policy.min_members
