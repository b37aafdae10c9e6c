# SPDX-License-Identifier: Apache-2.0
"""Bottleneck classes: members that need nearly all of their capacity.

Where GPUs are scarce, members that need one take every host that has one, and
other members on these hosts get only what is left.
"""

from nova_groupext.solver.construct import propagators

# Share of the capacity for a class that must be requested.
_SHARE = 0.9


def find(state, wanted):
    """Return bottleneck classes that no policy binds to one domain.

    :param state: search_state.SearchState without assigned members
    :param wanted: equivalence class -> how many members need a host
    :returns: list of equivalence.EquivalenceClass
    """
    matrices = state.matrices
    free = [unit for unit in state.units if not _is_bound(state, unit)]
    unit_of = {matrices.class_of[unit]: unit for unit in free}
    captive = set()
    for one in unit_of.values():
        takes = {unit: times(matrices, unit, one) for unit in free}
        places = matrices.places(matrices.need_of(one)) * matrices.may(one)
        asked = sum(wanted[unit] * n for unit, n in takes.items())
        if asked >= _SHARE * places.sum():
            captive.update(matrices.class_of[u] for u, n in takes.items() if n)
    return [unit for unit in free if matrices.class_of[unit] in captive]


def times(matrices, unit, other):
    """Return how many members of another class fit in the space of one.

    :returns: number; also 0 if the other class is not allowed on all its hosts
    """
    if (matrices.may(unit) & ~matrices.may(other)).any():
        return 0
    need = matrices.need_of(other)
    asked = need > 0
    fits = matrices.need_of(unit)[asked] // need[asked]
    return int(fits.min()) if asked.any() else 1


def _is_bound(state, unit):
    return any(
        propagators.needs_domain(propagator)
        for propagator in state.strict[unit]
    )
