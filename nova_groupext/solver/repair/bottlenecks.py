# SPDX-License-Identifier: Apache-2.0
"""Bottleneck classes: members that need nearly all of their capacity.

Where GPUs are scarce, members that need one take every host that has one, and
other members on these hosts get only the remaining capacity.
"""

# Share of the capacity for a class that must be requested.
_MIN_SHARE = 0.9


def find(state, demand):
    """Return bottleneck classes that no policy binds to one domain.

    :param state: search_state.SearchState without assigned members
    :param demand: equivalence class -> number of members that need a host
    :returns: list of equivalence.EquivalenceClass
    """
    matrices = state.matrices
    unbound = [
        eq_class
        for eq_class in state.eq_classes
        if not _is_bound(state, eq_class)
    ]
    eq_class_of = {
        matrices.class_of[eq_class]: eq_class for eq_class in unbound
    }
    bottlenecks = set()
    for reference in eq_class_of.values():
        sizes = {
            eq_class: relative_size(matrices, eq_class, reference)
            for eq_class in unbound
        }
        capacity = matrices.count_fits(
            matrices.need_of(reference)
        ) * matrices.allowed_mask(reference)
        total = sum(demand[eq_class] * n for eq_class, n in sizes.items())
        if total >= _MIN_SHARE * capacity.sum():
            bottlenecks.update(
                matrices.class_of[eq_class]
                for eq_class, n in sizes.items()
                if n
            )
    return [
        eq_class
        for eq_class in unbound
        if matrices.class_of[eq_class] in bottlenecks
    ]


def relative_size(matrices, eq_class, other):
    """Return how many members of another class fit in the space of one.

    :returns: number; also 0 if the other class is not allowed on all its hosts
    """
    if (matrices.allowed_mask(eq_class) & ~matrices.allowed_mask(other)).any():
        return 0
    need = matrices.need_of(other)
    is_requested = need > 0
    quotients = matrices.need_of(eq_class)[is_requested] // need[is_requested]
    return int(quotients.min()) if is_requested.any() else 1


def _is_bound(state, eq_class):
    return any(
        propagator.needs_domain for propagator in state.strict[eq_class]
    )
