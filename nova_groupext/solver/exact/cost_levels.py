# SPDX-License-Identifier: Apache-2.0
"""Lexicographic levels of unit costs that differ by orders of magnitude.

The solver rounds, so one objective cannot hold unit costs of 100000 and 0.1.
Where the least cost difference of the expensive policies exceeds the total of
all cheap ones, the solver minimises the expensive ones first instead.
"""

from collections.abc import Collection
from collections.abc import Mapping
import fractions
import math
from typing import TypeAlias

from nova_groupext.solver.policies import base

#: In units; the solver rounds at 1e-6, so larger costs are not exact.
MAX_COEFFICIENT = 100_000

#: Maximum number of topology levels of a problem.
MAX_TOPOLOGY_LEVELS = 8


#: Cost of one unit of violation.
UnitCosts: TypeAlias = Mapping[base.Policy, fractions.Fraction]


def split(unit_costs: UnitCosts) -> list[UnitCosts]:
    """Return the unit costs as lexicographic levels, most expensive first.

    Minimising the levels in this order minimises the total cost.
    """
    if (
        max_coefficient(unit_costs) / common_unit(unit_costs.values())
        <= MAX_COEFFICIENT
    ):
        return [unit_costs]
    levels: list[UnitCosts] = []
    total_below = fractions.Fraction(0)
    level: dict[base.Policy, fractions.Fraction] = {}
    cheap_first = sorted(unit_costs.items(), key=lambda item: item[1])
    for number, (policy, unit_cost) in enumerate(cheap_first, 1):
        level[policy] = unit_cost
        more_expensive = [
            other_cost for _policy, other_cost in cheap_first[number:]
        ]
        max_total = total_below + sum(
            c * p.max_violation(p.size, MAX_TOPOLOGY_LEVELS)
            for p, c in level.items()
        )
        if not more_expensive or common_unit(more_expensive) > max_total:
            levels.insert(0, level)
            total_below, level = max_total, {}
    return levels


def max_coefficient(unit_costs: UnitCosts) -> fractions.Fraction:
    """Return the largest coefficient of the unit costs in the objective."""
    return max(
        unit_cost * policy.max_step(policy.size)
        for policy, unit_cost in unit_costs.items()
    )


def common_unit(
    unit_costs: Collection[fractions.Fraction],
) -> fractions.Fraction:
    """Return the largest fraction of which all costs are whole multiples."""
    denominator = math.lcm(
        *(unit_cost.denominator for unit_cost in unit_costs)
    )
    return fractions.Fraction(
        math.gcd(*(int(unit_cost * denominator) for unit_cost in unit_costs)),
        denominator,
    )
